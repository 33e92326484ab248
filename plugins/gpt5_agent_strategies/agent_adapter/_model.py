"""The chosen model: what it can do, calling it, and reading its stream."""

from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Self

from dify_plugin.core.runtime import Session
from dify_plugin.entities.model.llm import LLMModelConfig, LLMResultChunk
from dify_plugin.entities.model.message import (
    AssistantPromptMessage,
    MultiModalPromptMessageContent,
    PromptMessage,
    PromptMessageTool,
    TextPromptMessageContent,
)

from agent_loop import ModelDelta, ToolCallFragment
from stream_text import is_list, is_object, read_member

from ._answer_files import read_answer_file
from ._errors import AnswerTooLargeError, ParameterError
from ._usage import cached_tokens, to_usage


# A plugin has 256 MiB for all its runs.
_MAX_ANSWER_CHARACTERS = 16 * 1024 * 1024
_CALL_CHARACTERS = 256  # The memory of an empty piece of a tool call.


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model of the `model-selector` parameter.

    Attributes:
        provider: The provider, such as `author/plugin/provider`.
        name: The model's name.
        mode: `chat` for all models with tool calling.
        completion_params: The parameters that the app's builder has set.
        features: What the model can do; None if Dify does not say.
        parameter_names: The parameters that it takes; None if Dify does not say.
        has_answer_format: Whether it takes a JSON schema as the format of its answer, according to Dify.
        input_tokens: How many tokens a request may have; None if Dify does not say.
        is_unpriced: Whether it has no prices, according to Dify.
        history: The conversation so far, as Dify dumps it.
    """

    provider: str
    name: str
    mode: str
    completion_params: Mapping[str, Any]
    features: frozenset[str] | None
    parameter_names: frozenset[str] | None
    has_answer_format: bool
    input_tokens: int | None
    is_unpriced: bool
    history: tuple[Any, ...]

    @property
    def full_name(self) -> str:
        """The name with the provider, which no other model has."""
        return f"{self.provider}/{self.name}"

    @classmethod
    def from_raw(cls, raw: object, *, field: str = "model") -> Self:
        """Read the parameter `field`.

        Raises:
            ParameterError: If it names no model, or a part of it has an unexpected shape.
        """
        if not is_object(raw):
            raise ParameterError(field, "a model with provider and name", raw)
        provider, name = raw.get("provider"), raw.get("model")
        if not isinstance(provider, str) or not isinstance(name, str) or not provider or not name:
            raise ParameterError(field, "a model with provider and name", raw)
        entity = _read_object(raw.get("entity"), f"{field}.entity")
        rules = _read_rules(entity, field)
        return cls(
            provider=provider,
            name=name,
            mode=str(raw.get("mode") or "chat"),
            completion_params=_read_object(
                raw.get("completion_params"), f"{field}.completion_params"
            ),
            features=_read_features(entity, field) if entity else None,
            parameter_names=frozenset(rules) if entity else None,
            has_answer_format=_takes_schema(rules),
            input_tokens=read_input_tokens(entity, rules),
            # An entity without the key says nothing about prices.
            is_unpriced="pricing" in entity and not entity["pricing"],
            history=_read_list(
                raw.get("history_prompt_messages"), f"{field}.history_prompt_messages"
            ),
        )

    def as_known_from(self, other: "Model") -> "Model":
        """Return the model with missing facts taken from another model of the same provider; if the providers differ, no features are assumed."""
        if self.features is not None:
            return self
        nothing: frozenset[str] = frozenset()
        is_akin = self.provider == other.provider
        return replace(
            self,
            features=other.features if is_akin else nothing,
            parameter_names=other.parameter_names if is_akin else nothing,
        )

    @property
    def tool_choice(self) -> str | None:
        """The tool choice that the app's builder has set."""
        choice = self.completion_params.get("tool_choice")
        return choice if isinstance(choice, str) and choice else None

    @property
    def has_tool_choice(self) -> bool:
        """Whether the model takes a tool choice; assumed if Dify does not say."""
        return self.parameter_names is None or "tool_choice" in self.parameter_names

    def has_feature(self, feature: str) -> bool:
        """Return whether the model has a feature; assumed if Dify does not say."""
        return self.features is None or feature in self.features

    def stream(
        self,
        session: Session,
        *,
        prompts: list[PromptMessage],
        tools: list[PromptMessageTool],
        tool_choice: str | None,
        more_parameters: Mapping[str, Any],
    ) -> Generator[ModelDelta]:
        """Call the model and iterate over its answer.

        It is always streamed, because the SDK's other form loses tool calls, `opaque_body` and prices.

        Raises:
            AnswerTooLargeError: If the answer is larger than can be held.
        """
        parameters = {**self.completion_params, **more_parameters, "tool_choice": tool_choice}
        # The run knows the choice of the app's builder, and has left it out on purpose.
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
        with closing(answer) as chunks:
            size = 0
            for chunk in chunks:
                for delta in to_deltas(chunk):
                    size += _measure(delta)
                    if size > _MAX_ANSWER_CHARACTERS:
                        raise AnswerTooLargeError(_MAX_ANSWER_CHARACTERS)
                    yield delta


def _measure(delta: ModelDelta) -> int:
    """Return an estimate of the memory that a piece of an answer takes, in characters."""
    if not delta.tool_calls:
        return len(delta.text) + sum(len(file.message.blob) for file in delta.files)
    return len(delta.text) + sum(
        _CALL_CHARACTERS + len(call.call_id) + len(call.name) + len(call.arguments)
        for call in delta.tool_calls
    )


def _read_object(value: object, field: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not is_object(value):
        raise ParameterError(field, "an object", value)
    return value


def _read_list(value: object, field: str) -> tuple[Any, ...]:
    if value is None:
        return ()
    if not is_list(value):
        raise ParameterError(field, "a list", value)
    return tuple(value)


def _read_features(entity: Mapping[str, Any], field: str) -> frozenset[str]:
    features = _read_list(entity.get("features"), f"{field}.entity.features")
    for index, feature in enumerate(features):
        if not isinstance(feature, str):
            raise ParameterError(f"{field}.entity.features[{index}]", "text", feature)
    return frozenset(features)


def _read_rules(entity: Mapping[str, Any], field: str) -> dict[str, Mapping[str, Any]]:
    rules = _read_list(entity.get("parameter_rules"), f"{field}.entity.parameter_rules")
    objects = (
        _read_object(rule, f"{field}.entity.parameter_rules[{index}]")
        for index, rule in enumerate(rules)
    )
    return {str(rule.get("name")): rule for rule in objects}


def _takes_schema(rules: Mapping[str, Mapping[str, Any]]) -> bool:
    if not {"response_format", "json_schema"} <= rules.keys():
        return False
    # Without options the parameter takes any value.
    options = rules["response_format"].get("options") or ["json_schema"]
    return "json_schema" in options


def _read_stop(value: object) -> list[str] | None:
    value = [value] if isinstance(value, str) and value else value
    return list(map(str, value)) if is_list(value) else None


def to_deltas(chunk: LLMResultChunk) -> Iterator[ModelDelta]:
    """Translate a chunk of a model's answer; a chunk without a message is empty.

    A chunk is one piece: its tool calls come with its first text, so that they are known for all its texts.
    """
    message = chunk.delta.message or AssistantPromptMessage()
    [(text, phase), *others] = _read_texts(message) or [("", None)]
    body = _read_opaque(message)
    usage = to_usage(chunk.delta.usage, cached_tokens(body)) if chunk.delta.usage else None
    yield ModelDelta(
        text=text,
        phase=phase,
        tool_calls=tuple(map(_to_fragment, message.tool_calls)),
        opaque_body=body,
        usage=usage,
        finish_reason=chunk.delta.finish_reason,
    )
    for text, phase in others:
        yield ModelDelta(text=text, phase=phase)
    if isinstance(message.content, list):
        yield from _iter_files(message.content)


def _iter_files(parts: Iterable[object]) -> Iterator[ModelDelta]:
    """Yield the parts that are not text, as files of the node or as sentences that replace them."""
    for part in parts:
        if isinstance(part, MultiModalPromptMessageContent):
            read = read_answer_file(part)
            yield ModelDelta(text=read) if isinstance(read, str) else ModelDelta(files=(read,))


def _read_texts(message: AssistantPromptMessage) -> list[tuple[str, str | None]]:
    """Return the texts of a message, each with the phase of its part."""
    if not isinstance(message.content, list):
        return [(message.content or "", None)]
    return [
        (part.data, _read_phase(part.opaque_body))
        for part in message.content
        if isinstance(part, TextPromptMessageContent)
    ]


def _read_phase(body: object) -> str | None:
    phase = body.get("phase") if is_object(body) else None
    return phase if isinstance(phase, str) else None


def _to_fragment(call: AssistantPromptMessage.ToolCall) -> ToolCallFragment:
    return ToolCallFragment(
        call_id=call.id, name=call.function.name, arguments=call.function.arguments
    )


def _read_opaque(message: AssistantPromptMessage) -> object:
    """Return the last payload of a message, on the message itself or on a part of its content; a phase alone does not count."""
    parts = message.content if isinstance(message.content, list) else []
    payloads = [part.opaque_body for part in parts] + [message.opaque_body]
    return next((payload for payload in reversed(payloads) if _is_payload(payload)), None)


def _is_payload(body: object) -> bool:
    return body is not None and not (is_object(body) and set(body) == {"phase"})


_OUTPUT_RULES = ("max_output_tokens", "max_tokens", "max_completion_tokens")


def read_input_tokens(
    entity: Mapping[str, Any], rules: Mapping[str, Mapping[str, Any]]
) -> int | None:
    """Return how many tokens a request to a model may have; None if Dify does not say.

    Dify's context size includes the answer, so the room for the longest answer is subtracted, but never more than half.
    """
    size = _to_count(read_member(entity.get("model_properties"), "context_size"))
    if size is None:
        return None
    outputs = (_to_count(rules.get(name, {}).get("max")) for name in _OUTPUT_RULES)
    output = next((count for count in outputs if count is not None), 0)
    return size - min(output, size // 2)


def _to_count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 < value < 10**12 else None
