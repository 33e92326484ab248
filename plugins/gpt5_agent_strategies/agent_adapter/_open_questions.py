"""Open questions: calls that a person has to approve. The run waits in Dify's storage until the person's next message, which decides.

Its keys are derived from app, conversation and user (`_storage_scope`). `_claims` explains how one answer, and no other, takes a question.
"""

import hashlib
import hmac
import json
import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from agent_loop import AskApproval, Decision
from agent_tooling import ApprovalRules, DeclarationError, changed_tool_text

from ._approval_words import (
    CODE_LETTERS,
    Reply,
    ask_for_code,
    build_question,
    describe_changed,
    read_reply,
)
from ._claims import StoredQuestion
from ._parameters import APPROVAL_RULES, refuse_rules
from ._storage_scope import StorageScope
from ._turn import Turn


_MAX_BYTES = 2_600_000  # The daemon takes 5 MiB in a line, in which a byte takes two letters.


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldCall:
    """A call that somebody was asked about.

    Attributes:
        call_id: Its id.
        tool: The name by which the model calls the tool.
        seal: A digest that tells whether the tool is still the same; see `OpenQuestions`.
    """

    call_id: str
    tool: str
    seal: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question, as it is stored with its run.

    Attributes:
        code: The code that distinguishes it from others.
        calls: The calls.
        query: The person's message that led to it.
        text: The text that the person has read.
        files: The files that were at hand.
        asked_at: When it was asked, in seconds since 1970.
        expires_at: Until when it may be answered.
        begins_at: The index of the message that led to the run, among the run's own; 0 if it is not known.
        earlier: How many messages of the history belong to the run before this question.
    """

    code: str
    calls: tuple[HeldCall, ...]
    query: str
    text: str
    files: Sequence[Mapping[str, Any]]
    asked_at: float
    expires_at: float
    begins_at: int = 0
    earlier: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class UserAnswer:
    """A person's answer to a question of an earlier turn.

    Attributes:
        question: The question.
        snapshot: The run that has asked.
        reply: The person's reply.
        decisions: The decision about each call, by its id; empty if the question has to be asked again.
        changed: The tools, by Dify's names, whose calls are not made because they were changed.
    """

    question: Question
    snapshot: str
    reply: Reply
    decisions: Mapping[str, Decision]
    changed: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """The text that the person reads first: the question again if a yes lacked its code, the tools that were changed, or nothing."""
        question = self.question
        if not self.decisions:
            return ask_for_code(question.text, code=question.code, query=question.query)
        return f"{describe_changed(self.changed, query=question.query)}\n\n" if self.changed else ""


class OpenQuestions:
    """The questions of one node in one conversation with one user, of which at most one is open.

    Each call is stored with a seal: an HMAC of the tool's identity in Dify, its parameters, and the values that it gets
    without the model. If the seal is different when the person says yes, the call is not made.

    Args:
        turn: The turn.
        rules: The node's rules.

    Attributes:
        rules: The rules, with the names by which the model calls the tools.
        user: The user who is asked, and alone can answer.
        key: The key that snapshots are signed with.
        lost: Why the open question is not taken up, if it is not.

    Raises:
        ParameterError: If a rule names no tool, or a path that its tool cannot have, or if there is no conversation, no
            user or no storage to ask with.
    """

    def __init__(self, turn: Turn, rules: ApprovalRules) -> None:
        self._turn = turn
        self._toolbox = toolbox = turn.toolbox
        own_names = {name: [own] for name, own in toolbox.own_names.items()}
        schemas = {name: tool.parameters for name, tool in toolbox.tools.items()}
        try:
            self.rules = rules.for_tools(own_names, schemas)
        except DeclarationError as error:
            raise refuse_rules(str(error)) from None
        self.user = turn.strategy.runtime.user_id or ""
        self.lost: tuple[str, ...] = ()
        session = turn.session
        if not (session.conversation_id and self.user):
            missing = "user" if session.conversation_id else "conversation"
            problem = f"this run belongs to no {missing}, in which somebody could answer"
            raise refuse_rules(f"{APPROVAL_RULES} cannot be kept: {problem}; use it in a chatflow")
        self._scope = StorageScope.of(turn, rules=self.rules.text)
        self._stored = StoredQuestion(session.storage, f"approval-{self._scope.digest}")
        self.key = self._scope.key

    def take(self) -> UserAnswer | None:
        """Take the open question out of the storage, and return the person's answer to it; None if there is no question.

        It is deleted before anything follows from it. If the conversation has continued without it, it is dropped; if it
        has to be asked again, it stays.

        Raises:
            ParameterError: If the storage cannot be used.
        """
        try:
            stored = self._stored.read()
            return None if stored is None else self._take(stored)
        except Exception as error:  # noqa: BLE001 - the SDK raises what it likes
            reason = " ".join(str(error).split())[:300]
            needed = "it needs Dify's storage (the plugin's permission `storage`)"
            raise refuse_rules(
                f"{APPROVAL_RULES} cannot be kept: {needed}, which has failed: {reason}"
            ) from None

    def _take(self, stored: bytes) -> UserAnswer | None:
        parameters = self._turn.parameters
        reply, history = read_reply(parameters.query), parameters.model.history
        question: Question | None = None
        try:
            question, snapshot = self._unpack(stored)
            _check(question, reply, history)
        except _LostError as error:
            # A question that cannot be read has no code, so no other answer can be taking it.
            if question is None:
                self._stored.clear()
            else:
                self._stored.forget(question.code)
            self.lost = (str(error),)
            return None
        answer = UserAnswer(question=question, snapshot=snapshot, reply=reply, decisions={})
        # Without a memory nobody can tell whether a bare yes directly follows this question.
        is_yes = reply.word == "yes"
        is_approved = is_yes and reply.code in ({"", question.code} if history else {question.code})
        if is_yes and not (is_approved or history):
            return answer
        if not self._stored.take(question.code):
            self.lost = ("another message has answered it already",)
            return None
        return self._approve(answer) if is_approved else self._deny(answer)

    def _approve(self, answer: UserAnswer) -> UserAnswer:
        """Return an answer that approves all calls except those of tools that were changed."""
        decisions: dict[str, Decision] = {}
        changed: list[str] = []
        for call in answer.question.calls:
            seal = self._seal(answer.question.code, call.call_id, call.tool)
            is_same = hmac.compare_digest(call.seal, seal)
            decisions[call.call_id] = Decision(
                call_id=call.call_id,
                is_approved=is_same,
                by=self.user,
                refusal=None if is_same else changed_tool_text(call.tool),
            )
            changed += [] if is_same else [self._toolbox.shown_names[call.tool]]
        return replace(answer, decisions=decisions, changed=tuple(dict.fromkeys(changed)))

    def _deny(self, answer: UserAnswer) -> UserAnswer:
        reason = None if answer.reply.word == "no" else answer.reply.text
        denial = Decision(call_id="", is_approved=False, reason=reason, by=self.user)
        ids = [call.call_id for call in answer.question.calls]
        return replace(answer, decisions={name: replace(denial, call_id=name) for name in ids})

    def put(self, asked: AskApproval, *, begins_at: int, earlier: int) -> Question | str:
        """Store a question with the person's message and the files at hand, and return it, or the reason why it cannot be asked.

        As many of the files' bytes are kept as there is room for: all, or those that the calls name, or none.
        """
        question = replace(self._build(asked), begins_at=begins_at, earlier=earlier)
        at_hand = self._turn.at_hand
        named = json.dumps([_read(call.arguments) for call in asked.calls], ensure_ascii=False)
        for names in (list(at_hand), [name for name in at_hand if name in named], []):
            data = self._pack(question, asked.snapshot or "", at_hand.save(with_data_of=names))
            # Without its bytes a file is still handed over by its link, while that works.
            if len(data) <= _MAX_BYTES:
                break
        else:
            return f"nobody could be asked: the run has {len(data):,} bytes, and Dify's storage takes {_MAX_BYTES:,}"
        try:
            self._stored.put(data)
        except Exception:  # noqa: BLE001 - the SDK raises what it likes
            return "nobody could be asked: Dify's storage has failed"
        return question

    def _build(self, asked: AskApproval) -> Question:
        code = hashlib.sha256((asked.snapshot or "").encode()).hexdigest()[:CODE_LETTERS]
        now = time.time()
        query, redact = self._turn.parameters.query, self._turn.known.redact
        shown = [replace(call, arguments=redact(call.arguments)) for call in asked.calls]
        text = build_question(shown, names=self._toolbox.shown_names, code=code, query=query)
        return Question(
            code=code,
            calls=tuple(
                HeldCall(call_id=c.call_id, tool=c.name, seal=self._seal(code, c.call_id, c.name))
                for c in asked.calls
            ),
            query=query.strip(),
            text=redact(text),
            files=(),
            asked_at=now,
            expires_at=now + self._turn.settings.approval_seconds,
        )

    def _seal(self, code: str, call_id: str, tool: str) -> str:
        return self._sign([code, call_id, tool, self._toolbox.fixed[tool]])

    def _pack(self, question: Question, snapshot: str, files: list[dict[str, Any]]) -> bytes:
        for file in files:  # Bytes that the model has seen are in the snapshot already.
            if file["data"] and (start := snapshot.find(file["data"])) >= 0:
                file["data"] = [start, start + len(file["data"])]
        # Signed as it will be read: JSON turns tuples into lists, and other objects into text.
        fields = json.loads(json.dumps({**asdict(question), "files": files}, default=str))
        stored = {"question": fields, "snapshot": snapshot, "signature": self._sign(fields)}
        return zlib.compress(json.dumps(stored).encode())

    def _unpack(self, stored: bytes) -> tuple[Question, str]:
        """Return a question and the run that has asked it, which is signed by itself.

        Raises:
            _LostError: If they cannot be read, or were changed.
        """
        try:
            found = json.loads(zlib.decompress(stored))
            fields, snapshot = found["question"], str(found["snapshot"])
            if not hmac.compare_digest(self._sign(fields), str(found["signature"])):
                raise _LostError("what lay in Dify's storage was changed since")
            for file in fields["files"]:
                if isinstance(file["data"], list):
                    file["data"] = snapshot[slice(*file["data"])]
            fields["calls"] = tuple(HeldCall(**call) for call in fields["calls"])
            return Question(**fields), snapshot
        except (ValueError, KeyError, TypeError, zlib.error):
            raise _LostError("what lay in Dify's storage cannot be read") from None

    def _sign(self, value: object) -> str:
        return self._scope.sign(json.dumps(value, sort_keys=True, default=str).encode()).hex()


class _LostError(Exception):
    """The reason why a question is not taken up."""


def _check(question: Question, reply: Reply, history: Sequence[Any]) -> None:
    """Raise an error if a message cannot answer a question: because other messages came in between, or because it has expired.

    If the node remembers nothing, the message must differ from the one that led to the question: an equal one may be
    the same turn, made again or by another node with these settings, and a yes to one call is not a yes to the next.

    Raises:
        _LostError: If it cannot.
    """
    if (late := time.time() - question.expires_at) >= 0:
        raise _LostError(f"it expired {late:.0f} seconds ago")
    # A message directly follows the question if the question ends its history.
    is_asked = (
        question.code in json.dumps(history[-1], default=str)
        if history
        else reply.text != question.query
    )
    if not is_asked:
        raise _LostError("the conversation has gone on without an answer to it")


def _read(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
