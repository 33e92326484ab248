"""The daemon's types: the table, and the methods that some of them have.

Source: `pkg/entities/plugin_entities/model_declaration.go` and `pkg/entities/model_entities/llm.go` of langgenius/dify-plugin-daemon at
bdb5642a, read 2026-11.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, override

from .notation import GoTypes
from .types import ABSENT, TEXT, Decoding, ListOf, Problem, ShapeError, Struct, decode_into


_PART, _WRITTEN = "model_entities.PromptMessageContent", "model_entities.promptMessageJSON"


def _share(default: float) -> Mapping[str, Any]:
    return {"type": "float", "default": default, "min": 0.0, "max": 1.0, "precision": 2}


PARAMETER_TEMPLATES: Mapping[str, Mapping[str, Any]] = {
    "temperature": _share(0.0),
    "top_p": _share(1.0),
    "top_k": {"type": "int", "default": 50, "min": 1.0, "max": 100.0, "precision": 0},
    "presence_penalty": _share(0.0),
    "frequency_penalty": _share(0.0),
    "max_tokens": {"type": "int", "default": 64, "min": 1.0, "max": 2048.0, "precision": 0},
    "response_format": {"type": "string", "options": ["JSON", "XML"]},
    "json_schema": {"type": "string"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Completed(Struct):
    """A struct that decodes itself and fills in what is missing.

    Attributes:
        complete: Fills in missing fields after decoding.
        finish: Fills in missing fields when it is written.
    """

    complete: Callable[[dict[str, Any]], None]
    finish: Callable[[dict[str, Any]], None] = lambda _: None

    @override
    def decode(self, node: Any, at: Decoding, place: Any, key: Any) -> None:
        if node is not None:
            place[key] = decode_into(Struct(go=self.go, name="", fields=self.fields), node)
        self.complete(place[key])

    @override
    def encode(self, value: Any) -> Any:
        written = Struct.encode(self, value)
        self.finish(written)
        return written


def _complete_rule(rule: dict[str, Any]) -> None:
    label = TYPES["plugin_entities.I18nObject"]
    if rule["label"] is None or not rule["label"]["en_US"]:
        rule["label"] = {**label.zero(), "en_US": rule["name"]}
    if name := rule["use_template"]:
        if name not in PARAMETER_TEMPLATES:
            raise ShapeError(f"use_template {name} not found")
        for key, value in PARAMETER_TEMPLATES[name].items():
            if rule[key] is None:
                rule[key] = {**label.zero(), **value} if key == "help" else value
    if rule["options"] is None:
        rule["options"] = []


def _complete_schema(schema: dict[str, Any]) -> None:
    schema["fetch_from"] = schema["fetch_from"] or "predefined-model"
    if schema["parameter_rules"] is None:
        schema["parameter_rules"] = []


def _finish_schema(written: dict[str, Any]) -> None:
    written["label"]["en_US"] = written["label"]["en_US"] or written["model"]


def _read_content(node: Any) -> Any:
    if node is None or node is ABSENT:
        raise ShapeError("content field is required")
    if isinstance(node, str):
        return decode_into(TEXT, node)
    if isinstance(node, list):
        return decode_into(ListOf(of=TYPES[_PART]), node)
    raise ShapeError("content must be a string or an array of prompt message content")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Message(Struct):
    """A message, whose errors end the decoding of what contains it."""

    @override
    def decode(self, node: Any, at: Decoding, place: Any, key: Any) -> None:
        found = decode_into(TYPES[_WRITTEN], node)
        if not found["role"]:
            raise ShapeError("role field is required")
        place[key] = {**found, "content": _read_content(found["content"])}

    @override
    def encode(self, value: Any) -> Any:
        written = Struct.encode(self, value)
        if isinstance(value["content"], list):
            written["content"] = ListOf(of=TYPES[_PART]).encode(value["content"])
        return written


def _check_choice(choice: Mapping[str, Any]) -> Problem | None:
    lacks = choice["mode"] == "tool" and not choice["name"].strip()
    return ("name", "required_for_tool") if lacks else None


def _check_polling(result: Mapping[str, Any]) -> Problem | None:
    lacking = {
        "running": ("plugin_state", not result["plugin_state"]),
        "succeeded": ("result", result["result"] in (None, ABSENT)),
        "failed": ("error", not result["error"].strip()),
    }
    name, lacks = lacking.get(result["status"], ("", False))
    return (name, f"required_for_{result['status']}") if lacks else None


def _with(kind: type[Struct], **methods: Any) -> Callable[[Struct], Struct]:
    """Return a function that turns a struct into one of another kind, with these methods."""
    return lambda struct: kind(go=struct.go, name=struct.name, fields=struct.fields, **methods)


_SPECIAL: Mapping[str, Callable[[Struct], Struct]] = {
    "model_entities.ModelPollingResult": _with(Struct, check=_check_polling),
    "model_entities.PromptMessage": _with(_Message),
    "model_entities.ToolChoice": _with(Struct, check=_check_choice),
    "plugin_entities.ModelDeclaration": _with(
        _Completed, complete=_complete_schema, finish=_finish_schema
    ),
    "plugin_entities.ModelParameterRule": _with(_Completed, complete=_complete_rule),
}

TYPES = GoTypes(Path(__file__).with_name("daemon_types.txt").read_text(encoding="utf-8"), _SPECIAL)
"""The daemon's structs by their names with their packages, such as `requests.RequestInvokeLLM`."""
