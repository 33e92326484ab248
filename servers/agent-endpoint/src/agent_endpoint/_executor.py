"""The executor that runs agents of agent-driver as runs of an agent server."""

import asyncio
import io
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path as Folder
from typing import Any, Final

from agent_driver import Agent, AskApproval, Decision, Result, StepError, StepKey
from agent_loop import MessageError, SnapshotError, iter_dumped_messages, read_user_message
from agent_server.executor import (
    AgentDescription,
    Execution,
    InputAnswer,
    InputRequest,
    JsonObject,
    Resumption,
    RunResult,
    StepExecution,
    StoredEvent,
    Turn,
    UnknownAgentError,
    Waiting,
    WaitingCall,
)
from agent_server.http import are_parts, check_schemas, read_content, refuse
from agent_server.logs import RunFeeds
from stream_text import has_many_values

from ._apart import ApartSteps, StepMaker, read_steered, to_message
from ._emitter import SHOWN, Emitter, Path, to_usage
from ._forms import find_difference
from ._requests import HALVES, AgentRequest, read_request


# A snapshot is kept by the server alone, in its database; nobody else can change it, and the server says how long it is good.
_SNAPSHOT_KEY: Final = b"agent-endpoint: kept by the server"
_SNAPSHOT_SECONDS: Final = 1e9


class AgentExecutor:
    """An executor of agents, each of whose model calls and tool calls is a step.

    A run takes `input`, a text or items in the form of the Responses API, `instructions` that stand behind the agent's
    own, and `tools`, functions that the client calls itself. Its output is the answer, a text or the JSON of the
    agent's answer type. It waits where a person has to approve calls, and where the client has calls to make.

    Args:
        agents: The agents by the names under which they are served.
        deps: What the tools of an agent get by their `Context`, by the agent's name: the same for all of its runs.
        run_logs: Folder for a log of each attempt, with a folder for each tenant; None for no logs, or those that an agent writes itself.
        traces: Whether attempts are reported as spans, to the provider that the process has set.
    """

    def __init__(
        self,
        agents: Mapping[str, Agent[Any, Any]],
        *,
        deps: Mapping[str, Any] | None = None,
        run_logs: Folder | None = None,
        traces: bool = False,
    ) -> None:
        self._agents = dict(agents)
        self._deps = dict(deps or {})
        self._feeds = RunFeeds(self.name, run_logs, traces=traces)
        self._maker = StepMaker()
        self._described = [
            AgentDescription(name=name, version=agent.fingerprint)
            for name, agent in self._agents.items()
        ]

    @property
    def name(self) -> str:
        """The name of the system."""
        return "agent-endpoint"

    @property
    def version(self) -> str:
        """The version of the recorded steps; each agent has one of its own besides."""
        return "1"

    def agents(self) -> Sequence[AgentDescription]:
        """Return the agents."""
        return self._described

    def check(self, agent: str, request: JsonObject) -> JsonObject:
        """Return the request unchanged if the agent takes it.

        Raises:
            UnknownAgentError: If there is no such agent.
            RequestRefusedError: If the agent does not take it.
        """
        if "history" in request:
            raise refuse("history", "expected to be absent: the server sets it", status=400)
        return self._check(agent, request)

    def begin_turn(self, agent: str, turn: Turn) -> JsonObject:
        """Return the request for a run that is a turn of a conversation.

        Raises:
            UnknownAgentError: If there is no such agent.
            RequestRefusedError: If the agent does not take it.
        """
        asked: JsonObject = {
            "input": list(turn.input),
            "instructions": turn.instructions,
            "tools": list(turn.tools),
            "history": None if turn.state is None else turn.state.decode(errors=HALVES),
        }
        checked = self._check(agent, asked)
        _check_format(self._agents[agent], turn.text_format)
        return checked

    def check_answer(self, agent: str, asked: InputRequest, given: InputAnswer) -> None:  # noqa: ARG002 - the interface's
        """Check the results of the client's functions that are content: any other JSON is one.

        Raises:
            RequestRefusedError: If a part is none that agents take.
        """
        for call_id, result in given.results.items():
            if are_parts(result):
                read_content(result, f"results.{call_id}")

    def check_steer(self, agent: str, message: Any) -> Any:  # noqa: ARG002 - the interface's
        """Return a message to a run under way, as the content of a user message.

        Raises:
            RequestRefusedError: If it is none that agents take.
        """
        content = read_content(message, "steer")
        try:
            read_user_message(to_message(content))
        except MessageError:
            said = "expected a text, or parts, that say something"
            raise refuse("steer", said) from None
        return content

    def show(self, event: StoredEvent) -> Sequence[tuple[str, JsonObject]]:
        """Return what an event shows: the executor's own events are those of the contract."""
        return [(event.type, event.data)] if event.type in SHOWN else []

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[None]:
        """Share nothing between runs but the agents' clients, which their module has made."""
        yield

    def interrupted(self, run_id: str, attempts: int) -> RunResult | None:  # noqa: ARG002 - the interface's
        """Return None, to make another attempt: it continues behind the recorded steps."""
        return None

    async def execute(self, run: Execution) -> RunResult | Waiting:
        """Run the agent until it has answered, or waits."""
        # Where steps are made apart, a run may start no thread.
        is_large = has_many_values(run.request) and not run.is_apart
        # A large request takes several times as much as its messages, and is given up as they are made.
        begin = partial(self._begin, run, is_last=is_large)
        begun = await asyncio.to_thread(begin) if is_large else begin()
        if is_large:
            run.request.clear()
        state, hidden = begun.state, begun.functions
        emitter = Emitter(run, await run.read_events(), rounds=state.rounds, hidden=hidden)
        steps = ApartSteps(run, emitter) if run.is_apart else _Steps(run, emitter)
        options: dict[str, Any] = {"steps": steps, **state.options}
        if run.agent in self._deps:
            options["deps"] = self._deps[run.agent]
        async with begun.agent.astream(begun.conversation, **options) as events:
            async for event in events:
                await emitter.emit(event)
        result = events.result
        if isinstance(result.cause, StepError):
            raise result.cause.__cause__ or result.cause
        if result.waiting is not None:
            return _wait(result.waiting, run.agent, hidden, emitter.rounds)
        end = partial(_end, result, emitter.rounds.get((), 0))
        return end() if run.is_apart else await asyncio.to_thread(end)

    async def make_step(self, run: StepExecution, request: bytes) -> bytes:
        """Make a step of a run that is elsewhere.

        Raises:
            RunFailedError: If the model's earlier messages are no longer available.
        """
        asked, state = read_request(run.request), _State.of(run.resumption)
        agent = self._build(run.agent, asked, state)
        return await self._maker.make(run, request, agent, self._deps.get(run.agent))

    def _check(self, agent: str, request: JsonObject) -> JsonObject:
        if agent not in self._agents:
            raise UnknownAgentError(agent)
        asked = read_request(request)
        check_schemas(
            (f"tools[{n}].parameters", one.parameters) for n, one in enumerate(asked.tools)
        )
        asked.build_agent(self._agents[agent], {})
        # One after the other, since there may be very many.
        if not sum(1 for _ in asked.iter_messages()):
            raise refuse("input", "expected a message")
        return request

    def _begin(self, run: Execution, *, is_last: bool) -> "_Begun":
        request, state = read_request(run.request), _State.of(run.resumption)
        # What is played in many places at a time is told in none of them.
        own = self._agents[run.agent].log
        log = {} if run.is_apart else {"log": self._feeds.open(run, own=own)}
        agent = self._build(run.agent, request, state, **log)
        conversation = None
        if run.resumption is None:
            conversation = list(request.iter_messages(is_last=is_last))
        functions = {tool.name for tool in request.tools}
        return _Begun(agent=agent, state=state, functions=functions, conversation=conversation)

    def _build(
        self, name: str, request: AgentRequest, state: "_State", **changes: Any
    ) -> Agent[Any, Any]:
        return request.build_agent(
            self._agents[name],
            state.results,
            is_checked=True,
            snapshot_key=_SNAPSHOT_KEY,
            snapshot_seconds=_SNAPSHOT_SECONDS,
            emit_reasoning=True,
            **changes,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """What a run goes on from.

    Attributes:
        options: What the run is resumed with.
        results: The results of the client's functions, by the ids of their calls.
        rounds: The round that each agent was in.
    """

    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    results: Mapping[str, Any] = field(default_factory=dict[str, Any])
    rounds: Mapping[Path, int] = field(default_factory=dict[Path, int])

    @classmethod
    def of(cls, resumption: Resumption | None) -> "_State":
        if resumption is None:
            return cls()
        stored, answer = json.loads(resumption.state), resumption.answer
        decisions: dict[str, bool | Decision] = dict.fromkeys(answer.results, True)
        for call_id, one in answer.approvals.items():
            decisions[call_id] = Decision(
                call_id=call_id, is_approved=one.approved, reason=one.reason
            )
        return cls(
            options={"resume": stored["snapshot"], "decisions": decisions},
            results=answer.results,
            rounds={tuple(path): number for path, number in stored["rounds"]},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Begun:
    """What an attempt begins with.

    Attributes:
        agent: The agent as the request has it.
        state: What the run goes on from.
        functions: The names of the client's functions.
        conversation: The messages; None for a run that goes on.
    """

    agent: Agent[Any, Any]
    state: _State
    functions: set[str]
    conversation: list[Any] | None


class _Steps:
    """The steps of a run, which the driver hands to the server as they are; all that passes here is that a model is called."""

    def __init__(self, run: Execution, emitter: Emitter) -> None:
        self.step = run.step
        self.read_steered = partial(read_steered, run)
        self._emitter = emitter

    async def begin_step(self, key: StepKey, /) -> None:
        if key.kind == "model":
            await self._emitter.begin_call(key.path, key.round)


def _wait(
    asked: AskApproval, agent: str, functions: set[str], rounds: Mapping[Path, int]
) -> Waiting:
    approvals: list[WaitingCall] = []
    results: list[WaitingCall] = []
    for call in asked.calls:
        server = call.agents[-1] if call.agents else agent
        waiting = WaitingCall(
            call_id=call.key, name=call.name, arguments=call.arguments, server=server
        )
        is_clients = not call.path and call.name in functions
        (results if is_clients else approvals).append(waiting)
    state = {"snapshot": asked.snapshot, "rounds": [[list(path), n] for path, n in rounds.items()]}
    request = InputRequest(approvals=approvals, results=results)
    return Waiting(request=request, state=json.dumps(state).encode())


def _end(result: Result[Any], rounds: int) -> RunResult:
    usage = to_usage(result.usage, model_requests=rounds)
    details: JsonObject = {"reason": result.reason}
    if result.unread:
        details["unread"] = [one.content for one in result.unread]
    if not result.answered:
        return RunResult(
            status="failed",
            error=result.error,
            error_type=result.reason,
            usage=usage,
            details=details,
            steered=result.steered,
        )
    is_text = isinstance(result.value, str)
    state: bytes | None = None
    # Of messages that are no JSON: then no other run goes on from here.
    with suppress(SnapshotError):
        text = io.BytesIO()
        text.writelines(one.encode(errors=HALVES) for one in iter_dumped_messages(result.messages))
        state = text.getvalue()
    return RunResult(
        status="succeeded",
        output=result.value if is_text else json.loads(result.text),
        usage=usage,
        details=details,
        state=state,
        steered=result.steered,
    )


def _check_format(agent: Agent[Any, Any], asked: JsonObject | None) -> None:
    """Refuse a form of answer that the agent does not have."""
    if asked is None:
        return
    own, said = agent.answer_schema, "expected the form that the agent answers in"
    if own is None:
        said = "expected to be absent: the agent answers in text"
    elif asked.get("type") == "json_object":
        return  # Any form of an agent's is one of an object.
    elif asked.get("type") == "json_schema":
        where = find_difference(asked.get("schema"), own)
        if where is None:
            return
        said += f"; it is another at `{where}`" if where else ""
    raise refuse("text.format", said)
