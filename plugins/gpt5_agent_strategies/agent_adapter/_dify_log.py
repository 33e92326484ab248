"""A run in Dify's log: rounds, model calls and tool calls, each opened and closed once."""

import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from dify_plugin.entities.agent import AgentInvokeMessage
from dify_plugin.entities.provider_config import LogMetadata

from agent_loop import (
    ModelCallEnded,
    RoundEnded,
    RoundStarted,
    RunCompacted,
    ToolCallEnded,
    ToolCallStarted,
    Usage,
)
from agent_tooling import parse_tool_arguments
from dify_plugin_kit.error_texts import to_plain_text
from stream_text import is_list, is_object, read_member, redact_log_data

from ._open_questions import Question, UserAnswer
from ._plugin_log import log_failure
from ._turn import Turn
from ._usage import read_prompt_cache, to_budget_figures, to_log_metadata


# Calls and results: looking for secrets in more of them at once would hold up other runs.
_MAX_LISTED = 128
_OWN_CALLS = ("function_call", "custom_tool_call")  # The run makes these itself.
_ROUND, _MODEL_CALL, _TOOL_CALL = "round", "model call", "tool call"
_Status = AgentInvokeMessage.LogMessage.LogStatus


class DifyLog:
    """The log messages of one run.

    The administrator decides whether they hold texts, arguments and results, redacted, or only their sizes; and whether
    the end of a call names its provider, for whose icon Dify lists all plugins and tools before anything else is sent.

    Args:
        turn: The turn.
    """

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._identities = turn.toolbox.identities
        self._has_content = turn.settings.logs_content
        self._round: AgentInvokeMessage | None = None
        self._open_logs: dict[str, tuple[AgentInvokeMessage, str]] = {}

    def warn(
        self, label: str, lines: tuple[str, ...], *, about: str = "left_out"
    ) -> AgentInvokeMessage:
        """Log something that the app's builder should look at.

        Args:
            label: The label of the entry.
            lines: The lines of the entry.
            about: The subject of the lines, in one word.
        """
        data = {about: list(lines)} if self._has_content else {f"{about}_count": len(lines)}
        return self._write(label, data, _Status.ERROR)

    def asked(self, question: Question, *, of: str) -> AgentInvokeMessage:
        """Log that a person, who alone can answer, is asked whether calls may be made."""
        facts = {"asked": of, "open_until": _to_time(question.expires_at)}
        return self._note("Approval asked", question, facts)

    def answered(self, answer: UserAnswer) -> AgentInvokeMessage:
        """Log a person's decision about calls, with its time and reason."""
        decisions = list(answer.decisions.values())
        approved = sum(decision.is_approved for decision in decisions)
        facts: dict[str, Any] = {
            "decision": "approved" if approved else "denied" if decisions else "asked again",
            "approved": approved,
            "by": decisions[0].by if decisions else None,
            "decided_at": _to_time(time.time()),
            "reason": answer.reply.text,
            "changed": list(answer.changed),
        }
        return self._note("Approval decided", answer.question, facts)

    def _note(
        self, label: str, question: Question, facts: Mapping[str, object]
    ) -> AgentInvokeMessage:
        about = {
            "code": question.code,
            "asked_at": _to_time(question.asked_at),
            "calls": [self._identities[call.tool].tool_name for call in question.calls],
            **facts,
        }
        if not self._has_content:
            about = {**about, "calls": len(question.calls), "reason": None}
        data = {name: value for name, value in about.items() if value not in (None, [])}
        return self._write(label, data, _Status.SUCCESS)

    def _write(
        self, label: str, data: Mapping[str, Any], status: _Status, **rest: Any
    ) -> AgentInvokeMessage:
        data = self._redact(data)
        return self._turn.strategy.create_log_message(label, data, status, **rest)

    def _redact(self, data: object) -> Any:
        return redact_log_data(data, known=self._turn.known)

    def start_round(self, event: RoundStarted) -> Iterator[AgentInvokeMessage]:
        """Open a round and the model call in it."""
        model = self._turn.parameters.models[event.model or ""]
        self._round = None  # A round is not part of the previous one.
        self._round = self._open(_ROUND, f"ROUND {event.round}")
        yield self._round
        yield self._open(_MODEL_CALL, f"{model.name} Thought", provider=model.provider)

    def end_model_call(self, event: ModelCallEnded) -> Iterator[AgentInvokeMessage]:
        """Close the model call."""
        content: dict[str, Any] = {
            "output": event.text,
            "tool_calls": [
                {"name": call.name, "arguments": call.arguments}
                for call in event.tool_calls[:_MAX_LISTED]
            ],
        }
        counts: dict[str, Any] = {
            "response_chars": len(event.text),
            "tool_call_count": len(event.tool_calls),
            "tool_calls": [
                {
                    "name": call.name,
                    "argument_count": len(parse_tool_arguments(call.arguments).args),
                }
                for call in event.tool_calls[:_MAX_LISTED]
            ],
        }
        if ran := _server_calls(event.opaque_body):
            content["server_tools"] = ran
            counts["server_tools"] = [call["type"] for call in ran]
        if cache := read_prompt_cache(event.opaque_body):
            content["prompt_cache"] = counts["prompt_cache"] = cache
        yield self._close(_MODEL_CALL, content, counts, error=event.error, usage=event.usage)

    def start_tool_call(self, event: ToolCallStarted) -> Iterator[AgentInvokeMessage]:
        """Open a tool call, under the name of the tool that is really called."""
        made = event.made or event.call
        identity = self._identities.get(made.name)
        yield self._open(
            f"{_TOOL_CALL} {event.call.call_id}",
            f"CALL {made.name}",
            provider=identity.provider if identity else "",
            data={"tool_call_input": event.call.arguments},
        )

    def end_tool_call(self, event: ToolCallEnded) -> Iterator[AgentInvokeMessage]:
        """Close a tool call; only this entry says why it failed."""
        call, result = event.call, event.result
        content = {
            "tool_call_id": call.call_id,
            "tool_call_name": call.name,
            "tool_call_input": call.arguments,
            "tool_response": result.text,
        }
        counts = {
            "tool_call_id": call.call_id,
            "tool_call_name": call.name,
            "response_chars": len(result.text),
            "is_error": result.error is not None,
        }
        error = result.text if result.error is not None else None
        if error is not None and result.cause is not None:
            # Other plugins' errors arrive as JSON with tracebacks, and an app's users get this log, too.
            log_failure(f"the tool {call.name}", str(result.cause), self._turn.known)
            error = (
                f"{type(result.cause).__name__}: {to_plain_text(str(result.cause), self._redact)}"
            )
        yield self._close(f"{_TOOL_CALL} {call.call_id}", content, counts, error=error)

    def compacted(self, event: RunCompacted) -> AgentInvokeMessage:
        """Log that the run was compacted, so that the next request cannot use the prompt cache."""
        figures = {
            "by": event.kind,
            "messages_replaced": event.replaced,
            "with_reasoning": event.reasoning_dropped,
            "size_before": event.tokens_before,  # A name with `token` in it would look like a secret's.
            "size_after": event.tokens_after,
            "reason": self._describe(event.error),
        }
        return self._write(
            "Conversation made shorter",
            {key: value for key, value in figures.items() if value is not None},
            _Status.SUCCESS if event.error is None else _Status.ERROR,
            parent=self._round,
            metadata=to_log_metadata(event.usage),
        )

    def end_round(self, event: RoundEnded) -> Iterator[AgentInvokeMessage]:
        """Close a round."""
        content: dict[str, Any] = {
            "llm_response": event.answer,
            "tool_responses": [
                {"tool_call_id": result.call_id, "tool_response": result.text}
                for result in event.results[:_MAX_LISTED]
            ],
        }
        counts: dict[str, Any] = {
            "llm_response_chars": len(event.answer),
            "tool_response_count": len(event.results),
            "tool_error_count": sum(result.error is not None for result in event.results),
        }
        if event.budgets:
            content["budgets"] = counts["budgets"] = to_budget_figures(event.budgets)
        if _ROUND in self._open_logs:  # The round of a question was logged in an earlier turn.
            yield self._close(_ROUND, content, counts, error=event.error, usage=event.usage)

    def _open(
        self, name: str, label: str, *, provider: str = "", data: Mapping[str, Any] | None = None
    ) -> AgentInvokeMessage:
        log = self._write(
            # The model writes the name in it, and may put anything there.
            self._redact(label),
            data or {} if self._has_content else {},
            _Status.START,
            parent=self._round,
            metadata={LogMetadata.STARTED_AT: time.perf_counter()},
        )
        self._open_logs[name] = (log, provider)
        return log

    def _close(
        self,
        name: str,
        content: dict[str, Any],
        counts: dict[str, Any],
        *,
        error: str | None,
        usage: Usage | None = None,
    ) -> AgentInvokeMessage:
        log, provider = self._open_logs.pop(name)
        data = {"output": content} if self._has_content else {"output_summary": counts}
        metadata = _build_times(log) | (to_log_metadata(usage) if usage else {})
        # Never at the start of a call, which would then wait for Dify to look the icon up.
        if provider and self._turn.settings.logs_icons:
            metadata[LogMetadata.PROVIDER] = provider
        return self._turn.strategy.finish_log_message(
            log=log,
            status=_Status.ERROR if error else _Status.SUCCESS,
            error=self._describe(error),
            data=self._redact(data),
            metadata=metadata,
        )

    def _describe(self, error: str | None) -> str | None:
        if error is None:
            return None
        return self._redact(error) if self._has_content else "failed"


def _to_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _server_calls(body: object) -> list[dict[str, Any]]:
    """Return the calls that the model's server has run itself: code, logs, searches, and images without their bytes."""
    items = read_member(body, "responses_output")
    return [
        {key: value for key, value in call.items() if key not in ("id", "result")}
        for call in filter(is_object, items if is_list(items) else ())
        if str(call.get("type")).endswith("_call") and call["type"] not in _OWN_CALLS
    ][:_MAX_LISTED]


def _build_times(log: AgentInvokeMessage) -> dict[LogMetadata, Any]:
    opened = log.message.metadata if isinstance(log.message, AgentInvokeMessage.LogMessage) else {}
    times = dict(opened or {})
    times[LogMetadata.FINISHED_AT] = finished_at = time.perf_counter()
    times[LogMetadata.ELAPSED_TIME] = finished_at - times[LogMetadata.STARTED_AT]
    return times
