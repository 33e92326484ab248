"""The loop that plays a run: it makes model calls and runs tools. Waiting, cancelling and reading are in `async_side`."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Any

from agent_driver._answers import asked_by, is_decision, is_end, name_piece, to_failure, to_input
from agent_driver._declare.drive_settings import DriveSettings, takes_settings
from agent_driver._tools.guardrails import GuardrailCall, Verdict
from agent_loop import (
    AgentEvent,
    AgentWaiting,
    AnswerChecked,
    CallModel,
    CheckAnswer,
    Event,
    Failure,
    MessageError,
    ModelDone,
    RunTools,
    ToolResult,
    read_user_message,
)
from agent_tooling import ToolOutput

from .agents import AgentCall
from .async_side import (
    AsyncRunningTools,
    async_ask_guardrail,
    async_end_sessions,
    async_iter_recorded,
    async_prepare,
    async_read_answer,
    async_receive_last,
    async_sleep,
)
from .running import Running
from .setup import Setup


@takes_settings(DriveSettings)
def adrive(settings: DriveSettings) -> AsyncGenerator[Event]:
    """Play a run to its end, and yield every event as it happens.

    As `drive`, in the running event loop: tools with `async` run as tasks, the others in threads, and so does a model
    whose answer is an ordinary iterable. When the task that reads the events is cancelled, or the generator is closed
    with `aclose`, everything that runs is let go of.

    Args:
        settings: The fields of `DriveSettings`, each as an argument: `run`, `model` and `tools` by place or name, the others by name.

    Raises:
        LocalProtocolError: If the run has started already.
        DeclarationError: If something among the tools is no tool and cannot be made one, or an approval rule names no
            tool, or a path that its tool cannot have.
        SnapshotError: If what is to be resumed cannot be, or a message of a run that stops for approval cannot be written as JSON.
        TypeError: If an argument is of a kind that cannot be it.
        ValueError: If two tools have one name, a number is under 1, the key is missing, or there is not one decision
            for each call that waits; if a run with `max_cost` has a model that says that it has no price.
        MessageError: If what the model's client gives cannot be read; it names the piece, such as `answer[2].text`.
    """
    setup = async_prepare(settings)
    return _play(setup, settings.model)


async def async_call_agent(
    call: AgentCall, put: Callable[[AgentEvent], Any]
) -> ToolOutput | AgentWaiting:
    """Play an agent to its end."""
    try:
        async with aclosing(_play(call.setup, call.models.call)) as events:
            async for event in events:
                put(call.answer.take(event))
    finally:
        await async_end_sessions(call.models)
    return call.read()


async def async_iter_answer(
    setup: Setup, model: Callable[[CallModel], Any], call: CallModel
) -> AsyncGenerator[Any]:
    """Call the model and yield inputs for the run: the pieces of the answer, then its end."""
    clock = setup.clock
    # After a cancel no model is called; the failure takes the way of any answer.
    is_wanted = await async_sleep(call.wait_seconds, clock)
    watch = clock.watch(call, setup.run)
    pieces = async_read_answer(model if is_wanted else clock.cancel, call, clock, watch)
    try:
        async with aclosing(pieces):
            async for piece in pieces:
                received = to_input(piece)
                watch.take(received)
                yield received
                if is_end(received):
                    return
    except Exception as error:  # noqa: BLE001 - whatever the model's client raises
        yield to_failure(error)
    else:
        yield watch.end() or ModelDone()


async def _play(setup: Setup, model: Callable[[CallModel], Any]) -> AsyncGenerator[Event]:
    run, clock = setup.run, setup.clock
    with setup.logged():
        clock.tell(run)
        stop = await _check_input(setup) or await _steer(setup)
        events = setup.start() if stop is None else setup.feed(stop)
        for event in events:
            yield event
        action = asked_by(events)
        while action is not None:
            inputs = _iter_inputs(setup, model, action)
            action = None
            async with aclosing(inputs):
                index = -1
                async for received in inputs:
                    index += 1
                    # It belongs to the run of an agent, which has been fed with it already.
                    if isinstance(received, AgentEvent):
                        yield received
                        continue
                    # The run decides next, and reads no clock.
                    fed = received
                    if is_decision(received):
                        clock.tell(run)
                        fed = await _steer(setup) or received
                    try:
                        events = setup.feed(fed)
                    except MessageError as error:
                        raise name_piece(error, index) from None
                    for event in setup.guards.withhold(fed, events):
                        yield event
                    action = asked_by(events)
                    if run.state == "finished":  # with a result, say, that came with the cancel
                        break


def _iter_inputs(
    setup: Setup, model: Callable[[CallModel], Any], action: CallModel | RunTools | CheckAnswer
) -> AsyncGenerator[Any]:
    """Do what the run asks for, and yield what it is fed with."""
    if isinstance(action, CallModel):
        return async_iter_recorded(setup, action, partial(async_iter_answer, setup, model, action))
    if isinstance(action, RunTools):
        return _iter_results(setup, action)
    return _iter_check(setup, action)


async def _check_input(setup: Setup) -> Failure | None:
    """Let the guardrails check what a run begins with; return the failure of a run that they stop."""
    guardrails = () if setup.decisions else setup.guards.guardrails.input
    for index, guardrail in enumerate(guardrails):
        call = GuardrailCall(checked="input", index=index, value=setup.run.messages)
        verdict = await _judge_input(setup, guardrail, call)
        if verdict.reason is not None:
            return Failure(message=verdict.reason, reason="guardrail")
        if verdict.outcome == "changed":
            setup.run.rewrite(verdict.value)
    return None


async def _judge_input(
    setup: Setup, guardrail: Callable[[Any], Any], call: GuardrailCall
) -> Verdict:
    said = await async_ask_guardrail(setup, call)
    return setup.guards.judge(guardrail, call.value, said, checked="input")


async def _steer(setup: Setup) -> Failure | None:
    """Tell the run what was said to it, once the guardrails have checked that; return the failure of a run that they stop."""
    # Meanwhile it may be told more.
    while steered := setup.take_steered():
        for position, one in enumerate(steered):
            messages = one.messages
            for index, guardrail in enumerate(setup.guards.guardrails.input):
                call = GuardrailCall(
                    checked="input", index=index, value=messages, number=one.number
                )
                verdict = await _judge_input(setup, guardrail, call)
                if verdict.reason is not None:
                    for unread in steered[position:]:
                        setup.feed(unread)
                    return Failure(message=verdict.reason, reason="guardrail")
                messages = tuple(map(read_user_message, verdict.value))
            setup.feed(replace(one, messages=messages))
    return None


async def _iter_check(setup: Setup, asked: CheckAnswer) -> AsyncGenerator[Any]:
    """Yield what the guardrails have made of the last answer."""
    yield await _check_answer(setup, asked)


async def _check_answer(setup: Setup, asked: CheckAnswer) -> AnswerChecked:
    schema = setup.run.settings.answer_schema
    value, is_changed = asked.answer if schema is None else asked.value, False
    for index, guardrail in enumerate(setup.guards.guardrails.answer):
        call = GuardrailCall(checked="answer", index=index, value=value)
        said = await async_ask_guardrail(setup, call)
        verdict = setup.guards.judge(guardrail, value, said, checked="answer")
        if verdict.reason is not None:
            return AnswerChecked(refusal=verdict.reason)
        value, is_changed = verdict.value, is_changed or verdict.outcome == "changed"
    if not is_changed:
        return AnswerChecked()
    if schema is None:
        return AnswerChecked(answer=str(value))
    checked = schema.check(schema.to_text(value))
    if checked.problem is not None:
        return AnswerChecked(refusal=f"A guardrail's answer is not valid: {checked.problem}")
    return AnswerChecked(answer=checked.text, value=checked.value)


async def _iter_results(setup: Setup, request: RunTools) -> AsyncGenerator[Any]:
    """Run the tools of a round and yield their results and the events of agents as they come."""
    clock = setup.clock
    sorted_ = setup.sort(request)
    # These cost nothing, and come even where there is no time for tools.
    for result in sorted_.answered:
        yield result
    running = Running(setup, sorted_)
    tools = AsyncRunningTools(setup, running.due, async_call_agent)
    results: list[ToolResult] = []
    try:
        while running.waiting and not clock.is_cancelled:
            left = clock.seconds_for_tools(setup.run)
            if left == 0:
                break
            if (update := await tools.receive(clock.patience(left))) is not None:
                for taken in running.take(update):
                    yield taken
        is_cancelled = clock.is_cancelled
        async with aclosing(async_receive_last(setup, running, tools)) as last:
            async for taken in last:
                # After a cancel their results go along with the failure.
                if is_cancelled and isinstance(taken, ToolResult):
                    results.append(taken)
                else:
                    yield taken
    finally:
        # Also where the drive is closed in the middle of a round.
        tools.abandon()
    if is_cancelled:
        yield replace(clock.failure, results=tuple(results))
    else:
        for result in running.end():
            yield result
