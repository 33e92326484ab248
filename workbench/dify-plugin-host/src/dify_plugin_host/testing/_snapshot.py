"""Messages in a form that is the same in each run: what changes without meaning anything is replaced."""

import base64
import dataclasses
import hashlib
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from dify_plugin_packager.json_access import JsonObject

from ._messages import Messages, ModelAnswer
from ._scripted_model import ToolCall


_ID = (
    r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b"
    r"|\b[0-9a-f]{32}\b"
)
# The links that this host gives out.
_LINK = r"http://127\.0\.0\.1:\d+/files/[^\s\"')>\]]*"
_CHANGING = re.compile(f"(?P<link>{_LINK})|(?P<id>{_ID})")
_TIMES = frozenset(
    ["created_at", "elapsed_time", "finished_at", "latency", "started_at", "time_to_first_token", "time_to_generate"]
)  # fmt: skip


def normalize(*, data: Any, path: Sequence[Any], redact: Callable[[str], str]) -> Any:
    """Return messages, or anything made of JSON, in a form that is the same in each run: a matcher of syrupy.

    Ids and links are numbered in the order in which they first appear, times are replaced, bytes by their size and digest. Texts
    that follow each other are joined, and of a model's answer the whole is kept, not the pieces in which it came.

    Args:
        data: The whole or a part of it.
        path: The way to the part; empty for the whole.
        redact: Takes secrets out of a text.
    """
    return data if path else _Copy(redact).of(data)


class _Copy:
    def __init__(self, redact: Callable[[str], str]) -> None:
        self._redact = redact
        self._numbers: dict[str, int] = {}
        self._seen: dict[str, int] = {"id": 0, "link": 0}

    def of(  # noqa: PLR0911 - one line for each kind of value
        self, value: Any
    ) -> Any:
        match value:
            case Messages():
                return self.of(_joined(value))
            case ModelAnswer():
                names = ("text", "tool_calls", "files", "usage", "finish_reason")
                return self.of({name: getattr(value, name) for name in names})
            case ToolCall():
                return self.of({"name": value.name, "arguments": value.arguments})
            case str():
                return _CHANGING.sub(self._number, self._redact(value))
            case bytes():
                return f"<{len(value)} bytes, SHA-256 {hashlib.sha256(value).hexdigest()}>"
            case _ if dataclasses.is_dataclass(value):
                names = (field.name for field in dataclasses.fields(value))
                return self.of({name: getattr(value, name) for name in names})
            case Mapping():
                items = cast("Mapping[str, Any]", value).items()
                return {name: self._member(name, child) for name, child in items}
            case Sequence():
                return [self.of(child) for child in cast("Sequence[Any]", value)]
            case _:
                return value

    def _member(self, name: str, value: Any) -> Any:
        if name in _TIMES and value is not None:
            return "<time>"
        if name == "blob" and isinstance(value, str):
            return self.of(base64.b64decode(value))
        return self.of(value)

    def _number(self, found: re.Match[str]) -> str:
        kind = str(found.lastgroup)
        if found[0] not in self._numbers:
            self._seen[kind] += 1
            self._numbers[found[0]] = self._seen[kind]
        return f"<{kind} {self._numbers[found[0]]}>"


def _joined(messages: Messages) -> list[JsonObject]:
    joined: list[JsonObject] = []
    for kind, group in itertools.groupby(messages, key=lambda message: message.get("type")):
        if kind == "text":
            joined.append({"type": "text", "message": {"text": Messages(group).text}})
        else:
            joined += group
    return joined
