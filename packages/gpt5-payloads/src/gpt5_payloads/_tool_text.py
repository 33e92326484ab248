"""Functions as the model reads them: not as the JSON that is sent, but as a declaration of types for each, about half as long.

Source: docs/token-counts.md, which says how close this comes to the counts of servers. The form is the one that OpenAI
has published for its open models, https://github.com/openai/harmony, "Function calling" of its format.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from stream_text import is_list, is_object


_MOST_DEPTH = 40  # deeper than any schema that the API takes


def iter_tool_texts(tool: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts of a tool: a declaration for a function, and for each function of a namespace; the JSON of any other tool."""
    kind, within = tool.get("type"), tool.get("tools")
    if kind == "namespace" and is_list(within):
        yield f"{tool.get('name')} {tool.get('description') or ''}"
        for entry in within:
            yield from iter_tool_texts(_mapping(entry))
    elif kind == "function":
        yield _declaration(tool)
    else:
        yield json.dumps(tool, ensure_ascii=False, default=str)


def _declaration(tool: Mapping[str, Any]) -> str:
    schema = _mapping(tool.get("parameters"))
    definitions = dict(_mapping(schema.get("$defs") or schema.get("definitions")))
    takes = f"_: {_type(schema, definitions, _MOST_DEPTH)}" if schema.get("properties") else ""
    return f"{_comment(tool)}type {tool.get('name')} = ({takes}) => any;\n\n"


def _type(schema: Mapping[str, Any], definitions: dict[str, Any], depth: int) -> str:
    """Return the type that a schema describes, down to a depth; `any` if it has none.

    A definition is written out where it is first used, and named from then on: one that contains itself would never end.
    """
    if depth == 0:
        return "any"
    reference, values = schema.get("$ref"), schema.get("enum")
    if isinstance(reference, str) and reference.rpartition("/")[2] not in definitions:
        return reference.rpartition("/")[2]
    if alternatives := _alternatives(schema, definitions):
        return " | ".join(_type(one, definitions, depth - 1) for one in alternatives)
    if is_list(values):
        return " | ".join(json.dumps(value, ensure_ascii=False, default=str) for value in values)
    match schema.get("type"):
        case "object":
            written = _object(schema, definitions, depth)
        case "array":
            written = f"{_type(_mapping(schema.get('items')), definitions, depth - 1)}[]"
        case kind:
            written = "number" if kind == "integer" else str(kind or "any")
    return written


def _alternatives(
    schema: Mapping[str, Any], definitions: dict[str, Any]
) -> list[Mapping[str, Any]]:
    """Return the alternatives of a schema that is not a single type; a definition that is referred to is taken out of `definitions`."""
    reference, kinds = schema.get("$ref"), schema.get("type")
    options = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(reference, str):
        return [_mapping(definitions.pop(reference.rpartition("/")[2]))]
    if is_list(options):
        return [_mapping(option) for option in options]
    if is_list(kinds):
        names = dict.fromkeys(map(str, kinds))
        return [{**schema, "type": kind} for kind in names]
    return []


def _object(schema: Mapping[str, Any], definitions: dict[str, Any], depth: int) -> str:
    required = schema.get("required")
    needed = required if is_list(required) else ()
    lines: list[str] = []
    for name, value in _mapping(schema.get("properties")).items():
        member = _mapping(value)
        mark = "" if name in needed else "?"
        default = json.dumps(member.get("default"), ensure_ascii=False, default=str)
        remark = f" // default: {default}" if "default" in member else ""
        kind = _type(member, definitions, depth - 1)
        lines.append(f"{_comment(member)}{name}{mark}: {kind},{remark}\n")
    return f"{{\n{''.join(lines)}}}" if lines else "{}"


def _comment(described: Mapping[str, Any]) -> str:
    description = described.get("description")
    return f"// {description}\n" if description else ""


def _mapping(value: object) -> Mapping[str, Any]:
    return value if is_object(value) else {}
