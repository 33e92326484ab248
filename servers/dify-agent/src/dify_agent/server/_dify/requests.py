"""Requests that Dify's API sends, in whichever version of its protocol."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Self

from agent_server.executor import Problem, RequestRefusedError
from agent_server.http import build_model
from dify_agent.protocol import ProtocolModel
from stream_text import is_list, is_object

from . import protocol_1, protocol_2


_PLACE: Final = re.compile(r"(?<=^composition\.layers\.)[0-9]+")

type RunRequest = protocol_1.RunRequest | protocol_2.RunRequest
"""A request for a run in either protocol."""


class CancelRequest(ProtocolModel):
    """The request of Dify's API to stop a run.

    Attributes:
        reason: The reason, in a word.
        message: The reason, in a sentence.
    """

    reason: str | None = None
    message: str | None = None

    @property
    def text(self) -> str:
        """Both in one text, which is empty if there is neither."""
        return "\n".join((self.reason or "", self.message or "")).rstrip("\n")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the request with a text; any other is a reason."""
        reason, _, message = text.partition("\n")
        return cls(reason=reason or None, message=message or None)


def read_run_request(body: Any) -> RunRequest:
    """Return the request in a body.

    Raises:
        RequestRefusedError: If it is none; the problems name fields, never values.
    """
    if not _is_protocol_2(body):
        return _build(protocol_1.RunRequest, body)
    asked: Mapping[str, Any] = body
    earlier = asked.get("session_snapshot")
    # Of a conversation that began before Dify was upgraded.
    if is_object(earlier) and is_list(earlier.get("layers")):
        snapshot = _build(protocol_1.Snapshot, earlier, within="session_snapshot.")
        asked = {**asked, "session_snapshot": protocol_2.migrate_snapshot(snapshot)}
    return _build(protocol_2.RunRequest, asked)


def name_as_sent(error: RequestRefusedError, places: Sequence[int]) -> RequestRefusedError:
    """Return an error that names the layers of a composition by their places in what was sent.

    Args:
        error: The error, which names ours.
        places: The place there of each layer of ours.
    """
    names = [_PLACE.sub(lambda at: str(places[int(at[0])]), one.field) for one in error.problems]
    return RequestRefusedError(*map(_rename, error.problems, names))


def _is_protocol_2(body: Any) -> bool:
    """Return whether a composition is of protocol 2. Each protocol has its own version as the default, and only the first has layers with types."""
    composition = body.get("composition") if is_object(body) else None
    if not is_object(composition):
        return False
    version, layers = composition.get("schema_version"), composition.get("layers")
    if version is not None or not is_list(layers):
        return version == protocol_2.SCHEMA_VERSION
    return not any(is_object(one) and "type" in one for one in layers)


def _build[Model: ProtocolModel](model: type[Model], value: Any, *, within: str = "") -> Model:
    try:
        return build_model(model, value)
    except RequestRefusedError as error:
        names = [within + each.field for each in error.problems]
        raise RequestRefusedError(*map(_rename, error.problems, names)) from None


def _rename(problem: Problem, name: str) -> Problem:
    return replace(problem, field=name)
