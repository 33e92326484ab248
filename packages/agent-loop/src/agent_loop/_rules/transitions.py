"""The states of a run and the transitions between them.

Only this table decides about states: a rule names the trigger, and the run takes the state that the table gives.

    ready ──start──▶ model ──tool_calls──▶ tools ──results──▶ model ...      tools ──ask──▶ approval ──decided──▶ tools
                       │ retry ──▶ model     │
                       │ compact ▶ summary ──compacted──▶ model
                       │ repair ─▶ model     │
                       │ go_on ──▶ model     │
                       │                     │
                       │ check ──▶ check ──checked──▶ finished
                       │ answer, refusal     │ results_shown
                       ▼                     ▼
                    finished  ◀──failure── (any)
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal

from agent_loop._values.errors import LocalProtocolError


type State = Literal["ready", "model", "summary", "tools", "approval", "check", "finished"]
"""Where a run stands.

- `ready`: it has not started.
- `model`: a model call is open.
- `summary`: a call that sums up the run is open, before the next model call.
- `tools`: tool results are awaited.
- `approval`: a person's decisions are awaited.
- `check`: the driver's check of the answer is awaited.
- `finished`: nothing follows.
"""

type Trigger = Literal[
    "start",
    "delta",
    "time_short",
    "time_passed",
    "steered",
    "retry",
    "go_on",
    "repair",
    "compact",
    "compacted",
    "tool_calls",
    "answer",
    "check",
    "checked",
    "refusal",
    "tool_result",
    "agent_waiting",
    "ask",
    "decision",
    "decided",
    "results",
    "results_shown",
    "failure",
]
"""The reason why a run moves from one state to another."""

TRANSITIONS: Final[Mapping[State, Mapping[Trigger, State]]] = MappingProxyType(
    {
        "ready": {
            "start": "model",
            "time_short": "ready",
            "time_passed": "ready",
            "steered": "ready",
            # A driver may fail before it starts the run, and an agent may find no budget left.
            "failure": "finished",
        },
        "model": {
            "delta": "model",
            "time_short": "model",
            "time_passed": "model",
            "steered": "model",
            "retry": "model",
            "repair": "model",
            # It has answered, and somebody has said something meanwhile.
            "go_on": "model",
            # The round has begun, but its request would fill the window.
            "compact": "summary",
            "tool_calls": "tools",
            "answer": "finished",
            "check": "check",
            "refusal": "finished",
            "failure": "finished",
        },
        "summary": {
            "delta": "summary",
            "time_short": "summary",
            "time_passed": "summary",
            "steered": "summary",
            # The summary is asked for once more, or of the fallback model.
            "compact": "summary",
            "compacted": "model",
            "failure": "finished",
        },
        "tools": {
            "tool_result": "tools",
            "agent_waiting": "tools",
            "time_short": "tools",
            "time_passed": "tools",
            "steered": "tools",
            "ask": "approval",
            "results": "model",
            # With a maximum of one model call, nothing is left to answer but the results.
            "results_shown": "finished",
            "failure": "finished",
        },
        "approval": {
            "decision": "approval",
            "decided": "tools",
            "time_short": "approval",
            "time_passed": "approval",
            "steered": "approval",
            "failure": "finished",
        },
        "check": {
            "checked": "finished",
            "time_short": "check",
            "time_passed": "check",
            "steered": "check",
            "failure": "finished",
        },
        "finished": {},
    }
)
"""The triggers that each state takes, and the state that each of them leads to."""


def next_state(state: State, trigger: Trigger) -> State:
    """Return the state that `trigger` leads to from `state`.

    Raises:
        LocalProtocolError: If the table has no such transition.
    """
    allowed = TRANSITIONS[state]
    if trigger not in allowed:
        expected = ", ".join(allowed) or "nothing"
        raise LocalProtocolError(
            f"a run in state {state!r} cannot take {trigger!r}; it can take: {expected}",
            state=state,
            received=trigger,
        )
    return allowed[trigger]
