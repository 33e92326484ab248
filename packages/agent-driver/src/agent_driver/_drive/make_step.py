"""Making one step of a run that is played elsewhere."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from itertools import takewhile
from typing import Any, Final

from agent_driver._answers import is_end, name_piece
from agent_driver._declare.declaration import Declaration, find_agent
from agent_driver._declare.drive_settings import DriveSettings
from agent_driver._declare.tool_options import for_agent, validate_tools
from agent_driver._steps.requests import StepRequest
from agent_driver._steps.steering import Steers
from agent_driver._steps.stepper import Stepper
from agent_driver._steps.steps import StepError, StepKey, StepWork
from agent_driver._time import StepClock
from agent_driver._tools.calls import Job
from agent_driver._tools.guardrails import GuardrailCall, Guards
from agent_loop import (
    AgentRun,
    CallModel,
    Event,
    MessageError,
    ModelCallEnded,
    ModelDone,
    ShowFile,
    ShowReasoning,
    ShowText,
    ToolCall,
)
from agent_tooling import Tool

from .async_drive import async_call_agent, async_iter_answer
from .async_side import AsyncRunningTools, async_ask_guardrail, async_iter_recorded
from .setup import Setup, offer_tools


type OnEvent = Callable[[Event], Awaitable[None]]
"""What hears the events of a step."""

type ReadSteered = Callable[[int], Awaitable[Sequence[object]]]
"""Returns what a run was told after so many."""

# What the round of a step does not need: whether a request fits was decided where it was built.
_UNBOUND: Final = {"window": None, "budgets": None, "max_request_bytes": None}


async def make_step(
    declared: Declaration,
    request: StepRequest,
    *,
    deps: object,
    on_event: OnEvent | None,
    read_steered: ReadSteered | None,
) -> bytes:
    """Make a step, as `Agent.make_step` says.

    It is the only step of a drive of its own, so that it is made and recorded as every other.
    """
    steps = _One(read_steered)
    maker = _Maker(declared, request, deps, steps)
    try:
        await maker.make(on_event)
    except StepError as error:
        raise error.__cause__ or error from None
    if steps.record is None:
        # A model's client that says itself that the run is cancelled: nothing of that is recorded.
        raise asyncio.CancelledError
    return steps.record


class _One:
    """The steps of a drive that makes one."""

    def __init__(self, read_steered: ReadSteered | None) -> None:
        self.record: bytes | None = None
        self._read_steered = read_steered

    async def read_steered(self, after: int, /) -> Sequence[object]:
        return () if self._read_steered is None else await self._read_steered(after)

    async def step(self, _: StepKey, work: StepWork, /) -> bytes:
        self.record = await work()
        return self.record


class _Maker:
    """A maker of one step.

    Args:
        root: The outermost agent of the run that has asked for it.
        request: The step.
        deps: What tools get by their `Context`.
        steps: Where it is recorded.

    Raises:
        TypeError: If `deps` are not of the type that a tool takes.
        ValueError: If the agent has not what the step calls.
    """

    def __init__(self, root: Declaration, request: StepRequest, deps: object, steps: _One) -> None:
        self._request = request
        # The log is written where the run is played.
        options: dict[str, Any] = {**root.drive, "deps": deps, "log": None}
        settings = DriveSettings(root.build_run(()), root.models.call, root.tools, **options)
        validate_tools(root.tools.values(), settings)
        declared = root
        for name in request.agents:
            declared = _find_agent(name, declared)
            settings = for_agent(settings, declared.drive)
        self._declared = declared
        guards = Guards(guardrails=declared.guardrails)
        self._offering = declared.build_run(())
        calls = offer_tools(self._offering, declared.tools, settings, guards)
        run = _build_round(declared, request)
        build_clock = partial(
            StepClock,
            budget=settings.time_budget,
            may_retry=request.may_retry,
            read=asyncio.get_running_loop().time,
        )
        # Nothing but this waits for the record, so it does that however late the agent is.
        steers = Steers(run, request.steered)
        stepper = Stepper(steps, run, build_clock(replace(request.clock, end=None)), steers)
        clock = build_clock(request.clock)
        self._setup = Setup(
            run=run, settings=settings, calls=calls, guards=guards, clock=clock, steps=stepper
        )

    async def make(self, on_event: OnEvent | None) -> None:
        """Make the step."""
        match self._request.call:
            case CallModel() as call:
                await self._call_model(call, on_event)
            case ToolCall() as call:
                await self._call_tool(call)
            case call:
                await self._ask_guardrail(call)

    async def _call_model(self, call: CallModel, on_event: OnEvent | None) -> None:
        run, is_shown = self._setup.run, self._request.kind == "model"
        run.start()
        async with aclosing(self._iter_answer(call)) as pieces:
            index = -1
            async for received in pieces:
                index += 1
                # A summary is not shown. How a failed answer ends, the run itself shows.
                if not is_shown or (is_end(received) and not isinstance(received, ModelDone)):
                    continue
                try:
                    events = run.feed(received)
                except MessageError as error:
                    raise name_piece(error, index) from None
                for event in _iter_shown(events):
                    if on_event is not None:
                        await on_event(event)

    def _iter_answer(self, call: CallModel) -> AsyncGenerator[Any]:
        offered = {tool.name: tool for tool in self._offering.tools}
        settings, schema = self._offering.settings, self._offering.settings.answer_schema
        whole = replace(
            call,
            messages=self._request.messages,
            tools=tuple(_find(name, offered) for name in call.tools),
            allowed_tools=settings.allowed_names,
            answer_schema=None if schema is None or call.is_compaction else schema.schema,
        )
        ask = partial(async_iter_answer, self._setup, self._declared.models.call, whole)
        return async_iter_recorded(self._setup, whole, ask)

    async def _call_tool(self, call: ToolCall) -> None:
        args = self._request.args or {}
        tool = _find(call.name, self._declared.tools)
        job = Job(call=call, tool=tool, args=args, shown=args, dropped=())
        tools = AsyncRunningTools(self._setup, (), async_call_agent)
        seconds = self._setup.clock.patience(self._setup.clock.seconds_for_tools(self._setup.run))
        timer = None
        if seconds is not None:
            timer = asyncio.get_running_loop().call_later(seconds, tools.end)
        try:
            await tools.call(job)
        finally:
            if timer is not None:
                timer.cancel()
            tools.abandon()

    async def _ask_guardrail(self, call: GuardrailCall) -> None:
        value = self._request.messages if call.checked == "input" else call.value
        if not 0 <= call.index < len(getattr(self._declared.guardrails, call.checked)):
            name = f"{call.checked}.{call.index}"
            raise ValueError(f"request: expected guardrails of the agent, and it has no {name}")
        await async_ask_guardrail(self._setup, replace(call, value=value))


def _build_round(declared: Declaration, request: StepRequest) -> AgentRun:
    """Return a run whose only round shows what the run's round would."""
    call, changes = request.call, dict[str, Any](_UNBOUND)
    if isinstance(call, CallModel):
        # All that the number of a round decides here is whether it is the last.
        is_last = call.round >= declared.run["maximum_iterations"]
        changes["maximum_iterations"] = 1 if is_last else 3
        if call.model != declared.run["model"]:  # The fallback is asked, and there is no other.
            changes["fallback"] = None
    return AgentRun((), **{**declared.run, **changes})


def _iter_shown(events: Iterable[Event]) -> Iterable[Event]:
    """Return what a round shows of an answer; what is said behind it, such as that there is none, the run itself says."""
    answered = takewhile(lambda event: not isinstance(event, ModelCallEnded), events)
    return (event for event in answered if isinstance(event, ShowText | ShowReasoning | ShowFile))


def _find(name: Any, tools: Mapping[str, Tool]) -> Tool:
    if name not in tools:
        raise ValueError(f"request: expected tools of the agent, and it has no {name!r}")
    return tools[name]


def _find_agent(name: str, declared: Declaration) -> Declaration:
    if (agent := find_agent(_find(name, declared.tools))) is not None:
        return agent
    raise ValueError(f"request: expected agents among the tools, and {name!r} is none")
