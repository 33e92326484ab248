"""The daemon's own types: what it decodes requests and answers into, and the JSON that it makes of them, as Go does it."""

from ._answers import ANSWERS, PLUGIN_ERROR
from ._calls import CALLS, CallKind
from ._declarations import META, MODEL_PROVIDER, PLUGIN, STRATEGY_PROVIDER, TOOL_PROVIDER
from ._from_map import read_call
from ._queries import PAGE, PROVIDER, README, read_query
from ._requests import REQUESTS, read_request
from ._rules import validate
from ._text import dump_json, go_print, parse_first_json, parse_json
from ._types import ANY, OBJECT, ShapeError, Struct, decode_into, read_declaration


__all__ = [
    "ANSWERS",
    "ANY",
    "CALLS",
    "META",
    "MODEL_PROVIDER",
    "OBJECT",
    "PAGE",
    "PLUGIN",
    "PLUGIN_ERROR",
    "PROVIDER",
    "README",
    "REQUESTS",
    "STRATEGY_PROVIDER",
    "TOOL_PROVIDER",
    "CallKind",
    "ShapeError",
    "Struct",
    "decode_into",
    "dump_json",
    "go_print",
    "parse_first_json",
    "parse_json",
    "read_call",
    "read_declaration",
    "read_query",
    "read_request",
    "validate",
]
