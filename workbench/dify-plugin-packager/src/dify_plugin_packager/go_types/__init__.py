"""The Go types into which the daemon decodes requests, answers and declarations, and the JSON that it writes from them."""

from ._answers import ANSWERS, PLUGIN_ERROR
from ._calls import CALLS, CallKind
from ._daemon_types import TYPES
from ._from_map import read_call
from ._requests import (
    ASSET_PATH,
    CATEGORY,
    CATEGORY_PAGE,
    DEPENDENCIES,
    IDENTIFIER,
    NOTHING,
    PAGE,
    PLUGIN_IDS,
    PROVIDER,
    README,
    REQUESTS,
    TOOL_PROVIDERS,
    read_query,
    read_request,
)
from ._rules import PLUGIN_TAGS, find_violations, names_package, validate
from ._text import dump_json, go_print, parse_first_json, parse_json
from ._types import ANY, OBJECT, GoType, ShapeError, Struct, decode_into, read_declaration
from ._yaml_declarations import (
    KINDS,
    MANIFEST,
    POSITIONS,
    DeclarationError,
    read_yaml_declaration,
)


__all__ = [
    "ANSWERS",
    "ANY",
    "ASSET_PATH",
    "CALLS",
    "CATEGORY",
    "CATEGORY_PAGE",
    "DEPENDENCIES",
    "IDENTIFIER",
    "KINDS",
    "MANIFEST",
    "NOTHING",
    "OBJECT",
    "PAGE",
    "PLUGIN_ERROR",
    "PLUGIN_IDS",
    "PLUGIN_TAGS",
    "POSITIONS",
    "PROVIDER",
    "README",
    "REQUESTS",
    "TOOL_PROVIDERS",
    "TYPES",
    "CallKind",
    "DeclarationError",
    "GoType",
    "ShapeError",
    "Struct",
    "decode_into",
    "dump_json",
    "find_violations",
    "go_print",
    "names_package",
    "parse_first_json",
    "parse_json",
    "read_call",
    "read_declaration",
    "read_query",
    "read_request",
    "read_yaml_declaration",
    "validate",
]
