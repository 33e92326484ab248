"""Reports of runs besides their events: lines of the server's log that name them, run logs and traces."""

from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from run_log import Observer, RunFeed, RunLog
from stream_text import KnownSecrets

from .executor import Execution


__all__ = ["RunFeeds", "about", "read_about"]

_NOTHING: Final = MappingProxyType[str, object]({})
_about = ContextVar[Mapping[str, object]]("agent_server_about", default=_NOTHING)


@contextmanager
def about(**fields: object) -> Generator[None]:
    """Put fields into each line that is logged inside the context, and by the tasks that begin there.

    A server's lines show `run`, `tenant`, `agent`, `attempt` and `tool`.

    Example:
        >>> with about(tool="refund"):
        ...     print(dict(read_about()))
        {'tool': 'refund'}
    """
    token = _about.set({**_about.get(), **fields})
    try:
        yield
    finally:
        _about.reset(token)


def read_about() -> Mapping[str, object]:
    """Return the fields of lines that are logged here."""
    return _about.get()


class RunFeeds:
    """The places to which an executor reports its runs: a folder of run logs for each tenant, and spans.

    Args:
        program: The name of the system.
        folder: The folder of the logs; None for none.
        traces: Whether spans go to the provider that the process has set; needs the extra `traces`.
    """

    def __init__(self, program: str, folder: Path | None, *, traces: bool = False) -> None:
        self._program = program
        self._folder = folder
        self._observers: list[Observer] = []
        if traces:
            # What it imports is an extra.
            from run_log.traces import Traces  # noqa: PLC0415

            self._observers.append(Traces())

    def open(
        self,
        run: Execution,
        *,
        known: KnownSecrets | Iterable[str] = (),
        own: RunFeed | None = None,
    ) -> RunFeed | None:
        """Return the feed for the records of an attempt; None if there is none. Called where the executor executes it.

        Args:
            run: The attempt.
            known: Secrets that appear in no record.
            own: The agent's own feed, if there is no folder; None if it has none.
        """
        if self._folder is None and not self._observers:
            return own
        origin: Any = _about.get().get("origin", {})
        about = {"program": self._program, "agent": run.agent, "run_id": run.run_id, **origin}
        about |= {"tenant": run.tenant, "attempt": str(run.attempt)}
        if self._folder is not None:
            folder = self._folder / run.tenant
            return RunLog(folder, known=known, about=about, observers=self._observers)
        return (own or RunFeed(known=known)).extended(about, self._observers)
