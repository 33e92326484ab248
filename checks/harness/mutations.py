"""The table of what goes wrong, read from `mutations.toml`, and the tasks that each is tried with."""

import random
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from .tasks import Call, Parameter, Task


DRAWN = 20

type Outcome = Literal["gold", "told"]


@dataclass(frozen=True, kw_only=True)
class Mutation:
    """One thing that goes wrong; `mutations.toml` says what each field means."""

    name: str
    what: str
    right: Sequence[Outcome]
    why: str
    at: Literal["call", "answer"] = "call"
    turn: str = ""
    fault: str = ""
    wire: str = ""
    tool: str = ""
    person: str = ""
    history: str = ""
    needs: str = ""
    times: int = 1
    shown: bool = False
    waits: bool = False
    taste: bool = False


@dataclass(frozen=True, kw_only=True)
class Case:
    """A task with what goes wrong in it, and where.

    Attributes:
        step: The round of the task at whose call it goes wrong.
        parameter: The parameter that is mutated, where the mutation needs a certain one.
    """

    task: Task
    mutation: Mutation
    step: int
    parameter: Parameter | None = None

    @property
    def meant(self) -> Call:
        """The call at which it goes wrong."""
        return self.task.gold[self.step][0]

    @property
    def last(self) -> bool:
        """Whether it goes wrong in the place of the last answer."""
        return self.mutation.at == "answer"


def read_mutations() -> list[Mutation]:
    """Return the table."""
    text = Path(__file__).with_name("mutations.toml").read_text(encoding="utf-8")
    return [Mutation(**one) for one in tomllib.loads(text)["mutation"]]


def draw_cases(mutation: Mutation, pool: Sequence[Task], seed: int, number: int) -> list[Case]:
    """Draw tasks that have what a mutation needs, and a place in each; the same for the same seed."""
    chance = random.Random(f"{seed} {mutation.name}")
    cases: list[Case] = []
    for task in chance.sample(pool, len(pool)):
        places = [
            (step, parameter)
            for step in range(1 if mutation.history else len(task.gold))
            for parameter in _find_parameters(mutation.needs, task, step)
        ]
        if places and len(cases) < number:
            step, parameter = chance.choice(places)
            cases.append(Case(task=task, mutation=mutation, step=step, parameter=parameter))
    return cases


def _find_parameters(needs: str, task: Task, step: int) -> list[Parameter | None]:
    """Return the parameters of a round's first call that a mutation could take; `[None]` where it needs none, `[]` where it could not be tried."""
    name, arguments = task.gold[step][0]
    tool = task.tool(name)
    given = [one for one in tool.parameters if one.name in arguments] if tool else []
    match needs:
        case "":
            return [None]
        case "parallel":
            return [None] if len(task.gold[step]) > 1 else []
        case "typed":
            return [one for one in given if one.type != "string"]
        case "required":
            return [one for one in given if one.required]
        case _:
            # Of the last one the last character is left out.
            return [
                one
                for one in given[-1:]
                if one.type == "string" and len(str(arguments[one.name])) > 1
            ]
