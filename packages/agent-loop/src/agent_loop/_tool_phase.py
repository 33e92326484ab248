"""What follows from a model's tool calls: which run, which a person is asked about, and what comes after their results."""

from collections.abc import Callable, Iterator
from typing import ClassVar

from agent_tooling import denied_call_text

from ._agents import Agents
from ._approval import AskApproval, Decision
from ._ending import Ending
from ._errors import LocalProtocolError
from ._events import Event, RunTools, ToolCallStarted
from ._gate import Gate
from ._inputs import Failure, ToolResult
from ._messages import ToolCall
from ._sentences import MAX_CALLS, build_budget_notice
from ._state import Trigger


class ToolPhase:
    """The time of a round in which tools run and people decide.

    The calls that need no approval run first; a person is asked when all of them have answered, so that nothing is lost and nothing runs twice however
    long that takes.

    Args:
        gate: What every call has to pass.
        ending: How the run ends.
        agents: The agents that it calls as tools, which may end it.
        move: Moves the run by a trigger.
        fail: Ends the run because of a failure.
    """

    SAVED: ClassVar = ("_held", "_decisions")

    def __init__(
        self,
        gate: Gate,
        ending: Ending,
        agents: Agents,
        *,
        move: Callable[[Trigger], None],
        fail: Callable[[Failure], Iterator[Event]],
    ) -> None:
        self._rounds = ending.rounds
        self._gate = gate
        self._ending = ending
        self._agents = agents
        self._move = move
        self._fail = fail
        self._held: tuple[tuple[ToolCall, ToolCall], ...] = ()
        self._decisions: dict[str, Decision] = {}

    @property
    def waiting(self) -> tuple[ToolCall, ...]:
        """The calls that a person has not decided about yet, as they would be made."""
        return tuple(made for call, made in self._held if call.call_id not in self._decisions)

    def ask(self) -> AskApproval:
        """Return the request to ask a person."""
        calls = tuple(map(self._gate.to_shown, self.waiting))
        return AskApproval(round=self._rounds.current.number, calls=calls)

    def begin(self) -> Iterator[Event]:
        """Sort the calls of the current round, and ask for those that are made."""
        rounds, current = self._rounds, self._rounds.current
        yield from rounds.end_answer()
        if rounds.structured and rounds.show_thoughts:
            yield from rounds.display.show(rounds.structured.let_go())
        sorted_ = self._gate.sort(current.calls)
        made = (*sorted_.made, *sorted_.held)
        current.made_names = {call.call_id: made.name for call, made in made}
        is_silent = rounds.show_thoughts and not rounds.display.has_words
        if is_silent and made:
            yield from rounds.display.show_status(list(map(current.name_of, current.calls)))
        for call, text in sorted_.refused:
            yield from rounds.refuse_call(call, text)
        for call, result in sorted_.answered:
            yield from rounds.answer_call(call, result)
        self._held = tuple(sorted_.held)
        yield from self._run(sorted_.made)

    def take_result(self, result: ToolResult) -> Iterator[Event]:
        """Take the result of a call that was asked for; the run has checked that."""
        yield self._rounds.end_call(result)
        if not self._is_running:
            yield from self._go_on()

    def is_open(self, call_id: str) -> bool:
        """Return whether a call is made and has no result yet."""
        is_held = any(call.call_id == call_id for call, _ in self._held)
        return self._rounds.current.is_open(call_id) and not is_held

    def take_decision(self, decision: Decision) -> Iterator[Event]:
        """Take what a person has decided, and go on once all is decided.

        Raises:
            LocalProtocolError: If no call that waits has this id.
        """
        if all(call.call_id != decision.call_id for call in self.waiting):
            problem = f"no call that waits for a decision has the id {decision.call_id!r}"
            raise LocalProtocolError(problem, state="approval", received="decision")
        self._move("decision")
        self._decisions = {**self._decisions, decision.call_id: decision}
        return self._act() if not self.waiting else iter(())

    def give_up(self, error: str) -> Iterator[Event]:
        """End the calls that wait for a person, who is not waited for any more."""
        held, self._held, self._decisions = self._held, (), {}
        for call, _ in held:
            self._rounds.spending.give_back_tool_call()
            yield from self._rounds.refuse_call(call, error)

    @property
    def _is_running(self) -> bool:
        return len(self._rounds.current.open_calls) > len(self._held)

    def _act(self) -> Iterator[Event]:
        self._move("decided")
        held, decisions = self._held, self._decisions
        self._held, self._decisions = (), {}
        approved = [pair for pair in held if decisions[pair[0].call_id].is_approved]
        for call, made in held:
            if (call, made) in approved:
                self._gate.grant(made)
                continue
            self._rounds.spending.give_back_tool_call()  # It was counted, and is not made.
            decision = decisions[call.call_id]
            text = decision.refusal or denied_call_text(decision.reason)
            yield from self._rounds.refuse_call(call, text)
        yield from self._run(approved)

    def _run(self, calls: list[tuple[ToolCall, ToolCall]]) -> Iterator[Event]:
        for call, made in calls:
            yield ToolCallStarted(call=call, made=None if made == call else made)
        if calls:
            yield RunTools(calls=tuple(made for _, made in calls))
        else:
            yield from self._go_on()

    def _go_on(self) -> Iterator[Event]:
        if self._held:
            self._move("ask")
            yield self.ask()
        else:
            yield from self._end()

    def _end(self) -> Iterator[Event]:
        rounds, current = self._rounds, self._rounds.current
        yield from rounds.display.show_unfinished()
        if rounds.maximum == 1:
            self._move("results_shown")
            yield from rounds.display.show_results(current.results[: MAX_CALLS + 1])
            yield from self._ending.finish("maximum_iterations")
            return
        if stop := self._agents.find_stop():
            yield from self._fail(stop)
            return
        self._move("results")
        rounds.requests.add(*current.to_messages(), pinned=current.pinned_ids)
        yield rounds.end()
        if near := rounds.spending.take_near():
            rounds.requests.add_user_text(build_budget_notice(near))
        rounds.requests.relax_tool_choice()
        yield from rounds.begin()
