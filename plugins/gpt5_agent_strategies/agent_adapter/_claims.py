"""Questions in Dify's storage, each of which is taken by one answer at most."""

import secrets
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from dify_plugin.invocations.storage import StorageInvocation


PAUSE_SECONDS: Final = 0.1
"""How long others who claim a question at the same moment have to write their token."""

_MAX_TAKEN: Final = 1_000


@dataclass(frozen=True, slots=True)
class Taken:
    """The questions that one process has taken, the last thousand: what none of its threads takes again, whatever lies in the storage or in a cache before it."""

    _questions: dict[tuple[str, str], None] = field(default_factory=dict[tuple[str, str], None])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, question: tuple[str, str]) -> bool:
        """Take a question; return whether nobody has before."""
        with self._lock:
            is_new = question not in self._questions
            self._questions[question] = None
            if len(self._questions) > _MAX_TAKEN:
                del self._questions[next(iter(self._questions))]
        return is_new

    def give_back(self, question: tuple[str, str]) -> None:
        """Let a question be taken again: the storage has failed."""
        with self._lock:
            self._questions.pop(question, None)


_TAKEN = Taken()  # One for the process, whose threads all share it.


class StoredQuestion:
    """The place of one question in Dify's storage, which is the plugin's own in the workspace.

    The storage has no compare-and-set, and several processes may run the plugin. Who takes a question therefore writes a token of their own beside it, waits, and reads it
    back; then deletes the question, and reads the token once more. Of two answers the one whose token was written later finds the question deleted, or else the other one finds
    its own token overwritten: **never do both go on**, however slow either is, as long as the storage gives out what was written last. Within one process that holds without
    the storage. Two limits are left:

    - Where two processes write their tokens more than the pause apart and both before the question is deleted, neither may go on. Then nothing is called, and the
      question is gone.
    - The daemon has a cache before its storage: a value that is read in the very moment in which it is overwritten or deleted may be given out for five minutes more. Two processes
      that meet such a moment may both go on.

    Args:
        storage: Dify's storage. Each operation is one request to the daemon, and raises what the SDK likes.
        name: The name of the place.
        taken: What this process has taken.
    """

    def __init__(self, storage: StorageInvocation, name: str, *, taken: Taken = _TAKEN) -> None:
        self._storage = storage
        self._name = name
        self._claim = f"{name}-claim"
        self._taken = taken

    def put(self, value: bytes) -> None:
        """Put a question there, in the place of the one before; where that fails there is none, though the daemon may have written before it found no room."""
        try:
            self._storage.set(self._name, value)
        except Exception:
            with suppress(Exception):
                self.clear()
            raise

    def read(self) -> bytes | None:
        """Return the question; None where there is none."""
        return self._read(self._name)

    def clear(self) -> None:
        """Delete the question, if it is there still."""
        try:
            self._storage.delete(self._name)
        except Exception:
            if self._storage.exist(self._name):
                raise

    def forget(self, code: str) -> None:
        """Delete a question that nobody can answer any more, unless an answer in this process is just taking it."""
        if self._taken.add((self._name, code)):
            self.clear()

    def take(self, code: str) -> bool:
        """Delete the question that has been read; return whether it is for this answer alone.

        Args:
            code: What tells the question from others of this place.
        """
        # Within this process first: it is certain there, and spares the storage's round trips.
        question = (self._name, code)
        if not self._taken.add(question):
            return False
        try:
            return self._take(secrets.token_bytes(16))
        except Exception:
            self._taken.give_back(question)
            raise

    def _take(self, token: bytes) -> bool:
        self._write(token)
        time.sleep(PAUSE_SECONDS)
        if self._read(self._claim) != token or not self._storage.exist(self._name):
            return False
        self.clear()
        if self._read(self._claim) != token:
            return False
        with suppress(Exception):  # It has served, and the next claim overwrites it.
            self._storage.delete(self._claim)
        return True

    def _write(self, token: bytes) -> None:
        """Write a token, also where the storage is full: the daemon tells of that when it has written, and what is taken makes room."""
        try:
            self._storage.set(self._claim, token)
        except Exception:
            if self._read(self._claim) != token:
                raise

    def _read(self, name: str) -> bytes | None:
        """Return a value; None where there is none, or where it was deleted in between."""
        if not self._storage.exist(name):
            return None
        try:
            return self._storage.get(name)
        except Exception:
            if self._storage.exist(name):
                raise
            return None
