"""A plugin's folder, read without starting it; the identifier of a package; Dify's conversion of a parameter's value."""

from ._folder import PluginFolder, PluginKind
from ._identifier import build_identifier, is_identifier
from ._parameters import cast_parameter, initialize_parameter


__all__ = [
    "PluginFolder",
    "PluginKind",
    "build_identifier",
    "cast_parameter",
    "initialize_parameter",
    "is_identifier",
]
