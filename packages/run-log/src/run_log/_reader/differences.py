"""A request put together from its records, and its first difference from the one before."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, Final

from run_log._lines.json_lines import Record
from run_log._lines.requests import count_same
from stream_text import is_list, is_object


type Expand = Callable[[Any], Any]

_NOTHING: Final = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The first difference between a request and the one before, which it should have begun with.

    Attributes:
        path: Where it is, such as `messages[2].content[0].text`; the message itself if only the order of its names differs.
        before: The value before; None if there was none.
        now: The value now; None if there is none.
        position: If both values are texts, the index of the first character that differs.
    """

    path: str
    before: Any
    now: Any
    position: int | None = None


@dataclass(frozen=True, kw_only=True)
class LoggedRequest:
    """A request to a model.

    Attributes:
        round: The number of the model call.
        seconds: When it was made, since the run began.
        kept: How many messages of the request before it begins with.
        dropped: How many further messages the request before had: if there are any, the prefix was rewritten, and
            nothing after it comes from a cache.
        changed: The names of the settings that are new, different or gone.
        is_closing: Whether the model had to answer.
        left_out: How many images and files were replaced by a sentence since the request before.
    """

    round: int
    seconds: float
    kept: int
    dropped: int
    changed: tuple[str, ...]
    is_closing: bool
    left_out: int
    written_messages: tuple[Any, ...] = field(repr=False)
    written_settings: dict[str, Any] = field(repr=False)
    replaced: Any = field(repr=False)
    expand: Expand = field(repr=False)

    @property
    def messages(self) -> list[Any]:
        """All messages; long texts are read from the file."""
        return [*self.expand(list(self.written_messages))]

    @property
    def added(self) -> list[Any]:
        """The messages that the request before did not have."""
        return [*self.expand(list(self.written_messages[self.kept :]))]

    @property
    def settings(self) -> dict[str, Any]:
        """Everything else by name: tools, tool choice, model, and so on."""
        return {**self.expand(self.written_settings)}

    @property
    def difference(self) -> Difference | None:
        """The first difference if the prefix was rewritten; None if it was not."""
        if not self.dropped:
            return None
        path = f"messages[{self.kept}]"
        before, now = self.expand(self.replaced), self.added[0] if self.added else None
        # Digests differ by the order of names too, which `find_difference` ignores.
        return find_difference(before, now, path) or Difference(path=path, before=before, now=now)


def build_request(record: Record, before: LoggedRequest | None, expand: Expand) -> LoggedRequest:
    """Return the request of a record, put together with the request before it."""
    messages = before.written_messages if before else ()
    settings = dict(before.written_settings) if before else {}
    kept: int = record["kept"]
    changed: dict[str, Any] = record.get("set") or {}
    gone: list[str] = record.get("unset") or []
    for name in gone:
        settings.pop(name, None)
    return LoggedRequest(
        round=record["round"],
        seconds=record.get("t", 0.0),
        kept=kept,
        dropped=len(messages) - kept,
        changed=tuple(sorted({*changed, *gone})),
        is_closing=bool(record.get("is_closing")),
        left_out=record.get("left_out") or 0,
        written_messages=(*messages[:kept], *record["added"]),
        written_settings=settings | changed,
        replaced=messages[kept] if kept < len(messages) else None,
        expand=expand,
    )


def find_difference(before: Any, now: Any, path: str) -> Difference | None:
    """Return the first difference of two values, or None; another order of names is not a difference.

    Args:
        before: The first value.
        now: The second value.
        path: Their path.
    """
    pairs = _pair(before, now, path)
    if pairs is None:
        return _compare_leaves(before, now, path)
    differences = (find_difference(old, new, place) for place, old, new in pairs)
    return next(filter(None, differences), None)


def _pair(before: Any, now: Any, path: str) -> list[tuple[str, Any, Any]] | None:
    """Return the members of two objects or two lists in pairs, each with its path; None for any other values."""
    if is_object(before) and is_object(now):
        names = {**before, **now}
        return [
            (f"{path}.{name}", before.get(name, _NOTHING), now.get(name, _NOTHING))
            for name in names
        ]
    if is_list(before) and is_list(now):
        both = enumerate(zip_longest(before, now, fillvalue=_NOTHING))
        return [(f"{path}[{index}]", *pair) for index, pair in both]
    return None


def _compare_leaves(before: Any, now: Any, path: str) -> Difference | None:
    # By type as well: Python takes 1, 1.0 and True for equal, and JSON writes them differently.
    if before == now and type(before) is type(now):
        return None
    return Difference(
        path=path,
        before=None if before is _NOTHING else before,
        now=None if now is _NOTHING else now,
        position=_find_position(before, now),
    )


def _find_position(before: object, now: object) -> int | None:
    if not isinstance(before, str) or not isinstance(now, str):
        return None
    return count_same(before, now)
