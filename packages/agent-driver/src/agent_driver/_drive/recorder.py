"""Writing a drive into a run log."""

from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from agent_driver._tools.calls import Job, Sorted, ToolTimeoutError
from agent_driver._tools.guardrails import Verdict
from agent_loop import (
    AgentRun,
    AskApproval,
    CallModel,
    Decision,
    Event,
    Finished,
    Input,
    ModelCallEnded,
    ModelDelta,
    RoundEnded,
    RunCompacted,
    ToolCallEnded,
    ToolCallStarted,
    ToolResult,
)
from agent_tooling import Tool, ToolOutput, parse_tool_arguments
from run_log import Checked, Outcome, RunFeed, RunWriter


class Recorder:
    """A writer of one drive into a run log.

    Args:
        log: The log.
        run: The run.
        tools: The tools that can be called; the values of their hidden parameters stand nowhere in the log.
        about: What else the first record says of this run.
        resumes: The name of the run that has stopped and continues in this one.
    """

    def __init__(
        self,
        log: RunFeed,
        run: AgentRun,
        tools: Iterable[Tool],
        *,
        about: Mapping[str, object] | None = None,
        resumes: str | None = None,
    ) -> None:
        self._log = log
        most = run.max_request_bytes  # Whoever plays the run again needs it.
        size = {} if most is None else {"max_request_bytes": most}
        self._about = {**size, **(about or {})}
        self._resumes = resumes
        self._tools = tuple(tools)
        self._writer: RunWriter | None = None
        # Of the request that was asked last. The threads of tools add to `_begun`; adding one id
        # to a set needs no lock.
        self._round = 0
        self._answer: dict[str, Any] = {}
        self._begun: set[str] = set()
        self._called: dict[str, str] = {}  # by which name the model has called

    @property
    def writer(self) -> RunWriter:
        """The log of this run, which begins with its first record."""
        if self._writer is None:
            self._writer = self._log.begin(self._about, resumes=self._resumes)
            self._writer.hide(value for tool in self._tools for value in tool.hidden.values())
        return self._writer

    @property
    def name(self) -> str:
        """The name of the run in the log."""
        return self.writer.path.stem

    def for_agent(
        self, job: Job, tools: Iterable[Tool], run: AgentRun, *, resumes: str | None = None
    ) -> "Recorder":
        """Return a recorder for an agent that is called as a tool, with a log of its own that names this run and the call.

        What is hidden from one of the models stands in neither log.
        """
        tools = (*tools, *self._tools)
        self.writer.hide(value for tool in tools for value in tool.hidden.values())
        caller = {"run": self.name, "call_id": job.call.call_id}
        about = {"agent": job.tool.name, "called_by": caller}
        return Recorder(self._log, run, tools, about=about, resumes=resumes)

    def take(self, received: Input | None, events: Iterable[Event]) -> None:
        """Write an input of the run and the events that followed."""
        if isinstance(received, ModelDelta):
            self._take_delta(received)
        for event in events:
            self._take_event(event)

    def _take_event(self, event: Event) -> None:
        match event:
            case CallModel():
                self._take_request(event)
            case ModelCallEnded():
                self._end_answer(event)
            case ToolCallStarted(call=call):
                self._called[call.call_id] = call.name
                self.writer.call(call.call_id, call.name, call.arguments)
            case ToolCallEnded(call=call, result=result, is_own=is_own):
                self._take_result(call.call_id, result, is_own=is_own)
            case RunCompacted():
                self._take_compaction(event)
            case RoundEnded(budgets=budgets):
                self.writer.budgets({use.name: (use.used, use.maximum) for use in budgets})
            case AskApproval(round=number, calls=calls):
                self.writer.question(number, calls)
                self.writer.end("approval", rounds=number)
            case Finished():
                self._finish(event)
            case _:
                pass

    def take_decisions(self, decisions: Iterable[Decision]) -> None:
        """Write what a person has decided about the calls that the run has stopped for."""
        for decision in decisions:
            self.writer.decision(
                decision.call_id,
                is_approved=decision.is_approved,
                by=decision.by,
                reason=decision.refusal or decision.reason,
            )

    def take_sorted(self, sorted_: Sorted) -> None:
        """Write the arguments that the tools of a round are called with."""
        for job in (*sorted_.jobs, *sorted_.repeats):
            names = list(_iter_hidden_names(job))
            self.writer.hide(job.args.get(name) for name in names)
            call_id = job.call.call_id
            tool = None if job.tool.name == self._called.get(call_id) else job.tool.name
            self.writer.bound(call_id, job.args, [*names, *job.tool.hidden], tool=tool)

    def take_guardrail(
        self, name: str, verdict: Verdict, *, checked: Checked, call_id: str | None
    ) -> None:
        """Write what a guardrail has made of what it checked."""
        self.writer.guardrail(
            name, verdict.outcome, checked=checked, reason=verdict.reason, call_id=call_id
        )

    def begin(self, job: Job) -> None:
        """Write that a tool has started; may be called from any thread."""
        self._begun.add(job.call.call_id)
        self.writer.started(job.call.call_id)

    def retry(self, job: Job, number: int, output: ToolOutput) -> None:
        """Write that a try of a call came to nothing, and that another follows; may be called from any thread."""
        outcome: Outcome = "unfinished" if isinstance(output.cause, ToolTimeoutError) else "failed"
        call_id, error = job.call.call_id, output.error
        self.writer.retry(call_id, number, outcome, error=error, cause=output.cause)

    @contextmanager
    def ended(self) -> Generator[None]:
        """End the log after the block; an error is written first, except when the generator was closed."""
        try:
            yield
        # Whoever closes a drive has had enough of it; that is no error.
        except GeneratorExit:
            raise
        except BaseException as error:
            self.writer.error(error)
            raise
        finally:
            self.writer.close()

    def _take_request(self, call: CallModel) -> None:
        self._round, self._answer = call.round, {"files": []}
        self._begun.clear()
        self._called.clear()
        settings = {
            "model": call.model,
            "tools": [_show_tool(tool) for tool in call.tools],
            "tool_choice": call.tool_choice,
            "answer_schema": call.answer_schema,
            "allowed_tools": call.allowed_tools,
            "hosted_tools": call.hosted_tools,
        }
        self.writer.request(
            call.round,
            call.messages,
            settings,
            is_closing=call.is_closing,
            wait_seconds=call.wait_seconds,
            left_out=call.left_out,
            is_compaction=call.is_compaction,
        )

    def _take_compaction(self, event: RunCompacted) -> None:
        self.writer.compaction(
            self._round,
            event.kind,
            replaced=event.replaced,
            reasoning_dropped=event.reasoning_dropped,
            tokens_before=event.tokens_before,
            tokens_after=event.tokens_after,
            usage=event.usage,
            error=event.error,
        )

    def _take_delta(self, delta: ModelDelta) -> None:
        if delta.text or delta.tool_calls or delta.files:
            self.writer.delta(self._round, delta.text, phase=delta.phase)
            self._answer["files"] += delta.files
        if delta.opaque_body is not None:
            self._answer["opaque_body"] = delta.opaque_body
        if delta.finish_reason is not None:
            self._answer["finish_reason"] = delta.finish_reason

    def _end_answer(self, ended: ModelCallEnded) -> None:
        self.writer.answer(
            ended.round,
            calls=ended.tool_calls,
            usage=ended.usage,
            error=ended.error,
            **self._answer,
        )

    def _take_result(self, call_id: str, result: ToolResult, *, is_own: bool) -> None:
        # A result without a start came from memory, or is a refusal.
        was_made = is_own or call_id in self._begun
        outcome: Outcome = "done" if was_made else "recalled"
        if result.error is not None:
            outcome = "failed" if was_made else "refused"
        if result.is_unfinished:
            outcome = "unfinished"
        self.writer.result(
            call_id,
            outcome,
            result.content,
            error=result.error,
            cause=result.cause,
            artifact=result.artifact,
        )

    def _finish(self, event: Finished) -> None:
        self.writer.end(
            event.reason,
            rounds=event.rounds,
            usage=event.usage,
            error=event.error,
            budget=event.budget,
        )


def _show_tool(tool: object) -> object:
    """Return a tool as the model sees it."""
    if not isinstance(tool, Tool):
        return tool
    return {"name": tool.name, "description": tool.description, "parameters": tool.parameters}


def _iter_hidden_names(job: Job) -> Iterator[str]:
    """Yield the names of arguments that the model does not see and has not written."""
    shown: Mapping[str, Any] = job.tool.parameters.get("properties", {})
    written = parse_tool_arguments(job.call.arguments).args
    for name, value in job.args.items():
        if name not in shown and (name not in written or written[name] != value):
            yield name
