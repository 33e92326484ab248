"""The log of a run, written by `gpt5-run-log`: requests, answers and calls, without secrets."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from pydantic_ai import ModelResponse
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.models import ModelRequestContext

from agent_server.executor import Approval, InputRequest, RunResult
from dify_agent.adapters.llm._messages import build_prompt_messages
from dify_agent.adapters.llm._settings import build_tool
from dify_agent.layers.dify_plugin._prepared_tool import find_failure
from dify_agent.protocol import RunEvent, TextDeltaEvent
from run_log import RunFeed

from ._records import to_tool_return


class RunRecorder:
    """The log of one attempt to execute a run.

    Args:
        feed: The feed for its records; None if there is none.
    """

    def __init__(self, feed: RunFeed | None) -> None:
        self._round = 0
        self._writer = (feed or RunFeed()).begin()
        if feed is None:
            self._writer.close()  # A closed log takes nothing, so no method has to ask.

    def ask(self, number: int, asked: ModelRequestContext) -> None:
        """Write a model request."""
        self._round = number
        # Before the messages are converted: that takes time where they are long.
        if not self._writer.is_open:
            return
        parameters = asked.model_request_parameters
        # No provider has this name, so that no `opaque_body` reaches the log.
        prompts = build_prompt_messages(
            asked.messages,
            instructions=parameters.instruction_parts or [],
            provider_name=asked.model.system,
            model_provider="",
        )
        tools = [*parameters.function_tools, *parameters.output_tools]
        about: Mapping[str, Any] = {
            "model": asked.model.model_name,
            "tools": [build_tool(tool) for tool in tools],
            **(asked.model_settings or {}),
        }
        self._writer.request(number, prompts, about)

    def hear(self, event: RunEvent) -> None:
        """Write a piece of an answer."""
        if isinstance(event, TextDeltaEvent):
            self._writer.delta(self._round, event.text)

    def answer(self, number: int, response: ModelResponse) -> None:
        """Write the end of a model request, and the calls that the answer asks for."""
        calls = [
            {
                "call_id": call.tool_call_id,
                "name": call.tool_name,
                "arguments": call.args_as_json_str(),
            }
            for call in response.tool_calls
        ]
        usage = response.usage
        self._writer.answer(
            number,
            calls=calls,
            usage={
                "input_tokens": usage.input_tokens,
                "output_tokens": usage.output_tokens,
                "cached_tokens": usage.cache_read_tokens,
            },
            finish_reason=response.finish_reason,
        )
        for call in calls:
            self._writer.call(**call)

    def answer_failed(self, number: int, error: BaseException) -> None:
        """Write why a model request failed."""
        self._writer.answer(number, error=str(error))

    def bind(self, call: ToolCallPart, arguments: Mapping[str, Any]) -> None:
        """Write the arguments of a tool call, and its start."""
        self._writer.bound(call.tool_call_id, arguments, ())
        self._writer.started(call.tool_call_id)

    def finish(self, call: ToolCallPart, result: object) -> None:
        """Write the result of a tool call."""
        returned = to_tool_return(result)
        outcome = "failed" if find_failure(returned.metadata) else "done"
        self._writer.result(
            call.tool_call_id, outcome, returned.return_value, artifact=returned.content
        )

    def fail(self, call: ToolCallPart, error: Exception) -> None:
        """Write that a tool answered with an error."""
        self._writer.result(call.tool_call_id, "failed", str(error), error=str(error))

    def end(self, result: RunResult) -> None:
        """Write the end of the run, and close the log."""
        usage = None if result.usage is None else asdict(result.usage)
        reason = "answered" if result.status == "succeeded" else result.error_type or "failed"
        self._writer.end(reason, rounds=self._round, usage=usage, error=result.error)

    def take_decisions(self, approvals: Mapping[str, Approval]) -> None:
        """Write what was decided about the calls that the run has waited for."""
        for call_id, one in approvals.items():
            self._writer.decision(call_id, is_approved=one.approved, reason=one.reason)

    def wait(self, number: int, asked: InputRequest) -> None:
        """Write what the run waits for after a model request, and close the log."""
        calls = [
            {"call_id": call.call_id, "name": call.name, "arguments": call.arguments}
            for call in (*asked.approvals, *asked.results)
        ]
        self._writer.question(number, calls)
        self._writer.end("approval", rounds=number)

    def close(self) -> None:
        """Close the log, also that of a run that was abandoned."""
        self._writer.close()
