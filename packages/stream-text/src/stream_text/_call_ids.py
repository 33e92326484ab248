"""The ids of an answer's tool calls, where a server gives none, or one to several calls."""

import hashlib
import json
from collections import Counter
from uuid import uuid4

from ._errors import InvalidJsonError
from ._json import parse_json


class CallIds:
    """The ids of the calls of one answer, each of which stands for one call.

    A call without an id gets one of ours, and so does the second of two different calls with one id. The same call under one id is one call.

    Args:
        seed: Makes our ids differ from those of other answers, such as the id of the response; a random one by default.

    Example:
        >>> ids = CallIds("resp_1")
        >>> ids.take("c1", "add", '{"a": 1}')
        'c1'
        >>> ids.take("c1", "add", '{"a": 2}')
        'call_f99ea81b6524d1ce16c6a854'
        >>> ids.take("c1", "add", '{"a":1}') is None
        True
    """

    def __init__(self, seed: str = "") -> None:
        self.seed = seed
        self._first: dict[str, tuple[str, str]] = {}  # the first call with each id
        self._taken: dict[str, Counter[tuple[str, str]]] = {}  # all, where there are several

    def take(self, call_id: str, name: str, arguments: str) -> str | None:
        """Return the id of a whole call: its own, or one of ours; None if the call has come before.

        Args:
            call_id: The server's id; blank if it gave none.
            name: The tool.
            arguments: The arguments as text.
        """
        key = call_id.strip()
        if key and key not in self._first:  # nearly always
            self._first[key] = name, arguments
            return call_id
        call = _canonical(name, arguments)
        if (known := self._taken.get(key)) is None:
            known = Counter([_canonical(*self._first[key])] if key else ())
            self._taken[key] = known
        if key and call in known:
            return None
        known[call] += 1
        self.seed = self.seed or uuid4().hex
        facts = json.dumps([self.seed, key, *call, known[call]])
        return f"call_{hashlib.sha256(facts.encode()).hexdigest()[:24]}"


def _canonical(name: str, arguments: str) -> tuple[str, str]:
    return name.strip(), canonical_arguments(arguments)


def canonical_arguments(arguments: str) -> str:
    """Return a call's arguments the same however their JSON is written; a text that is no JSON unchanged.

    Arguments that are not a JSON object may be wrapped in one under the key `invalid_arguments`, because platforms demand an object.
    """
    try:
        value = parse_json(arguments.strip() or "{}")
    except InvalidJsonError:
        return arguments
    match value:
        case {"invalid_arguments": str(written)} if len(value) == 1:
            return written
        case _:
            return json.dumps(value, sort_keys=True)
