"""Conversations on their way to those who make steps: each message is sent once, and what was sent before is referred to by a digest.

Model inputs are nearly all that a run consists of, and each has everything in it that the one before had. Sent whole
with each call, they would grow with the square of the calls.
"""

import hashlib
import json
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from agent_driver import StepKey, StepRequest
from agent_loop import dump_messages, load_messages
from agent_server.executor import JsonObject, RunFailedError, StepExecution

from ._requests import HALVES


# How much of conversations is remembered in a process, so that it need not be read again.
_MOST_CHARACTERS: Final = 64 * 1024 * 1024


@dataclass(slots=True)
class _Sent:
    """What was sent of the conversation of one agent.

    Attributes:
        rewrites: How often it has begun anew.
        parts: How many parts it was sent in since.
        messages: The messages in them.
        digest: The digest of all parts.
    """

    rewrites: int = 0
    parts: int = 0
    messages: Sequence[Any] = ()
    digest: str = ""


class Sender:
    """What a run has sent of its conversations, its own and those of agents that it calls."""

    def __init__(self) -> None:
        self._sent: dict[tuple[str, ...], _Sent] = {}

    def describe(self, key: StepKey) -> bytes:
        """Return the request for a step, with those of its messages that were not sent before: three lines of JSON, since JSON within JSON grows."""
        request = key.request
        new, about = "", {}
        if request.messages:
            new, about = self._send(key.path, request.messages)
        about |= {"path": list(key.path), "round": key.round}
        return "\n".join((json.dumps(about), request.dump(), new)).encode(errors=HALVES)

    def _send(self, path: tuple[str, ...], messages: Sequence[Any]) -> tuple[str, JsonObject]:
        """Return the messages that are new, and where they belong."""
        sent = self._sent.setdefault(path, _Sent())
        count = len(sent.messages)
        if sent.messages != messages[:count]:
            sent.rewrites, sent.parts, sent.digest, count = sent.rewrites + 1, 0, "", 0
        new, part = dump_messages(messages[count:]), sent.parts
        sent.parts, sent.messages, sent.digest = part + 1, messages, _digest(sent.digest, new)
        name = "/".join(quote(one, safe="", errors=HALVES) for one in path)
        return new, {"name": f"{name}:{sent.rewrites}", "part": part, "digest": sent.digest}


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """A step that is to be made.

    Attributes:
        step: The step.
        path: The ids of the calls that lead to the agent whose step it is.
        round: The number of its round.
    """

    step: StepRequest
    path: tuple[str, ...]
    round: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """A conversation up to one of its parts.

    Attributes:
        digest: The digest of its parts.
        messages: Its messages.
        characters: How large it is.
    """

    digest: str = ""
    messages: tuple[Any, ...] = ()
    characters: int = 0

    def add(self, part: str) -> "_Known":
        """Return the conversation with another part."""
        return _Known(
            digest=_digest(self.digest, part),
            messages=(*self.messages, *load_messages(part)),
            characters=self.characters + len(part),
        )


class Receiver:
    """The conversations that a process has received parts of."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str], _Known] = OrderedDict()
        self._characters = 0

    async def read(self, run: StepExecution, described: bytes) -> "Received":
        """Return a step that is to be made, and keep the messages that are new for those who make later ones.

        Raises:
            RunFailedError: If the earlier messages are no longer available.
        """
        about, step, new = described.decode(errors=HALVES).split("\n")
        fields = json.loads(about)
        messages = await self._receive(run, fields, new) if new else ()
        return Received(
            step=StepRequest.load(step, messages),
            path=tuple(fields["path"]),
            round=fields["round"],
        )

    async def _receive(self, run: StepExecution, sent: JsonObject, new: str) -> tuple[Any, ...]:
        name, part = sent["name"], sent["part"]
        await run.keep(f"{name}.{part}", new.encode(errors=HALVES))
        key = run.run_id, name
        known = self._known.get(key, _Known())
        if _digest(known.digest, new) != sent["digest"]:
            known = await _read_parts(run, name, part)
        if _digest(known.digest, new) != sent["digest"]:
            raise RunFailedError(
                "the messages before this step are no longer available",
                error_type="conversation_lost",
            )
        return self._remember(key, known.add(new)).messages

    def _remember(self, key: tuple[str, str], known: _Known) -> _Known:
        before = self._known.pop(key, _Known())
        self._known[key] = known
        self._characters += known.characters - before.characters
        while self._characters > _MOST_CHARACTERS and len(self._known) > 1:
            self._characters -= self._known.popitem(last=False)[1].characters
        return known


async def _read_parts(run: StepExecution, name: str, count: int) -> _Known:
    """Return a conversation up to a part, as far as it is there."""
    names = [f"{name}.{part}" for part in range(count)]
    found = await run.find(names)
    known = _Known()
    for one in names:
        if one not in found:
            break
        known = known.add(found[one].decode(errors=HALVES))
    return known


def _digest(before: str, part: str) -> str:
    return hashlib.sha256(f"{before}{part}".encode(errors=HALVES)).hexdigest()
