"""A plugin folder, read without starting it: manifest, declarations, identity."""

from ._declarations import (
    ModelProvider,
    Strategy,
    ToolProvider,
    model_providers,
    strategies,
    tool_providers,
)
from ._folder import PluginFolder, PluginKind
from ._identifier import build_identifier, is_identifier
from ._offers import Offer, offers


__all__ = [
    "ModelProvider",
    "Offer",
    "PluginFolder",
    "PluginKind",
    "Strategy",
    "ToolProvider",
    "build_identifier",
    "is_identifier",
    "model_providers",
    "offers",
    "strategies",
    "tool_providers",
]
