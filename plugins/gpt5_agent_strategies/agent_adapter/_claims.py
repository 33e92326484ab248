"""Questions in Dify's storage, each taken by at most one answer."""

import secrets
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from dify_plugin.invocations.storage import StorageInvocation


PAUSE_SECONDS: Final = 0.1
"""The time that others who claim a question at the same moment get to write their tokens."""

_MAX_TAKEN: Final = 1_000


@dataclass(frozen=True, slots=True)
class Taken:
    """The last thousand questions that a process has taken.

    None of its threads takes them again, whatever the storage or a cache in front of it holds.
    """

    _questions: dict[tuple[str, str], None] = field(default_factory=dict[tuple[str, str], None])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, question: tuple[str, str]) -> bool:
        """Take a question, and return whether it was not taken before."""
        with self._lock:
            is_new = question not in self._questions
            self._questions[question] = None
            if len(self._questions) > _MAX_TAKEN:
                del self._questions[next(iter(self._questions))]
        return is_new

    def give_back(self, question: tuple[str, str]) -> None:
        """Let a question be taken again, because the storage has failed."""
        with self._lock:
            self._questions.pop(question, None)


_TAKEN = Taken()  # One per process, shared by all threads.


class StoredQuestion:
    """The storage for one question, in the plugin's own part of Dify's storage in the workspace.

    The storage has no compare-and-set, and several processes may run the plugin. So an answer that takes a question
    writes its own token beside it, waits, and reads the token back; then it deletes the question and reads the token
    once more. Of two answers, the one whose token was written later finds the question deleted, or else the other one
    finds its own token overwritten: **both never continue**, however slow either is, as long as the storage returns what
    was written last. Within one process this holds even without the storage. Two limits remain:

    - If two processes write their tokens more than the pause apart, and both before the question is deleted, neither
      may continue. Then nothing is called, and the question is gone.
    - The daemon has a cache in front of its storage: a value that is read at the very moment it is overwritten or
      deleted may be returned for another five minutes. Two processes that hit such a moment may both continue.

    Args:
        storage: Dify's storage. Each operation is one request to the daemon, and may raise any error of the SDK.
        name: The key of the question in the storage.
        taken: The questions that this process has taken.
    """

    def __init__(self, storage: StorageInvocation, name: str, *, taken: Taken = _TAKEN) -> None:
        self._storage = storage
        self._name = name
        self._claim = f"{name}-claim"
        self._taken = taken

    def put(self, value: bytes) -> None:
        """Store a question in place of the previous one. If that fails, delete it, since the daemon may have written it before it ran out of room."""
        try:
            self._storage.set(self._name, value)
        except Exception:
            with suppress(Exception):
                self.clear()
            raise

    def read(self) -> bytes | None:
        """Return the question; None if there is none."""
        return self._read(self._name)

    def clear(self) -> None:
        """Delete the question, if it still exists."""
        try:
            self._storage.delete(self._name)
        except Exception:
            if self._storage.exist(self._name):
                raise

    def forget(self, code: str) -> None:
        """Delete a question that nobody can answer any more, unless an answer in this process is taking it."""
        if self._taken.add((self._name, code)):
            self.clear()

    def take(self, code: str) -> bool:
        """Delete the question that was read, and return whether this answer alone has it.

        Args:
            code: The code that distinguishes the question from others under the same key.
        """
        # Within this process first: that is certain, and saves round trips to the storage.
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
        # Others that have read the question by now write theirs, too, and the last one stays.
        time.sleep(PAUSE_SECONDS)
        if self._read(self._claim) != token or not self._storage.exist(self._name):
            return False
        self.clear()
        # An answer that was slower than the pause may have written its token before the deletion.
        if self._read(self._claim) != token:
            return False
        with suppress(Exception):  # It is no longer needed, and the next claim overwrites it.
            self._storage.delete(self._claim)
        return True

    def _write(self, token: bytes) -> None:
        """Write a token, even if the storage is full: the daemon reports that only after writing, and taking the question makes room."""
        try:
            self._storage.set(self._claim, token)
        except Exception:
            if self._read(self._claim) != token:
                raise

    def _read(self, name: str) -> bytes | None:
        """Return a value; None if there is none, or if it is deleted meanwhile."""
        if not self._storage.exist(name):
            return None
        try:
            return self._storage.get(name)
        except Exception:
            if self._storage.exist(name):
                raise
            return None
