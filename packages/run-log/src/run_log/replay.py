"""Replay of a logged run: its model and its tools answer as they did, and the requests to them are kept for comparison.

It does not depend on an agent: the test that `run_log.view.write_fixture` writes turns it into the model and the tools of agent-driver.
"""

import json
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from stream_text import is_list, is_object

from ._lines.plain import LONG_TEXT, from_plain, to_plain


__all__ = ["ReplayedRun", "read_run", "to_numbers"]


def read_run(texts: str, data: str) -> dict[str, Any]:
    """Read a run, with the long texts, each of which is written once, in their places.

    Args:
        texts: The long texts as JSON, by their digests.
        data: The run as JSON.
    """
    known: dict[str, str] = json.loads(texts)
    return from_plain(json.loads(data), lambda name: known.get(name, {LONG_TEXT: name}))


def to_numbers(values: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return values with prices as decimals; a log has them as texts."""
    return {
        name: Decimal(value) if isinstance(value, str) and name != "currency" else value
        for name, value in (values or {}).items()
    }


class ReplayedRun:
    """A logged run that is replayed.

    Args:
        run: A run, as `read_run` returns it.

    Attributes:
        messages: The messages to begin it with.
        requests: The messages of each recorded request.
        asked: The messages of each request of the replay.
    """

    def __init__(self, run: Mapping[str, Any]) -> None:
        self._rounds: Sequence[Mapping[str, Any]] = run["rounds"]
        self._results: dict[tuple[str, str], deque[Mapping[str, Any]]] = defaultdict(deque)
        for result in run["results"]:
            self._results[result["name"], _key(result["arguments"])].append(result)
        self.messages: list[Any] = self._rounds[0]["added"]
        self.requests: list[list[Any]] = []
        self.asked: list[list[Any]] = []
        for one in self._rounds:
            before = self.requests[-1] if self.requests else []
            self.requests.append([*before[: one["kept"]], *one["added"]])

    def answer(self, messages: Sequence[Any]) -> Iterator[dict[str, Any]]:
        """Yield the model's answer in this round: its pieces, or a `message` and `is_transient` if the model failed."""
        index = len(self.asked)
        # As plain JSON, for a caller may change its messages later, and the log has nothing else.
        self.asked.append([to_plain(message) for message in messages])
        if index >= len(self._rounds):
            yield _failure("the run of then had no further request", is_transient=False)
            return
        answer = self._rounds[index]["answer"]
        for text, phase in answer["pieces"]:
            yield {"text": text, "phase": phase}
        if answer["error"]:
            yield _failure(answer["error"], is_transient=answer["is_repeated"])
            return
        names = ("finish_reason", "opaque_body")
        last = {name: answer[name] for name in names if answer[name] is not None}
        calls = [call | {"index": place} for place, call in enumerate(answer["calls"])]
        yield {"text": "", "tool_calls": calls, "usage": to_numbers(answer["usage"]), **last}

    def find_result(self, name: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """Return `content` and `error` of the next call with these arguments; after the last call its own, again and again."""
        results = self._results.get((name, _key(args)))
        if not results:
            return {"content": "", "error": f"{name} was not called with these arguments then"}
        result = results.popleft() if len(results) > 1 else results[0]
        return {"content": _to_tuples(result["content"]), "error": result["error"]}

    def difference(self) -> str | None:
        """Return a sentence about the first request that differs, or None."""
        for index, (then, now) in enumerate(zip(self.requests, self.asked, strict=False), 1):
            written, asked = _to_bytes(then), _to_bytes(now)
            if written != asked:
                return f"the request of round {index} differs:\n{written!r}\n{asked!r}"
        return None


def _failure(message: str, *, is_transient: bool) -> dict[str, Any]:
    return {"message": message, "is_transient": is_transient}


def _key(args: Mapping[str, Any]) -> str:
    # The value of a hidden parameter is not in the log, so it cannot tell calls apart.
    shown = {name: value for name, value in args.items() if value != "[hidden]"}
    return json.dumps(to_plain(shown), sort_keys=True)


def _to_tuples(value: Any) -> Any:
    """Return a tool's content with its parts as a tuple, as tools return them."""
    if is_list(value):
        return tuple(map(_to_tuples, value))
    if is_object(value):
        return {name: _to_tuples(member) for name, member in value.items()}
    return value


def _to_bytes(request: Sequence[Any]) -> bytes:
    """Return a request as the log writes it."""
    text = json.dumps(request, ensure_ascii=False, separators=(",", ":"))
    return text.encode(errors="surrogatepass")
