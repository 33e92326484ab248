"""The scripted model: what it says next stands in what it is told, and it knows nothing else.

Each result of a tool begins with a receipt. The model calls what it has read no receipt of, at most three times each,
and then says what came of it. Where a mutation changes what it says it does so once; asked again it says what is right.
"""

import json
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from gpt5_simulator import FunctionCall, ModelRequest, Reasoning, Refusal, Text, Turn, TurnItem

from .mutations import Case
from .tasks import Arguments


_TRIES = 3
_FOREVER = "forever"
# What can be read in one way only, and so may be run as well as refused.
_READABLE = {"extra", "nested", "fenced", "spelled", "prefixed_name"}
# What ends the answer.
_ALONE = {_FOREVER, "in_text", "shortened"}


class Script:
    """The model of one run.

    Attributes:
        asked: How often the model has asked for each call so that it may be run.
        said: What it has said where it goes wrong.
        done, not_done: What it says at the end, and what that begins with where it is not done.
    """

    def __init__(self, case: Case) -> None:
        self.asked: Counter[str] = Counter()
        self.said: Turn | None = None
        self._case = case
        self._gold = case.task.gold
        self.done = f"DONE {case.task.key}: all of {sum(map(len, self._gold))} calls."
        self.not_done = f"NOT DONE {case.task.key}:"
        self._tries: Counter[int] = Counter()
        self._lock = threading.Lock()
        if case.mutation.history:
            self.asked[canonical(*case.meant)] += 1  # before the process died

    @property
    def refused_tool(self) -> str:
        """The tool that a person does not let run; empty for none."""
        return self._case.meant[0] if self._case.mutation.person else ""

    def respond(self, request: ModelRequest) -> Turn:
        """Return what the model says next."""
        with self._lock:
            step, missing = self._find_missing(request)
            may_call = bool(request.tools) and request.tool_mode != "none"
            turn = self._say(step, missing, may_call=may_call)
            is_place = step == (len(self._gold) if self._case.last else self._case.step)
            kind = self._case.mutation.turn
            asked = _calls(turn)
            if self.said is not None and kind == _FOREVER and may_call:
                turn, asked = self.said, _calls(self.said)
            elif kind and is_place and may_call and self.said is None:
                turn = self.said = _mutate(self._case, kind, turn)
                # What the model has not said in so many words nobody may run.
                asked = asked if kind in _READABLE else _calls(turn)
            self.asked.update(asked)
            return turn

    def _find_missing(self, request: ModelRequest) -> tuple[int, list[int]]:
        """Return the first round of which the model has not read all receipts, and the calls that are missing."""
        items = [item for item in request.items if item.get("type") == "function_call_output"]
        results = [json.dumps(item.get("output"), ensure_ascii=False) for item in items]
        for step, calls in enumerate(self._gold):
            missing = [
                index
                for index in range(len(calls))
                if not any(receipt(self._case, step, index) in result for result in results)
            ]
            if missing and not self._is_answered(step, len(results)):
                return step, missing
        return len(self._gold), []

    def _is_answered(self, step: int, results: int) -> bool:
        """Tell whether a call with a binary result, whose receipt nobody need be able to read, has been answered at all."""
        is_binary = self._case.mutation.tool == "binary" and step == self._case.step
        return is_binary and results >= sum(map(len, self._gold[: step + 1]))

    def _say(self, step: int, missing: Sequence[int], *, may_call: bool) -> Turn:
        # One that asks for ever has never had enough.
        if step == len(self._gold) and self._case.mutation.turn != _FOREVER:
            return [Text(text=self.done)]
        calls = [self._gold[step][index] for index in missing]
        tries = 1 if any(name == self.refused_tool for name, _ in calls) else _TRIES
        if not may_call or not calls or self._tries[step] == tries:
            return [Text(text=f"{self.not_done} call {step + 1} was not made.")]
        self._tries[step] += 1
        return [
            Reasoning(summary=(f"Call {step + 1} is next.",)),
            *(FunctionCall(name=name, arguments=arguments) for name, arguments in calls),
        ]


def receipt(case: Case, step: int, index: int) -> str:
    """Return what the result of a gold call begins with."""
    return f"[receipt {case.task.key}-{step}-{index}]"


def canonical(name: str, arguments: Arguments) -> str:
    """Return a call as a text, the same for the same call."""
    return json.dumps([name, arguments], sort_keys=True)


def _calls(turn: Turn) -> list[str]:
    """Return the calls of a turn whose arguments are an object, as the model means them."""
    return [
        canonical(item.name, item.arguments)
        for item in turn
        if isinstance(item, FunctionCall) and not isinstance(item.arguments, str)
    ]


def _mutate(case: Case, kind: str, turn: Turn) -> Turn:
    """Return what becomes of a turn: of its first call, or of all of it."""
    if kind in _ANSWERS:
        return _ANSWERS[kind](turn)
    first = next(item for item in turn if isinstance(item, FunctionCall))
    assert not isinstance(first.arguments, str)
    if kind in _ARGUMENTS:
        text = _ARGUMENTS[kind](case, dict(first.arguments))
        changed: list[TurnItem] = [FunctionCall(name=first.name, arguments=text)]
    else:
        changed = _CALLS[kind](first, first.arguments)
    if kind in _ALONE:
        return changed
    return [put for item in turn for put in (changed if item is first else [item])]


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _with(case: Case, given: dict[str, Any], change: Callable[[Any], Any]) -> str:
    assert case.parameter is not None
    return _dump({**given, case.parameter.name: change(given[case.parameter.name])})


def _quote(call: FunctionCall) -> str:
    return f"<tool_call>{_dump({'name': call.name, 'arguments': call.arguments})}</tool_call>"


_ANSWERS: dict[str, Callable[[Turn], Turn]] = {
    "empty": lambda _: [Text(text="")],
    "nothing": lambda _: [],
    "refusal": lambda _: [Refusal(text="I am sorry, but I will not say that.")],
    # Without the word that the answer is known by.
    "half": lambda _: [Text(text="As far as I can see, all the calls that were")],
    "commentary": lambda _: [Text(text="I shall look that up now.", phase="commentary")],
    "one_id": lambda turn: [
        FunctionCall(name=item.name, arguments=item.arguments, call_id="call_1")
        if isinstance(item, FunctionCall)
        else item
        for item in turn
    ],
}
_ARGUMENTS: dict[str, Callable[[Case, dict[str, Any]], str]] = {
    "cut": lambda _, given: _dump(given)[:-3],  # a character, the quotation mark and the brace
    "wrong_type": lambda case, given: _with(case, given, lambda _: "quite a few of them"),
    "spelled": lambda case, given: _with(case, given, _dump),
    "extra": lambda _, given: _dump({**given, "because_of": "the moon"}),
    "missing": lambda case, given: _dump(
        {one: given[one] for one in given if one != case.parameter.name}
    ),
    "nested": lambda _, given: _dump(_dump(given)),
    "fenced": lambda _, given: f"```json\n{_dump(given)}\n```",
    "shortened": lambda case, given: _with(case, given, lambda text: text[:-1]),
}
_CALLS: dict[str, Callable[[FunctionCall, Arguments], list[TurnItem]]] = {
    "unknown_name": lambda _, given: [FunctionCall(name="open_the_pod_bay", arguments=given)],
    "prefixed_name": lambda call, given: [
        FunctionCall(name=f"functions.{call.name}", arguments=given)
    ],
    "twice": lambda call, _: [call, call],
    _FOREVER: lambda call, _: [call],
    "in_text": lambda call, _: [Text(text=_quote(call))],
    "thoughts": lambda call, _: [
        Reasoning(
            summary=(f"I could also say {_quote(FunctionCall(name=call.name, arguments={}))}.",)
        ),
        call,
    ],
}
