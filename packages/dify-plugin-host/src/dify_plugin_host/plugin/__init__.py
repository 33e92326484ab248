"""A plugin folder, read without starting it: manifest, declarations, identity."""

from ._declarations import (
    Declarations,
    ModelProvider,
    Strategy,
    ToolProvider,
    model_providers,
    provider_contents,
    strategies,
    tool_providers,
)
from ._folder import PluginFolder, PluginKind
from ._identifier import build_identifier, is_identifier
from ._offers import Offer, offers
from ._source import FolderSource, PluginSource, stamp


__all__ = [
    "Declarations",
    "FolderSource",
    "ModelProvider",
    "Offer",
    "PluginFolder",
    "PluginKind",
    "PluginSource",
    "Strategy",
    "ToolProvider",
    "build_identifier",
    "is_identifier",
    "model_providers",
    "offers",
    "provider_contents",
    "stamp",
    "strategies",
    "tool_providers",
]
