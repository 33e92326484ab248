"""What a plugin declares: its folder, read without starting it, and the Go types by which the daemon reads declarations, calls and answers."""

from ._folder import PluginFolder, PluginKind
from ._go_types.answers import ANSWERS, PLUGIN_ERROR
from ._go_types.calls import CALLS, CallKind
from ._go_types.daemon_types import TYPES
from ._go_types.from_map import read_call
from ._go_types.requests import REQUESTS, read_query, read_request
from ._go_types.rules import PLUGIN_TAGS, find_violations, validate
from ._go_types.text import dump_json, go_print, parse_first_json, parse_json
from ._go_types.types import ANY, OBJECT, GoType, ShapeError, Struct, decode_into, read_declaration
from ._go_types.yaml_declarations import (
    KINDS,
    MANIFEST,
    POSITIONS,
    DeclarationError,
    read_yaml_declaration,
)
from ._identifier import build_identifier, is_identifier
from ._parameters import cast_parameter, initialize_parameter


__all__ = [
    "ANSWERS",
    "ANY",
    "CALLS",
    "KINDS",
    "MANIFEST",
    "OBJECT",
    "PLUGIN_ERROR",
    "PLUGIN_TAGS",
    "POSITIONS",
    "REQUESTS",
    "TYPES",
    "CallKind",
    "DeclarationError",
    "GoType",
    "PluginFolder",
    "PluginKind",
    "ShapeError",
    "Struct",
    "build_identifier",
    "cast_parameter",
    "decode_into",
    "dump_json",
    "find_violations",
    "go_print",
    "initialize_parameter",
    "is_identifier",
    "parse_first_json",
    "parse_json",
    "read_call",
    "read_declaration",
    "read_query",
    "read_request",
    "read_yaml_declaration",
    "validate",
]
