"""A model whose answers a test writes."""

import json
import re
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, override

from dify_plugin_host._errors import ScriptError
from dify_plugin_host._platform.answers import give
from dify_plugin_host._platform.llm_chunks import build_chunk, build_tool_call, build_usage
from dify_plugin_host._platform.plugin_host import PluginHost
from dify_plugin_host._process.session import BackwardsRequest, CallBack
from dify_plugin_packager.json_access import JsonObject

from ._peers import Model


_PROVIDER = "host/scripted/scripted"
_FEATURES = ("tool-call", "multi-tool-call", "stream-tool-call")
_USAGE = build_usage({"input_tokens": 10, "output_tokens": 5, "total_tokens": 15})
# Pieces as a model streams them: a word with the blank space behind it.
_PIECE = re.compile(r"\s*\S+\s*|\s+")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's call of a tool.

    Attributes:
        name: The tool's name.
        arguments: Its arguments; a text is sent as it is, whether it is JSON or not.
        id: The call's id, which makes no difference between calls; by default `call_1`, `call_2` and so on in the order of a script.
    """

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict[str, Any])
    id: str = field(default="", compare=False)


type Scripted = str | ToolCall | Exception | CallBack | Sequence[str | ToolCall]
"""One answer of a script: a text, a call of a tool, several of both, an error that Dify reports, or an answer that was recorded."""


class ScriptedModel(Model):
    """A model that gives the answers of a script, one after the other, and keeps what it is asked.

    As a parameter of a strategy or a tool it stands for a model that somebody has chosen. Texts are streamed word by
    word; each answer counts 10 tokens of input and 5 of output.

    Args:
        script: The answers.
        name: Its name; each model of a call needs one of its own.
        features: Its features in Dify.
        completion_params: The parameters that somebody has set for it.
        history: The prompt messages of earlier turns.

    Attributes:
        requests: The requests that it got, as Dify sends them to a model's plugin.

    Example:
        >>> model = ScriptedModel([ToolCall("add", {"a": 1, "b": 2}), "It is 3."])
        >>> len(model.unused)
        2
    """

    def __init__(
        self,
        script: Iterable[Scripted],
        *,
        name: str = "scripted",
        features: Iterable[str] = _FEATURES,
        completion_params: Mapping[str, Any] | None = None,
        history: Iterable[JsonObject] = (),
    ) -> None:
        super().__init__(name)
        self.requests: list[JsonObject] = []
        self._script: tuple[Scripted, ...] = tuple(script)
        self._features = list(features)
        self._completion_params = dict(completion_params or {})
        self._history = list(history)
        self._calls = 0

    @property
    def unused(self) -> Sequence[Scripted]:
        """The answers that nobody has asked for."""
        return self._script[len(self.requests) :]

    @override
    async def choose(self, host: PluginHost) -> JsonObject:
        """Return the value of a parameter that chooses this model."""
        label = {"en_US": self.name, "zh_Hans": self.name}
        return {
            "provider": _PROVIDER,
            "model": self.name,
            "model_type": "llm",
            "mode": "chat",
            "completion_params": self._completion_params,
            "history_prompt_messages": self._history,
            "entity": {
                "model": self.name,
                "label": label,
                "model_type": "llm",
                "features": self._features,
                "fetch_from": "predefined-model",
                "model_properties": {"mode": "chat", "context_size": 128_000},
                "parameter_rules": [],
                "pricing": None,
                "deprecated": False,
            },
        }

    @override
    def find(self, request: BackwardsRequest) -> AsyncGenerator[JsonObject] | None:
        """Return the next answer to a call of this model; None for any other call."""
        if request.type != "llm" or request.request.get("model") != self.name:
            return None
        self.requests.append(request.request)
        if len(self.requests) > len(self._script):
            return give([], error=f"invoke llm model failed: {self._overrun()}")
        scripted = self._script[len(self.requests) - 1]
        if isinstance(scripted, CallBack):
            return give(scripted.answers, error=scripted.error)
        if isinstance(scripted, Exception):
            return give([], error=f"read llm model failed: {scripted}")
        return give({**chunk, "model": self.name} for chunk in self._chunks(scripted))

    @override
    def finish(self, calls_back: Sequence[CallBack]) -> None:
        """Check that the script was long enough.

        Raises:
            ScriptError: If the model was asked once more.
        """
        __tracebackhide__ = True
        if len(self.requests) > len(self._script):
            raise ScriptError(self._overrun()) from None

    def _overrun(self) -> str:
        times, last = len(self.requests), self.requests[-1].get("prompt_messages")
        return (
            f"the scripted model {self.name!r} was asked {times} times, but its script has {len(self._script)} answers; "
            f"its last request: {json.dumps(last, ensure_ascii=False)}"
        )

    def _chunks(self, scripted: str | ToolCall | Sequence[str | ToolCall]) -> Iterator[JsonObject]:
        parts = [scripted] if isinstance(scripted, str | ToolCall) else scripted
        for text in (part for part in parts if isinstance(part, str)):
            yield from map(build_chunk, _PIECE.findall(text))
        calls = [self._call(part) for part in parts if isinstance(part, ToolCall)]
        yield build_chunk("", calls=calls, usage=_USAGE, reason="tool_calls" if calls else "stop")

    def _call(self, call: ToolCall) -> JsonObject:
        self._calls += 1
        arguments = (
            call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)
        )
        return build_tool_call(call.id or f"call_{self._calls}", call.name, arguments)
