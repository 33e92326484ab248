"""Values as plain JSON and back. Tuples, decimals and the package's own values stay what they are."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from decimal import Decimal
from typing import Any, Final, cast

from agent_loop._values.errors import SnapshotError
from agent_loop._values.inputs import Decision, ToolResult
from agent_loop._values.messages import Message, ToolCall
from agent_loop._values.models import FallbackModel, Window
from agent_loop._values.usage import AgentUse, Usage

from .cuts import Marks
from .round_messages import ModelAnswer, Round
from .state import Display, RunState, Spending


_KIND: Final = "$"  # The key under which a value says what it is.
_CLASSES: Final[Mapping[str, type[Any]]] = {
    kind.__name__: kind
    for kind in (
        RunState,
        Round,
        ModelAnswer,
        Spending,
        Display,
        Marks,
        Message,
        ToolCall,
        ToolResult,
        Usage,
        AgentUse,
        Decision,
        FallbackModel,
        Window,
    )
}
_FIELDS: Final[Mapping[Any, tuple[str, ...]]] = {
    kind: tuple(known.name for known in fields(kind) if known.init) for kind in _CLASSES.values()
}


def to_plain(value: Any, place: str) -> Any:
    """Return a value as plain JSON.

    Args:
        value: The value.
        place: Where it stands, for the error.

    Raises:
        SnapshotError: If it holds what JSON cannot.
    """
    plain: Any
    match value:
        case None | bool() | str() | int():
            plain = value
        case float() if math.isfinite(value):
            plain = value
        case Decimal():
            plain = {_KIND: "Decimal", "value": str(value)}
        case tuple():
            plain = {_KIND: "tuple", "items": _to_list(cast("Sequence[Any]", value), place)}
        case list():
            plain = _to_list(cast("list[Any]", value), place)
        case Mapping():
            plain = _to_object(cast("Mapping[Any, Any]", value), place)
        case _ if (names := _FIELDS.get(value.__class__)) is not None:
            plain = {_KIND: type(value).__name__} | {
                name: to_plain(getattr(value, name), f"{place}.{name}") for name in names
            }
        case _:
            expected = "expected plain JSON, so that the run can be resumed in another process"
            raise SnapshotError("not_plain", f"{place}: {expected}, got {type(value).__name__}")
    return plain


def to_value(plain: Any) -> Any:
    """Return what `to_plain` was given; a sequence that is no list is a tuple."""
    if isinstance(plain, list):
        return [to_value(item) for item in cast("list[Any]", plain)]
    if not isinstance(plain, dict):
        return plain
    members = cast("dict[str, Any]", plain)
    kind = members.get(_KIND)
    if kind is None:
        return {key: to_value(value) for key, value in members.items()}
    if kind in _CLASSES:
        given = {key: to_value(value) for key, value in members.items() if key != _KIND}
        return _CLASSES[kind](**given)
    return _SPECIAL[kind](members)


_SPECIAL: Final[Mapping[str, Callable[[dict[str, Any]], Any]]] = {
    "Decimal": lambda members: Decimal(members["value"]),
    "tuple": lambda members: tuple(map(to_value, members["items"])),
    "object": lambda members: {key: to_value(value) for key, value in members["items"]},
}


def _to_list(items: Sequence[Any], place: str) -> list[Any]:
    return [to_plain(item, f"{place}[{index}]") for index, item in enumerate(items)]


def _to_object(members: Mapping[Any, Any], place: str) -> dict[str, Any]:
    for key in members:
        if not isinstance(key, str):
            raise SnapshotError(
                "not_plain", f"{place}: expected keys that are text, got {type(key).__name__}"
            )
    plain = {key: to_plain(value, f"{place}.{key}") for key, value in members.items()}
    if _KIND in plain:
        return {_KIND: "object", "items": [[key, value] for key, value in plain.items()]}
    return plain
