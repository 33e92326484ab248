"""Answers to plugins' calls back that come from elsewhere than the host's models and tools."""

import json
from collections import defaultdict, deque
from collections.abc import AsyncGenerator, Iterable

from dify_plugin_host._errors import BackwardsError
from dify_plugin_host._process.session import BackwardsRequest, CallBack
from dify_plugin_packager.json_access import JsonObject


class KeptAnswers:
    """Answers to calls back, each of which is given once: those of models in their order, those of tools by their arguments."""

    def __init__(self) -> None:
        self._kept: dict[str, deque[CallBack]] = defaultdict(deque)

    def keep(self, answered: CallBack) -> None:
        """Add the answer to a call of a model or a tool."""
        self._kept[_key(answered.type, answered.request)].append(answered)

    def find(self, request: BackwardsRequest) -> AsyncGenerator[JsonObject] | None:
        """Return the answer to a call back, or None if it has to be answered anew."""
        kept = self._kept.get(_key(request.type, request.request))
        if not kept:
            return None
        answered = kept.popleft()
        named = {"model": request.request.get("model")} if request.type == "llm" else {}
        return give([item | named for item in answered.answers], error=answered.error)


async def give(
    answers: Iterable[JsonObject], *, error: str | None = None
) -> AsyncGenerator[JsonObject]:
    """Yield the objects of an answer.

    Raises:
        BackwardsError: If there is an error, at the end.
    """
    for item in answers:
        yield item
    if error is not None:
        raise BackwardsError(error)


def _key(kind: str, request: JsonObject) -> str:
    what = (request.get("tool"), request.get("tool_parameters")) if kind == "tool" else ()
    return json.dumps([kind, *what], sort_keys=True, default=str)
