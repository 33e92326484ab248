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

from agent_loop import AskApproval, SnapshotError, dump_messages, load_messages


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
    """

    messages: tuple[Any, ...] = ()
    waiting: AskApproval | None = None
    version: int = 0


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
    """Session in a SQLite file, which any number of processes may use; the file is made where there is none, with the mode 0600, for it holds what was said.

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
                messages=load_messages(messages), waiting=_read_waiting(waiting), version=version
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
        values = (messages, _write_waiting(conversation.waiting), self._id, conversation.version)
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


def _write_waiting(asked: AskApproval | None) -> str | None:
    if asked is None:
        return None
    return json.dumps([asked.round, dump_messages(asked.calls), asked.snapshot])


def _read_waiting(text: str | None) -> AskApproval | None:
    if text is None:
        return None
    number, calls, snapshot = json.loads(text)
    return AskApproval(round=number, calls=load_messages(calls), snapshot=snapshot)
