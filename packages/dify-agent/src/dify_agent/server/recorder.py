"""A run's log, as `gpt5-run-log` writes them: what was asked, answered and called, without secrets."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic_ai import ModelMessage, ModelResponse, ToolReturn
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings

from agent_server.executor import Execution, RunResult
from dify_agent.adapters.llm._messages import build_prompt_messages
from dify_agent.layers.dify_plugin.tools_layer import TOOL_FAILURE_KEY
from dify_agent.protocol import RunEvent, TextDeltaEvent
from run_log import RunLog, RunWriter
from stream_text import KnownSecrets


__all__ = [
    "AskedModel",
    "RunRecorder",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedModel:
    """What a model is asked.

    Attributes:
        model: The model.
        messages: The conversation.
        settings: How it shall answer.
        parameters: The tools and the shape of the answer.
    """

    model: Model
    messages: Sequence[ModelMessage]
    settings: ModelSettings | None
    parameters: ModelRequestParameters


class RunRecorder:
    """The log of one attempt to execute a run; without a folder nothing is written.

    Args:
        folder: Where logs go; None for none.
        run: The run.
        secrets: What no line may show.
    """

    def __init__(self, folder: Path | None, run: Execution, secrets: KnownSecrets) -> None:
        self._writer: RunWriter | None = None
        self._round = 0
        if folder is not None:
            about = {"program": "dify-agent", "run_id": run.run_id, "attempt": run.attempt}
            self._writer = RunLog(folder, known=secrets, about=about).begin()

    def ask(self, number: int, asked: AskedModel) -> None:
        """Write what a model is asked."""
        self._round = number
        if self._writer is None:
            return
        parameters = asked.parameters
        prompts = build_prompt_messages(
            asked.messages,
            instructions=parameters.instruction_parts or [],
            provider_name=asked.model.system,
            model_provider="",
        )
        tools = [*parameters.function_tools, *parameters.output_tools]
        about: Mapping[str, Any] = {
            "model": asked.model.model_name,
            "tools": [
                {
                    "name": tool.name,
                    "description": tool.description or "",
                    "parameters": tool.parameters_json_schema,
                }
                for tool in tools
            ],
            **(asked.settings or {}),
        }
        self._writer.request(number, prompts, about)

    def hear(self, event: RunEvent) -> None:
        """Write a piece of an answer."""
        if self._writer is not None and isinstance(event, TextDeltaEvent):
            self._writer.delta(self._round, event.text)

    def answer(self, number: int, response: ModelResponse) -> None:
        """Write how a model request ended, and the calls that it wants."""
        if self._writer is None:
            return
        calls = [
            (call.tool_call_id, call.tool_name, call.args_as_json_str())
            for call in response.tool_calls
        ]
        usage = response.usage
        self._writer.answer(
            number,
            calls=[{"call_id": id_, "name": name, "arguments": text} for id_, name, text in calls],
            usage={
                "input_tokens": usage.input_tokens,
                "output_tokens": usage.output_tokens,
                "cached_tokens": usage.cache_read_tokens,
            },
            finish_reason=response.finish_reason,
        )
        for call in calls:
            self._writer.call(*call)

    def answer_failed(self, number: int, error: Exception | None) -> None:
        """Write why a model request failed."""
        if self._writer is not None:
            self._writer.answer(number, error=str(error))

    def bind(self, call: ToolCallPart, arguments: Mapping[str, Any]) -> None:
        """Write what a tool is called with."""
        if self._writer is not None:
            self._writer.bound(call.tool_call_id, arguments, ())
            self._writer.started(call.tool_call_id)

    def finish(self, call: ToolCallPart, result: object) -> None:
        """Write what a tool returned."""
        if self._writer is None:
            return
        value: object = result.return_value if isinstance(result, ToolReturn) else result
        metadata: object = result.metadata if isinstance(result, ToolReturn) else None
        has_failed = isinstance(metadata, dict) and TOOL_FAILURE_KEY in metadata
        artifact = result.content if isinstance(result, ToolReturn) else None
        outcome = "failed" if has_failed else "done"
        self._writer.result(call.tool_call_id, outcome, value, artifact=artifact)

    def fail(self, call: ToolCallPart, error: Exception) -> None:
        """Write that a tool answered with an error."""
        if self._writer is not None:
            self._writer.result(call.tool_call_id, "failed", str(error), error=str(error))

    def end(self, result: RunResult) -> None:
        """Write how the run ended, and close the log."""
        if self._writer is None:
            return
        usage = None if result.usage is None else asdict(result.usage)
        reason = "answered" if result.status == "succeeded" else result.error_type or "failed"
        self._writer.end(reason, rounds=self._round, usage=usage, error=result.error)

    def close(self) -> None:
        """Close the log, of a run that was let go of too."""
        if self._writer is not None:
            self._writer.close()
