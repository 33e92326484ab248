"""Who plays the workflows of a task queue in this process."""

from dataclasses import dataclass

from agent_server.executor import Executor


@dataclass(frozen=True, slots=True, kw_only=True)
class Player:
    """Player of the runs of a task queue.

    Attributes:
        executor: Executes them.
        lease_seconds: How long a worker may be silent before another one makes its steps.
        max_attempts: How often a step may be begun.
        waiting_seconds: How long a run waits for an answer before it fails.
        most_waiting: How many runs of a tenant may wait.
        most_history: From how many events on a workflow continues in a new history.
        most_history_bytes: From how many bytes on it does, of which Temporal takes 50 MiB at most.
    """

    executor: Executor
    lease_seconds: float
    max_attempts: int
    waiting_seconds: float
    most_waiting: int
    most_history: int = 4000
    most_history_bytes: int = 16 * 1024 * 1024


# A workflow knows its namespace and its queue, and no more: what plays it is found by them.
_players: dict[tuple[str, str], Player] = {}


def add_player(namespace: str, queue: str, player: Player) -> None:
    """Let workflows of a queue be played here."""
    _players[namespace, queue] = player


def find_player(namespace: str, queue: str) -> Player:
    """Return what plays the workflows of a queue."""
    return _players[namespace, queue]
