"""The tool calls of a round, checked and run at the same time."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass, replace
from threading import Event
from typing import Any

from dify_plugin.core.runtime import Session
from dify_plugin.entities.tool import ToolInvokeMessage

from agent_loop import ToolCall, ToolResult
from agent_tooling import (
    REPEATED_FAILURE,
    TOOL_FAILED,
    TOOL_UNFINISHED,
    FailureMemory,
    ResultBudget,
    bind_arguments,
    call_signature,
    parse_error_text,
    parse_tool_arguments,
    unknown_tool_text,
)
from stream_text import KnownSecrets

from ._clock import Clock
from ._settings import Settings
from ._tool_answers import ToolAnswer, collect, read_answer
from ._tools import Tool, Toolbox


_PARALLEL_CALLS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a tool call.

    Attributes:
        result: What the model reads.
        shown: What goes to the user.
        cause: Why it failed, for Dify's log and nobody else; None if it did not.
    """

    result: ToolResult
    shown: tuple[ToolInvokeMessage, ...] = ()
    cause: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """A tool call that may run."""

    call: ToolCall
    tool: Tool
    arguments: Mapping[str, Any]


class _LateError(Exception):
    """The failure of a tool that had answered something before."""

    def __init__(self, answer: ToolAnswer) -> None:
        super().__init__(answer.text)
        self.answer = answer


class ToolExecutor:
    """What runs tool calls. What a call does wrong never reaches a tool; what a tool does wrong never reaches the model.

    Args:
        session: The session to call tools through.
        toolbox: The tools.
        clock: The run's time.
        settings: How long a tool may be silent, how much it may say, and where its images may lie.
        known: Secrets, which a model may ask for as a tool or a parameter; the sentence that refuses the call may be shown.
    """

    def __init__(
        self,
        session: Session,
        toolbox: Toolbox,
        *,
        clock: Clock,
        settings: Settings,
        known: KnownSecrets,
    ) -> None:
        self._session = session
        self._toolbox = toolbox
        self._clock = clock
        self._settings = settings
        self._known = known
        self._memory = FailureMemory()
        self._budget = ResultBudget(per_result=settings.result_characters)

    def run(self, calls: Sequence[ToolCall], *, keeps_closing_time: bool) -> Iterator[Outcome]:
        """Run the calls at the same time and return what becomes of each as soon as it is known.

        Args:
            calls: The calls of a round.
            keeps_closing_time: Give up in time for a closing call; otherwise at the end of the run's time.
        """
        for outcome in self._run(calls, keeps_closing_time=keeps_closing_time):
            content = self._budget.fit(outcome.result.text)
            yield replace(outcome, result=replace(outcome.result, content=content))

    def _run(self, calls: Sequence[ToolCall], *, keeps_closing_time: bool) -> Iterator[Outcome]:
        prepared = [self._prepare(call) for call in calls]
        yield from (item for item in prepared if isinstance(item, Outcome))
        jobs, repeats = self._set_repeats_apart(
            [item for item in prepared if isinstance(item, _Job)]
        )
        if jobs:
            yield from self._run_jobs(jobs, keeps_closing_time=keeps_closing_time)
        yield from (self._recall(job) or _give_up(job.call) for job in repeats)

    def _set_repeats_apart(self, jobs: Sequence[_Job]) -> tuple[list[_Job], list[_Job]]:
        """Split off the jobs that others of the same round will have answered."""
        counts = Counter[str]()
        due: list[_Job] = []
        repeats: list[_Job] = []
        for job in jobs:
            signature = call_signature(job.call.name, job.arguments)
            counts[signature] += 1
            is_due = counts[signature] <= self._memory.identical_successes
            (due if is_due else repeats).append(job)
        return due, repeats

    def _prepare(self, call: ToolCall) -> _Job | Outcome:
        """Return the call as it may run, or what the model reads because it may not."""
        parsed = parse_tool_arguments(call.arguments)
        if not parsed.ok:
            return self._refuse(call, parse_error_text(parsed.error or ""))
        tool = self._toolbox.tools.get(call.name)
        if tool is None:
            return self._refuse(call, unknown_tool_text(call.name))
        bound = bind_arguments(call.name, tool.parameters, parsed.args, tool.runtime_parameters)
        if not bound.ok:
            return self._refuse(call, bound.error or "")
        job = _Job(call=call, tool=tool, arguments=bound.args)
        return self._recall(job) or job

    def _recall(self, job: _Job) -> Outcome | None:
        """Return what stands in for a call that need not be made again."""
        recalled = self._memory.recall(job.call.name, job.arguments)
        if recalled is None:
            return None
        if recalled == REPEATED_FAILURE:
            return self._refuse(job.call, REPEATED_FAILURE)
        return Outcome(result=ToolResult(call_id=job.call.call_id, content=recalled))

    def _refuse(self, call: ToolCall, text: str) -> Outcome:
        error = self._known.redact(text)
        return Outcome(result=ToolResult(call_id=call.call_id, error=error))

    def _run_jobs(self, jobs: Sequence[_Job], *, keeps_closing_time: bool) -> Iterator[Outcome]:
        # The SDK counts seconds of silence from when a call begins.
        self._session.max_invocation_timeout = self._settings.tool_seconds
        pool = ThreadPoolExecutor(max_workers=min(len(jobs), _PARALLEL_CALLS))
        is_over = Event()
        try:
            open_jobs: dict[Future[ToolAnswer], _Job] = {}
            for job in jobs:
                if not self._seconds_left(keeps_closing_time=keeps_closing_time):
                    yield _give_up(job.call)
                    continue
                open_jobs[pool.submit(self._invoke, job, is_over)] = job
            while open_jobs:
                left = self._seconds_left(keeps_closing_time=keeps_closing_time)
                done, _ = wait(open_jobs, timeout=left, return_when=FIRST_COMPLETED)
                if not done:
                    yield from (_give_up(job.call) for job in open_jobs.values())
                    return
                yield from (self._settle(open_jobs.pop(future), future) for future in done)
        finally:
            # A tool that is still busy cannot be stopped; nobody waits for it any more, nor reads what it says.
            is_over.set()
            pool.shutdown(wait=False, cancel_futures=True)

    def _seconds_left(self, *, keeps_closing_time: bool) -> float:
        clock = self._clock
        return clock.seconds_for_tools if keeps_closing_time else clock.seconds_left

    def _invoke(self, job: _Job, is_over: Event) -> ToolAnswer:
        messages: list[ToolInvokeMessage] = []
        try:
            # Closed, the answer is no longer listened for: what still comes of it is dropped where it arrives.
            with closing(job.tool.invoke(self._session, job.arguments)) as answer:
                collect(answer, messages, is_over=is_over.is_set)
        except Exception as error:
            if not messages:
                raise
            raise _LateError(self._read(messages)) from error
        return self._read(messages)

    def _read(self, messages: Sequence[ToolInvokeMessage]) -> ToolAnswer:
        return read_answer(messages, files_root=self._settings.files_root)

    def _settle(self, job: _Job, future: Future[ToolAnswer]) -> Outcome:
        error = future.exception()
        if error is not None:
            self._memory.record_failure(job.call.name, job.arguments)
            return _fail(job.call, error)
        answer = future.result()
        kept = self._budget.shorten(answer.text)
        self._memory.record_success(job.call.name, job.arguments, kept)
        return Outcome(
            result=ToolResult(call_id=job.call.call_id, content=answer.text), shown=answer.shown
        )


def _give_up(call: ToolCall) -> Outcome:
    result = ToolResult(call_id=call.call_id, error=TOOL_UNFINISHED, is_unfinished=True)
    return Outcome(result=result, cause="no answer within the time that the run has for tools")


def _fail(call: ToolCall, error: BaseException) -> Outcome:
    """Return that the tool failed, and to the log alone why; what the tool had answered before stays."""
    answer = error.answer if isinstance(error, _LateError) else ToolAnswer(text="")
    text = f"{answer.text}\n{TOOL_FAILED}" if answer.text else ""
    reason = error.__cause__ or error
    return Outcome(
        result=ToolResult(call_id=call.call_id, content=text, error=TOOL_FAILED),
        shown=answer.shown,
        cause=f"{type(reason).__name__}: {reason}",
    )
