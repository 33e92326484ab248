"""Sessions: conversations that outlive a run, and the questions for approval that wait in them."""

import json
import os
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

from agent_loop import AskApproval, AskedCall, SnapshotError, dump_messages, load_messages

from ._tools.calls import describe_calls


__all__ = ["Conversation", "MemorySession", "Session", "SessionConflictError", "SqliteSession"]


class SessionConflictError(Exception):
    """Conversation that another run has changed since it was loaded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """State of a session.

    Attributes:
        messages: The conversation without the agent's instruction.
        waiting: The calls that wait for a person's decision; None where none do.
        version: How often it was saved.
        given_out: The calls that a person has approved and that a run has begun to make, as the person was shown them;
            none as soon as a result of that run is saved. Where its process has died, their outcome is not known, and
            the next turn says so.
    """

    messages: tuple[Any, ...] = ()
    waiting: AskApproval | None = None
    version: int = 0
    given_out: tuple[AskedCall, ...] = ()

    @property
    def notice(self) -> str | None:
        """What a person has to know of the calls that were given out, in sentences; None where none were."""
        if not self.given_out:
            return None
        return (
            f"The outcome of what you approved is not known: {describe_calls(self.given_out)}. "
            "Nothing was saved of the run that made it, so it may have taken effect. Check that before you approve it again."
        )


class Session(Protocol):
    """One conversation in a store. Both calls may block; `arun` makes them in a thread."""

    def load(self) -> Conversation:
        """Return the conversation as it was saved last; a new one is empty."""
        ...

    def save(self, conversation: Conversation) -> Conversation:
        """Save a conversation and return it with its new version. It is what makes sure that a waiting call is given out once.

        Raises:
            SessionConflictError: If the version that is stored is another one than the conversation's.
        """
        ...


class MemorySession:
    """Session of this process."""

    def __init__(self) -> None:
        self._conversation = Conversation()
        self._lock = Lock()

    def load(self) -> Conversation:
        """Return the conversation as it was saved last."""
        return self._conversation

    def save(self, conversation: Conversation) -> Conversation:
        """Save a conversation and return it with its new version.

        Raises:
            SessionConflictError: If another run has saved it since it was loaded.
        """
        with self._lock:
            if self._conversation.version != conversation.version:
                raise _conflict(conversation)
            self._conversation = replace(conversation, version=conversation.version + 1)
            return self._conversation


class SqliteSession:
    """Session in a SQLite file, which any number of processes may use.

    A missing file is created with the mode 0600, because it holds what was said.

    Messages are stored as JSON, so they hold nothing that JSON cannot; those of a run do not.

    Args:
        path: The file.
        session_id: Which of the file's conversations.
    """

    def __init__(self, path: str | os.PathLike[str], session_id: str) -> None:
        if not session_id:
            raise ValueError("session_id: expected a text that is not empty")
        self._path = Path(path)
        self._id = session_id
        self._path.touch(mode=0o600)
        with self._opened() as database:
            database.execute(
                "CREATE TABLE IF NOT EXISTS sessions (id TEXT PRIMARY KEY, version INTEGER NOT NULL, "
                "messages TEXT NOT NULL, waiting TEXT)"
            )

    def load(self) -> Conversation:
        """Return the conversation as it was saved last; a new one is empty.

        Raises:
            SnapshotError: If it is damaged.
        """
        with self._opened() as database:
            found = database.execute(
                "SELECT messages, waiting, version FROM sessions WHERE id = ?", (self._id,)
            ).fetchone()
        if found is None:
            return Conversation()
        messages, waiting, version = found
        try:
            return Conversation(
                messages=load_messages(messages), version=version, **_read_waiting(waiting)
            )
        except (SnapshotError, TypeError, ValueError) as error:
            said = f"{self._path}: expected the session {self._id!r} as it was saved"
            raise SnapshotError("unreadable", said) from error

    def save(self, conversation: Conversation) -> Conversation:
        """Save a conversation and return it with its new version.

        Raises:
            SessionConflictError: If another run has saved it since it was loaded.
            SnapshotError: If a message holds what JSON cannot.
        """
        messages = dump_messages(conversation.messages)
        values = (messages, _write_waiting(conversation), self._id, conversation.version)
        with self._opened() as database:
            # The version is compared by the statement that writes, so no other can come in between.
            if conversation.version == 0:
                saved = database.execute(
                    "INSERT INTO sessions (messages, waiting, id, version) VALUES (?, ?, ?, ? + 1) "
                    "ON CONFLICT DO NOTHING",
                    values,
                )
            else:
                saved = database.execute(
                    "UPDATE sessions SET messages = ?, waiting = ?, version = version + 1 "
                    "WHERE id = ? AND version = ?",
                    values,
                )
            if saved.rowcount != 1:
                raise _conflict(conversation)
        return replace(conversation, version=conversation.version + 1)

    def delete(self) -> None:
        """Delete the conversation."""
        with self._opened() as database:
            database.execute("DELETE FROM sessions WHERE id = ?", (self._id,))

    @contextmanager
    def _opened(self) -> Generator[sqlite3.Connection]:
        # One connection for each call: it costs little beside a run, and belongs to no thread.
        try:
            with closing(sqlite3.connect(self._path, timeout=30)) as database, database:
                yield database
        except sqlite3.Error as error:
            raise type(error)(f"{self._path}: {error}") from error


def _conflict(conversation: Conversation) -> SessionConflictError:
    return SessionConflictError(
        f"session: expected version {conversation.version}, but another run has changed it since"
    )


# What waits and what was given out exclude each other, and share a column: what was given out has no snapshot.
def _write_waiting(conversation: Conversation) -> str | None:
    if conversation.waiting is None and not conversation.given_out:
        return None
    asked = conversation.waiting or AskApproval(round=0, calls=conversation.given_out)
    return json.dumps([asked.round, dump_messages(asked.calls), asked.snapshot])


def _read_waiting(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    number, calls, snapshot = json.loads(text)
    read = load_messages(calls)
    if snapshot is None:
        return {"given_out": read}
    return {"waiting": AskApproval(round=number, calls=read, snapshot=snapshot)}
