"""The validation rules in the tags of the daemon's structs, and the messages for violations.

Source: github.com/go-playground/validator 10.30.1, and what the daemon registers with it (`pkg/entities` of
langgenius/dify-plugin-daemon at bdb5642a), read 2026-11.
"""

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, override

from .daemon_types import TYPES
from .types import ABSENT, ANY, DecimalType, GoType, ListOf, Object, Optional, ShapeError, Struct


type Rule = Callable[[Any], bool]
"""A function that tells whether a value keeps a rule."""

_IDENTIFIER = re.compile(
    r"([a-z0-9_-]{1,64}/)?[a-z0-9_-]{1,255}:[0-9]{1,4}(\.[0-9]{1,4}){1,3}(-\w{1,16})?@[a-f0-9]{32,64}",
    re.ASCII,
)
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(//)?.")
_VERSION = re.compile(r"[0-9]{1,4}(\.[0-9]{1,4}){2}(-\w{1,16})?")
PLUGIN_TAGS = (
    "search image videos weather finance design travel social news medical productivity education"
    " business entertainment utilities agent rag other trigger"
)
"""The tags that a manifest may have."""

_CHUNK_TYPES = (
    "text file blob blob_chunk json link image image_link binary_link variable log"
    " retriever_resources"
)
_MODEL_TYPES = (
    "llm text-embedding rerank speech2text moderation tts text2img multimodal-embedding"
    " multimodal-rerank"
)


def _one_of(options: str) -> Rule:
    return frozenset(options.split()).__contains__


def _size(value: Any) -> Any:
    return len(value) if hasattr(value, "__len__") else value


def names_package(text: str) -> bool:
    """Tell whether a text is a unique identifier, with or without the author."""
    return _IDENTIFIER.fullmatch(text) is not None


def _is_content(value: Any) -> bool:
    try:
        for part in () if isinstance(value, str) else value:
            validate(TYPES["model_entities.PromptMessageContent"], part)
    except (ShapeError, TypeError):
        return False
    return True


_RULES: Mapping[str, Rule] = {
    "is_available_arch": _one_of("amd64 arm64"),
    "is_available_language": _one_of("python"),
    "is_basic_type": lambda value: isinstance(value, str | bool | int | float),
    "is_valid_tool_response_chunk_type": _one_of(_CHUNK_TYPES),
    "model_parameter_type": _one_of("float int string boolean text"),
    "model_provider_configurate_method": _one_of("predefined-model customizable-model"),
    "model_type": _one_of(_MODEL_TYPES),
    "multimodal_content_type": _one_of("text image"),
    "parameter_rule": lambda value: (
        value["use_template"] is not None
        or (value["label"] is not None and value["type"] is not None)
    ),
    "plugin_tag": _one_of(PLUGIN_TAGS),
    "plugin_unique_identifier": names_package,
    "prompt_message_content": _is_content,
    "prompt_message_content_type": _one_of("text image audio video document"),
    "prompt_message_role": _one_of("system user assistant tool"),
    "storage_opt": _one_of("get set del exist"),
    "tool_type": _one_of("builtin workflow api mcp"),
    "url": lambda value: _URL.match(value) is not None,
    "version": lambda value: _VERSION.fullmatch(value) is not None,
}
_COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {
    "gt": operator.gt,
    "lt": operator.lt,
    "lte": operator.le,
    "max": operator.le,
    "min": operator.ge,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A validation rule that a field breaks.

    Attributes:
        field: The field's name in Go.
        within: The path to its struct in Go's names, with a dot at the end.
        path: The path of the field in JSON's names.
        rule: The rule, as its tag says it.
        value: The field's value.
    """

    field: str
    within: str
    path: str
    rule: str = ""
    value: Any = None

    @override
    def __str__(self) -> str:
        """Return the daemon's message."""
        tag = self.rule.partition("=")[0]
        return f"Key: '{self.within}{self.field}' Error:Field validation for '{self.field}' failed on the '{tag}' tag"


def validate(struct: Struct, value: Any) -> None:
    """Make sure that a decoded struct satisfies the rules of its fields.

    Raises:
        ShapeError: If it does not; the message has one line for each field.
    """
    if found := find_violations(struct, value):
        raise ShapeError("\n".join(map(str, found)))


def find_violations(struct: Struct, value: Any) -> list[Violation]:
    """Return the first rule that each field of a decoded struct breaks."""
    return list(_check_struct(struct, value, f"{struct.name}." if struct.name else "", ""))


def _check_struct(struct: Struct, value: Any, within: str, path: str) -> Iterator[Violation]:
    for each in struct.fields:
        inside = within + "".join(f"{name}." for name in each.within)
        at = Violation(field=each.go, within=inside, path=path + each.json)
        yield from _check(each.type, value[each.json], each.rules, at)
    if problem := struct.check(value):
        name, rule = problem
        yield Violation(field=name, within=within, path=path + name, rule=rule)


def _check(kind: GoType, value: Any, rules: Sequence[str], at: Violation) -> Iterator[Violation]:
    """Check a value against its rules and yield the first violation."""
    # Pointers and interfaces can be nil in Go, and `required` and `omitempty` look at that alone.
    is_pointed = isinstance(kind, Optional) or kind.go == ANY.go
    if is_pointed and value is None:
        if rules and rules[0] != "omitempty":
            yield replace(at, rule=rules[0])
        return
    kind = kind.of if isinstance(kind, Optional) else kind
    if isinstance(kind, Struct) and rules and rules[0] == "required":
        rules = rules[1:]  # The validator ignores it for a struct.
    for number, rule in enumerate(rules):
        if rule == "omitempty":
            if not (is_pointed or _has_value(kind, value)):
                return
        elif rule == "dive" and isinstance(kind, ListOf):
            yield from _check_items(kind, value, rules[number + 1 :], at)
            return
        elif not _keeps(rule, kind, value, is_pointed=is_pointed):
            yield replace(at, rule=rule, value=value)
            return
    if isinstance(kind, Struct):
        yield from _check_struct(kind, value, f"{at.within}{at.field}.", f"{at.path}.")


def _check_items(
    kind: ListOf, value: Any, rules: Sequence[str], at: Violation
) -> Iterator[Violation]:
    for index, item in enumerate(value or ()):
        below = replace(at, field=f"{at.field}[{index}]", path=f"{at.path}.{index}")
        yield from _check(kind.of, item, rules, below)


def _keeps(rule: str, kind: GoType, value: Any, *, is_pointed: bool) -> bool:
    name, _, limit = rule.partition("=")
    if name == "required":
        return is_pointed or _has_value(kind, value)
    if name == "eq":
        return value == limit
    if name == "oneof":
        return value in limit.split()
    if name in _COMPARED:
        return _COMPARED[name](_size(value), int(limit))
    return _RULES[name](value)


def _has_value(kind: GoType, value: Any) -> bool:
    # To the validator an empty list has a value; only a nil one has none.
    if isinstance(kind, ListOf | Object):
        return value is not None
    if isinstance(kind, DecimalType):
        return True  # A struct in Go, for which `required` is ignored.
    return value is not ABSENT and value != kind.zero()
