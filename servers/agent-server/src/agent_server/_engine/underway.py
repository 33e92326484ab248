"""The steps under way here, so that somebody gets to know of those that do not end."""

import logging
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from typing import Final

from agent_server.logs import read_about


_logger = logging.getLogger("agent_server")

_FIRST_SECONDS: Final = 60.0


@dataclass(slots=True, eq=False)
class _Step:
    key: str
    tenant: object
    context: Context
    began: float = field(default_factory=time.monotonic)
    warn_from: float = field(default_factory=lambda: _FIRST_SECONDS)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    def warn(self, text: str) -> None:
        # With the fields of the run that it is of.
        self.context.run(_logger.warning, text, self.key, self.seconds)


class Underway:
    """The steps that are being made here.

    Attributes:
        steered: How often runs may have been told something; it grows, so that nobody looks for it after every step.
    """

    def __init__(self) -> None:
        self._steps: set[_Step] = set()
        self.steered = 0

    @contextmanager
    def making(self, key: str) -> Generator[None]:
        """Note that a step is being made inside the context, of the run that lines of the log are of there."""
        step = _Step(key, read_about().get("tenant"), copy_context())
        self._steps.add(step)
        try:
            yield
        finally:
            self._steps.remove(step)
            if step.warn_from > _FIRST_SECONDS:
                step.warn("the step %s is over after %.0f s")

    def tell(self) -> None:
        """Log the steps that take long: after a minute, after two, after four and so on. Called every few seconds."""
        for step in [one for one in self._steps if one.seconds >= one.warn_from]:
            step.warn_from *= 2
            step.warn("the step %s is still running after %.0f s")

    def longest_seconds(self, tenant: str | None) -> Mapping[str, float]:
        """Return the age of the oldest steps by the first words of their keys, such as `model` and `tool`.

        Those of a tenant, or of all for None.
        """
        longest: dict[str, float] = {}
        for step in list(self._steps):
            if tenant in {None, step.tenant}:
                kind = step.key.partition(":")[0]
                longest[kind] = max(step.seconds, longest.get(kind, 0.0))
        return longest
