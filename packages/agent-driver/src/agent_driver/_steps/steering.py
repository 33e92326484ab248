"""What a run under way is told, on its way from whoever says it to the run."""

from collections.abc import Iterable

from agent_loop import AgentRun, Message, Steered


class Steers:
    """What a run is told while it is played.

    Args:
        run: The run; from now on what `AgentRun.steer` is given comes to it only from here.
        known: The number of the last that it was told before.

    Attributes:
        known: The number of the last that is known.
    """

    def __init__(self, run: AgentRun, known: int) -> None:
        self._run = run
        self.known = known
        self._arrived: dict[int, Steered] = {}
        self._had = set[int]()
        self._numbered: list[Steered] = []
        self._unnumbered = list(run.read_steered())

    def read(self, after: int = 0) -> tuple[Steered, ...]:
        """Return what was said to this run since, under the next numbers, or those after a greater one."""
        messages, self._unnumbered = [*self._unnumbered, *self._run.read_steered()], []
        return self.number(max(after, self.known), messages)

    def number(self, after: int, messages: Iterable[Message]) -> tuple[Steered, ...]:
        """Return what was said under the numbers after one."""
        numbered = enumerate(messages, after + 1)
        steered = tuple(Steered(number=number, messages=(one,)) for number, one in numbered)
        self.known = max([self.known, *(one.number for one in steered)])
        self._numbered += steered
        return steered

    def add(self, steered: Iterable[Steered]) -> None:
        """Note what the run is to be told. Calls that are made at once may all have read the same."""
        for one in steered:
            self.known = max(self.known, one.number)
            if one.number not in self._had:
                self._had.add(one.number)
                self._arrived[one.number] = one

    def take(self) -> list[Steered]:
        """Return what the run is to be told now, in order."""
        arrived, self._arrived = self._arrived, {}
        return [arrived[number] for number in sorted(arrived)]

    def leave(self) -> None:
        """Feed the run, which is ending, what it has not been given: said before its first step, or lost with a failed record."""
        self.read()
        self.add(self._numbered)
        for one in self.take():
            self._run.feed(one)
