"""Two runs side by side: their rounds, and where the requests and the answers begin to differ."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, Final

from run_log import Record

from ._chain import RunChain
from ._index import RunIndex, describe_difference


_MAX_ROUNDS: Final = 500


@dataclass(slots=True)
class _Side:
    """One of the two runs, read round by round.

    Attributes:
        part: The part that has the round which was read last.
        added: How many messages of the request before stay, and the new ones.
        messages: The messages of the request that was read last, long texts by their digests.
        settings: The other fields of that request.
        answer: The model's answer: its text, and its calls.
    """

    run: RunChain
    part: RunIndex | None = None
    added: tuple[int, Sequence[Any]] = (0, ())
    messages: list[Any] = field(default_factory=list[Any])
    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    answer: dict[str, Any] = field(default_factory=dict[str, Any])

    def read(self, place: int) -> dict[str, Any] | None:
        """Read a round; return its row, or None if the run has no such round."""
        if place >= len(self.run.rounds):
            return None
        self.part, row = self.run.rounds[place]
        request, *others = self.part.read_records(row)
        before, self.messages = self.messages, [*self.messages[: row.kept], *request["added"]]
        # A part logs its first request whole, even what the part before has already sent.
        kept = _count_same(before, self.messages) if row.index == 0 else row.kept
        self.added = kept, self.messages[kept:]
        gone: list[str] = request.get("unset") or []
        changed: dict[str, Any] = request.get("set") or {}
        settings = changed if row.index == 0 else {**self.settings, **changed}
        self.settings = {name: value for name, value in settings.items() if name not in gone}
        self.answer = _read_answer(others)
        return self.run.describe_row(place)

    def expand(self, value: Any) -> Any:
        """Return a value of the round that was read last, with its long texts."""
        return self.part.expand(value) if self.part else value


def compare_runs(first: RunChain, second: RunChain) -> dict[str, Any]:
    """Return two runs side by side for the page, as JSON: both heads, the rows of the first 500 rounds in pairs, and the first differences.

    Args:
        first: The first run, whose parts are called `before`.
        second: The second run, whose parts are called `now`.

    Raises:
        RunLogError: If a file cannot be read any more.
    """
    sides = [_Side(first), _Side(second)]
    found: dict[str, Any] = {"settings": None, "request": None, "answer": None}
    pairs: list[dict[str, Any]] = []
    for place in range(min(max(len(side.run.rounds) for side in sides), _MAX_ROUNDS)):
        rows = [side.read(place) for side in sides]
        pair: dict[str, Any] = {"rows": rows}
        if all(rows):
            pair |= _compare_round(sides[0], sides[1])
            for name, known in list(found.items()):
                if known is None and not pair[name]:
                    found[name] = {"round": place, **_find(name, *sides)}
        pairs.append(pair)
    return {"runs": [first.describe(), second.describe()], "rounds": pairs, **found}


def _count_same(first: Sequence[Any], second: Sequence[Any]) -> int:
    """Return the length of the common beginning."""
    pairs = enumerate(zip(first, second, strict=False))
    return next(
        (place for place, (one, other) in pairs if one != other), min(len(first), len(second))
    )


def _compare_round(one: _Side, other: _Side) -> dict[str, bool]:
    """Return for each part of a round whether it is the same in both."""
    return {
        "settings": one.settings == other.settings,
        "added": one.added == other.added,
        "request": one.messages == other.messages,
        "answer": one.answer == other.answer,
    }


def _find(name: str, one: _Side, other: _Side) -> dict[str, Any]:
    """Return the first difference in one part of a round."""
    if name == "request":
        pairs = enumerate(zip_longest(one.messages, other.messages))
        place, (before, now) = next(pair for pair in pairs if pair[1][0] != pair[1][1])
        path = f"messages[{place}]"
    elif name == "settings":
        names = dict.fromkeys([*one.settings, *other.settings])
        changed = [each for each in names if one.settings.get(each) != other.settings.get(each)]
        path = changed[0]
        before, now = one.settings.get(path), other.settings.get(path)
        more = describe_difference(one.expand(before), other.expand(now), path)
        return {**more, "names": changed}
    else:
        path, before, now = "answer", one.answer, other.answer
    return describe_difference(one.expand(before), other.expand(now), path)


def _read_answer(records: list[Record]) -> dict[str, Any]:
    """Return the model's answer in a round, without the ids of its calls, which differ each time."""
    texts = [record["text"] for record in records if record["type"] == "delta"]
    ends = [record for record in records if record["type"] == "answer"]
    asked: list[list[Any]] = [end.get("calls") or [] for end in ends]
    written: list[Record] = [call for calls in asked for call in calls if isinstance(call, dict)]
    calls = [{"name": call.get("name"), "arguments": call.get("arguments")} for call in written]
    # A long text is only its digest here, so the pieces are compared as they are.
    is_plain = all(isinstance(text, str) for text in texts)
    return {"text": "".join(texts) if is_plain else texts, "calls": calls}
