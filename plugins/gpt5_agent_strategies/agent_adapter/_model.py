"""The chosen model: what it can do, how it is called, and what its stream says."""

from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Self, cast

from dify_plugin.core.runtime import Session
from dify_plugin.entities.model.llm import LLMModelConfig, LLMResult, LLMResultChunk, LLMUsage
from dify_plugin.entities.model.message import (
    AssistantPromptMessage,
    PromptMessage,
    PromptMessageTool,
)

from agent_loop import ModelDelta, ToolCallFragment, Usage

from ._errors import ParameterError


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model of the `model-selector` parameter.

    Attributes:
        provider: The provider, such as `author/plugin/provider`.
        name: The model's name.
        mode: `chat` for all models with tool calling.
        completion_params: The parameters that the app's builder has set.
        features: What the model can do; None when Dify did not say.
        parameter_names: The parameters that it takes; None when Dify did not say.
        history: The conversation so far, as Dify dumps it.
    """

    provider: str
    name: str
    mode: str
    completion_params: Mapping[str, Any]
    features: frozenset[str] | None
    parameter_names: frozenset[str] | None
    history: tuple[Any, ...]

    @classmethod
    def from_raw(cls, raw: object) -> Self:
        """Read the parameter.

        Raises:
            ParameterError: If it names no model, or a part of it has another shape than Dify gives it.
        """
        if not isinstance(raw, Mapping):
            raise ParameterError("model", "a model with provider and name", raw)
        fields = cast("Mapping[str, Any]", raw)
        provider, name = fields.get("provider"), fields.get("model")
        if not isinstance(provider, str) or not isinstance(name, str) or not provider or not name:
            raise ParameterError("model", "a model with provider and name", raw)
        entity = _read_object(fields, "entity")
        return cls(
            provider=provider,
            name=name,
            mode=str(fields.get("mode") or "chat"),
            completion_params=_read_object(fields, "completion_params"),
            features=frozenset(map(str, entity.get("features") or ())) if entity else None,
            parameter_names=_rule_names(entity) if entity else None,
            history=_read_list(fields, "history_prompt_messages"),
        )

    @property
    def tool_choice(self) -> str | None:
        """The tool choice that the app's builder has set."""
        choice = self.completion_params.get("tool_choice")
        return choice if isinstance(choice, str) and choice else None

    @property
    def has_tool_choice(self) -> bool:
        """Whether the model takes a tool choice; assumed where Dify did not say."""
        return self.parameter_names is None or "tool_choice" in self.parameter_names

    def has_feature(self, feature: str) -> bool:
        """Return whether the model can do something; assumed where Dify did not say."""
        return self.features is None or feature in self.features

    def stream(
        self,
        session: Session,
        *,
        prompts: list[PromptMessage],
        tools: list[PromptMessageTool],
        tool_choice: str | None,
    ) -> Iterator[ModelDelta]:
        """Call the model and iterate over what it says.

        Always in the streaming form: the SDK's other form loses tool calls, `opaque_body` and prices.
        """
        parameters = {**self.completion_params, "tool_choice": tool_choice}
        if tool_choice is None:
            del parameters["tool_choice"]
        config = LLMModelConfig(
            provider=self.provider,
            model=self.name,
            mode=self.mode,
            completion_params=parameters,
        )
        stop = _read_stop(self.completion_params.get("stop"))
        answer = session.model.llm.invoke(config, prompts, tools or None, stop, stream=True)
        with closing(_to_chunks(answer)) as chunks:
            yield from map(to_delta, chunks)


def _read_object(fields: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = fields.get(name)
    if value is not None and not isinstance(value, Mapping):
        raise ParameterError(f"model.{name}", "an object", value)
    return cast("Mapping[str, Any]", value or {})


def _read_list(fields: Mapping[str, Any], name: str) -> tuple[Any, ...]:
    value = fields.get(name)
    if value is not None and not isinstance(value, list):
        raise ParameterError(f"model.{name}", "a list", value)
    return tuple(cast("list[Any]", value or []))


def _rule_names(entity: Mapping[str, Any]) -> frozenset[str]:
    rules = entity.get("parameter_rules") or ()
    return frozenset(str(rule.get("name")) for rule in rules if isinstance(rule, Mapping))


def _read_stop(value: object) -> list[str] | None:
    value = [value] if isinstance(value, str) and value else value
    return [str(word) for word in cast("list[object]", value)] if isinstance(value, list) else None


def _to_chunks(answer: object) -> Generator[LLMResultChunk]:
    """Iterate over an answer in either of its forms."""
    if isinstance(answer, LLMResult):
        yield answer.to_llm_result_chunk()
    else:
        yield from cast("Generator[LLMResultChunk]", answer)


def to_delta(chunk: LLMResultChunk) -> ModelDelta:
    """Translate a chunk of a model's answer; one that lacks its message says nothing."""
    message = cast("AssistantPromptMessage | None", chunk.delta.message) or AssistantPromptMessage()
    return ModelDelta(
        text=message.get_text_content(),
        tool_calls=tuple(map(_to_fragment, message.tool_calls)),
        opaque=_read_opaque(message),
        usage=_to_usage(chunk.delta.usage) if chunk.delta.usage else None,
        finish_reason=chunk.delta.finish_reason,
    )


def _to_fragment(call: AssistantPromptMessage.ToolCall) -> ToolCallFragment:
    return ToolCallFragment(id=call.id, name=call.function.name, arguments=call.function.arguments)


def _read_opaque(message: AssistantPromptMessage) -> object:
    """Return the last payload of a message, whether on the message or on a part of its content."""
    parts = message.content if isinstance(message.content, list) else []
    payloads = [part.opaque_body for part in parts] + [message.opaque_body]
    return next((payload for payload in reversed(payloads) if payload is not None), None)


def _to_usage(usage: LLMUsage) -> Usage:
    return Usage(**usage.model_dump())
