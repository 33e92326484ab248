"""The workflows: one plays a run whose steps are activities, the other has a run executed as a whole.

A workflow is named by its run's id. It may be begun again at any time, also where Temporal has forgotten it: what was
recorded stands in the server's database.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Final, NoReturn

from temporalio import workflow
from temporalio.exceptions import ApplicationError, FailureError, is_cancelled_exception

from agent_server.executor import EventLimitError, RequestRefusedError, RunResult, Waiting
from agent_server.runs import AnswerConflictError
from agent_server.store import execute_run, failures, find_answer_problems

from ._calls import execute, write
from ._execution import WorkflowExecution, translate
from ._messages import (
    Answer,
    Asked,
    Begin,
    Begun,
    End,
    Ended,
    Summary,
    Wait,
    encode,
)
from ._names import AGENT_RUN, ANSWER, BEGIN, END, WAIT, WHOLE_RUN
from ._players import Player, find_player


_SOON_SECONDS: Final = 0.001
_ENDING_SECONDS: Final = 0.5  # For a run that was cancelled, within the second that is promised.
_CANCELLED: Final = Ended(status="cancelled")


def _find_player() -> Player:
    info = workflow.info()
    return find_player(info.namespace, info.task_queue)


class _Waiting:
    """What both workflows do while their run waits."""

    def __init__(self) -> None:
        self._asked: Asked | None = None
        self._is_answered = False

    @workflow.update(name=ANSWER)
    async def answer(self, given: Answer) -> bool:
        """Take the answer to what the run waits for, and return whether it is new."""
        # Only with the end of this task does the history have the update. Were the answer stored before, and
        # this worker to die, nobody would tell the workflow again: the run does not wait any more.
        await asyncio.sleep(_SOON_SECONDS)
        try:
            is_new = await write(ANSWER, given, bool)
        except FailureError as error:
            # Such as that another answer came first: said as the validator says it.
            raise (error.cause or error) from None
        self._is_answered = True
        return is_new

    @answer.validator
    def check_answer(self, given: Answer) -> None:
        """Refuse an answer to something else, or one that is not complete."""
        if self._asked is None or self._asked.wait_id != given.wait_id:
            _refuse(AnswerConflictError(AnswerConflictError.OTHER_QUESTION))
        if problems := find_answer_problems(self._asked.to_request(), given.given.to_answer()):
            _refuse(RequestRefusedError(*problems))

    def _ask(self, asked: Asked | None) -> None:
        self._asked, self._is_answered = asked, False

    async def _wait(self, player: Player) -> bool:
        """Wait until somebody has answered, and return whether that was in time."""
        _heed_cancellation()
        with suppress(TimeoutError):
            await workflow.wait_condition(
                lambda: self._is_answered, timeout=timedelta(seconds=player.waiting_seconds)
            )
        # An answer that has come just in time may be on its way to the database.
        await workflow.wait_condition(workflow.all_handlers_finished)
        is_answered = self._is_answered
        self._ask(None)
        return is_answered

    @staticmethod
    async def _after_answers(summary: Summary) -> Summary:
        """Return how a run has ended, once the answers that came as it ended have been told so and not that the workflow is gone."""
        await workflow.wait_condition(workflow.all_handlers_finished)
        return summary


def _refuse(error: Exception) -> NoReturn:
    raise ApplicationError(str(error), type=type(error).__name__, non_retryable=True)


@workflow.defn(name=AGENT_RUN)
class AgentRun(_Waiting):
    """A run that is played here, and whose steps are activities."""

    def __init__(self) -> None:
        super().__init__()
        self._execution: WorkflowExecution | None = None
        self._abandoned: Sequence[str] = ()

    @workflow.run
    async def run(self, run_id: str, number: int = 1, told: int = 0) -> Summary:
        """Play a run until it has ended.

        Args:
            run_id: The run.
            number: Which of the workflow's attempts at it this is.
            told: How much it has told in this attempt, in the histories before.
        """
        try:
            return await self._after_answers(await self._run(run_id, number, told))
        except BaseException as error:
            if not _is_cancelled(error):
                raise
            end = End(run_id=run_id, result=_CANCELLED)
            if self._execution is not None:
                held, untold = self._execution.held, self._execution.untold
                await _end(replace(end, held=held, told=untold))
            # Where it has just begun to wait, it is not held any more.
            await _end(end)
            return await self._after_answers(Summary(status="cancelled", abandoned=self._abandoned))

    async def _run(self, run_id: str, number: int, told: int) -> Summary:
        info, player = workflow.info(), _find_player()
        while True:
            begin = Begin(run_id=run_id, owner=f"{info.first_execution_run_id}:{number}")
            begun = await write(BEGIN, begin, Begun)
            self._ask(begun.asked)
            _heed_cancellation()
            if begun.held is not None:
                self._execution = WorkflowExecution(run_id, begun, begun.held, player, told=told)
                summary = await self._play(self._execution, player, number)
                self._execution = None
                if summary is not None:
                    return summary
            if self._asked is None:
                return Summary(status="over")
            if not await self._wait(player):
                return await _expire(run_id)
            number, told = number + 1, 0

    async def _play(
        self, execution: WorkflowExecution, player: Player, number: int
    ) -> Summary | None:
        """Play a run until it has ended, or waits."""
        playing = asyncio.create_task(execute_run(player.executor, execution))
        try:
            await workflow.wait_condition(lambda: playing.done() or execution.must_continue)
        except asyncio.CancelledError:
            self._abandoned = execution.open_steps
            playing.cancel()
            await workflow.wait([playing], timeout=_ENDING_SECONDS)
            raise
        execution.close()
        if not playing.done():
            # Told again in another order, it could not be told from what is new.
            await execution.store_told()
            _heed_cancellation()
            workflow.continue_as_new(args=[execution.run_id, number, execution.told])
        result = playing.result()
        if isinstance(result, Waiting):
            refused = await self._store_wait(execution, result, player)
            if refused is None:
                return None
            result = refused
        end = End(
            run_id=execution.run_id,
            held=execution.held,
            result=_to_ended(result),
            told=execution.untold,
        )
        return await _end(end)

    async def _store_wait(
        self, execution: WorkflowExecution, waiting: Waiting, player: Player
    ) -> RunResult | None:
        """Store that the run waits; return its result if it may not."""
        # Before it is stored: as soon as it is, somebody may answer.
        self._ask(asked := Asked.of(workflow.uuid4().hex, waiting.request))
        wait = Wait(
            held=execution.held, asked=asked, state=encode(waiting.state), told=execution.untold
        )
        try:
            outcome = await write(WAIT, wait, str)
        except FailureError as error:
            limit = translate(error)
            if not isinstance(limit, EventLimitError):
                raise
            self._ask(None)
            return failures.event_limit(limit)
        if outcome != "waiting":
            self._ask(None)
        return failures.too_many_waiting(player.most_waiting) if outcome == "full" else None


@workflow.defn(name=WHOLE_RUN)
class WholeRun(_Waiting):
    """A run that is executed as a whole, by an activity."""

    @workflow.run
    async def run(self, run_id: str) -> Summary:
        """Have a run executed until it has ended."""
        try:
            return await self._after_answers(await self._run(run_id))
        except BaseException as error:
            if not _is_cancelled(error):
                raise
            await _end(End(run_id=run_id, result=_CANCELLED))
            return await self._after_answers(Summary(status="cancelled", abandoned=()))

    async def _run(self, run_id: str) -> Summary:
        player = _find_player()
        while True:
            executed = await execute(run_id, player)
            if executed.asked is None:
                return Summary(status="over")
            self._ask(executed.asked)
            if not await self._wait(player):
                return await _expire(run_id)


def _heed_cancellation() -> None:
    """End a workflow that was cancelled while an activity was done all the same.

    It hears of that once, and where the activity can no longer be cancelled, its result is all that comes of it.
    """
    if workflow.cancellation_reason() is not None:
        raise asyncio.CancelledError


def _is_cancelled(error: BaseException) -> bool:
    """Return whether an error comes of the workflow's being cancelled."""
    return is_cancelled_exception(error) and workflow.cancellation_reason() is not None


async def _expire(run_id: str) -> Summary:
    return await _end(End(run_id=run_id, result=Ended.of(failures.unanswered())))


async def _end(end: End) -> Summary:
    """Store the end of a run, whether or not the workflow is cancelled meanwhile."""
    is_stored = await asyncio.shield(write(END, end, bool))
    return Summary(status=end.result.status if is_stored else "over")


def _to_ended(result: RunResult) -> Ended:
    try:
        result.to_json()
    except (TypeError, ValueError):
        # As if it could not be stored.
        workflow.logger.exception("the result of run %s is no JSON", workflow.info().workflow_id)
        result = failures.internal_error()
    return Ended.of(result)
