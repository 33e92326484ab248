"""Calls that a person has to approve: the rules of the node, what lies in Dify's storage while the person decides, and how their answer is read.

The storage is the plugin's own in the workspace: any app and user of it shares it, so that what lies there is named by app, conversation and user. It has no
compare-and-set: two answers at the same moment may both be taken.
"""

import hashlib
import hmac
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from dify_plugin.interfaces.agent import AgentStrategy

from agent_loop import AskApproval, Decision
from agent_tooling import ApprovalRules, DeclarationError

from ._approval_rules import FIELD, refuse
from ._approval_words import build_question, is_no, is_yes
from ._files_at_hand import FilesAtHand
from ._parameters import Parameters


_MAX_BYTES = 2_600_000  # The daemon takes 5 MiB in a line, in which each byte is two letters.


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a person has answered to a question of an earlier turn.

    Attributes:
        snapshot: The run that has asked.
        decisions: What they have decided, by the ids of the calls.
        files: The files that were at hand then.
    """

    snapshot: str
    decisions: Mapping[str, Decision]
    files: Sequence[Mapping[str, Any]]


class Approvals:
    """The questions of one node in one conversation with one user, of which one at most is open.

    Args:
        strategy: The strategy that is called.
        rules: The rules, by the names that the model calls the tools by.
        scope: What tells this node, conversation and user from others.
        secret: What snapshots are signed with, where the administrator has set it.

    Attributes:
        rules: As given.
        key: What snapshots are signed with.
        lost: Why the question that was open is not taken up, where it is not.
    """

    def __init__(
        self, strategy: AgentStrategy, rules: ApprovalRules, scope: str, secret: str
    ) -> None:
        self.rules = rules
        self.lost: tuple[str, ...] = ()
        self._storage = strategy.session.storage
        digest = hashlib.sha256(scope.encode(errors="replace"))
        self._name = f"approval-{digest.hexdigest()}"
        # Without a secret this finds damage, and what belongs to another conversation; whoever can write the storage can sign as well.
        self.key = hashlib.sha256(f"{secret}|{scope}".encode(errors="replace")).digest()

    @classmethod
    def open(
        cls,
        strategy: AgentStrategy,
        parameters: Parameters,
        own_names: Mapping[str, str],
        *,
        secret: str,
    ) -> Self | None:
        """Return what asks for this run; None where the node has no rules.

        Args:
            strategy: The strategy that is called.
            parameters: What the node has set.
            own_names: The tool's own name, by the name by which the model calls it.
            secret: What the administrator has set to sign with; may be empty.

        Raises:
            ParameterError: If a rule names no tool, or there is no conversation, no user or no storage to ask with.
        """
        if parameters.approval_rules is None:
            return None
        try:
            rules = parameters.approval_rules.for_tools({n: [own] for n, own in own_names.items()})
        except DeclarationError as error:
            raise refuse(str(error)) from None
        session, user = strategy.session, strategy.runtime.user_id
        if not (session.conversation_id and user):
            missing = "user" if session.conversation_id else "conversation"
            problem = f"this run belongs to no {missing}, in which somebody could answer"
            raise refuse(f"{FIELD} cannot be kept: {problem}; use it in a chatflow")
        place = [session.app_id, session.conversation_id, user, parameters.model.full_name]
        return cls(strategy, rules, json.dumps([*place, rules.text, [*own_names]]), secret)

    def take(self, parameters: Parameters) -> Answer | None:
        """Take the question that is open out of the storage, with what the person has said to it; None where none is.

        It is deleted before anything follows from it. Where the conversation has gone on without it, it is forgotten.

        Raises:
            ParameterError: If the storage cannot be used.
        """
        try:
            if not self._storage.exist(self._name):
                return None
            stored = self._storage.get(self._name)
            self._storage.delete(self._name)
        except Exception as error:  # noqa: BLE001 - the SDK raises what it likes
            told = " ".join(str(error).split())[:300]
            needed = "it needs Dify's storage (the plugin's permission `storage`)"
            raise refuse(f"{FIELD} cannot be kept: {needed}, which has failed: {told}") from None
        try:
            found = json.loads(zlib.decompress(stored))
            code, snapshot, ids = str(found["code"]), str(found["snapshot"]), list(found["calls"])
            led_to_it = str(found["query"])
            files = list(found["files"])
            is_genuine = hmac.compare_digest(self._sign(files), str(found["files_code"]))
            for file in files:
                if isinstance(file["data"], list):
                    file["data"] = snapshot[slice(*file["data"])]
        except (ValueError, KeyError, TypeError, zlib.error):
            self.lost = ("what lay in Dify's storage cannot be read",)
            return None
        if not is_genuine:
            self.lost = ("the files that were at hand were changed since",)
            return None
        said = parameters.query.strip()
        if not _has_been_asked(parameters.model.history, code, is_new=said != led_to_it):
            self.lost = ("the conversation has gone on without an answer to it",)
            return None
        reason = None if is_no(said) else said
        decided = is_yes(said)
        return Answer(
            snapshot=snapshot,
            files=files,
            decisions={
                call_id: Decision(
                    call_id=call_id, is_approved=decided, reason=None if decided else reason
                )
                for call_id in map(str, ids)
            },
        )

    def put(self, asked: AskApproval, query: str, at_hand: FilesAtHand) -> str | None:
        """Put a question into the storage, with what the person had written and the files at hand; return why it cannot be asked, or None.

        Of the files' bytes as many are kept as there is room for: all, or those that the calls name, or none.
        """
        named = json.dumps([_read(call.arguments) for call in asked.calls], ensure_ascii=False)
        for names in (list(at_hand), [name for name in at_hand if name in named], []):
            data = self._pack(asked, query, at_hand.save(with_data_of=names))
            if len(data) <= _MAX_BYTES:
                break
        else:
            return f"nobody could be asked: the run has {len(data):,} bytes, and Dify's storage takes {_MAX_BYTES:,}"
        try:
            self._storage.set(self._name, data)
        except Exception:  # noqa: BLE001 - the SDK raises what it likes
            return "nobody could be asked: Dify's storage has failed"
        return None

    def _pack(self, asked: AskApproval, query: str, files: list[dict[str, Any]]) -> bytes:
        snapshot = asked.snapshot or ""
        for file in files:  # What the model has seen of them is there already.
            if file["data"] and (start := snapshot.find(file["data"])) >= 0:
                file["data"] = [start, start + len(file["data"])]
        files = json.loads(json.dumps(files, default=str))
        stored = {
            "code": _code(asked),
            "calls": [call.call_id for call in asked.calls],
            "snapshot": snapshot,
            "query": query.strip(),
            "files": files,
            "files_code": self._sign(files),
        }
        return zlib.compress(json.dumps(stored).encode())

    def _sign(self, files: object) -> str:
        """Return what tells whether these are the files that were put there; the snapshot is signed by itself."""
        return hmac.new(self.key, json.dumps(files).encode(), hashlib.sha256).hexdigest()

    @staticmethod
    def tell(asked: AskApproval, query: str) -> str:
        """Return the question as the person reads it."""
        return build_question(asked.calls, code=_code(asked), query=query)


def _code(asked: AskApproval) -> str:
    """Return what tells a question from others: eight letters and digits of its snapshot's signature."""
    return hashlib.sha256((asked.snapshot or "").encode()).hexdigest()[:8]


def _read(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments


def _has_been_asked(history: tuple[Any, ...], code: str, *, is_new: bool) -> bool:
    """Return whether the last thing that was said is the question.

    Where the node remembers nothing, the words have to be others than those that led to the question: the same ones may be the same turn, made once
    more or by another node of these settings, and somebody who said yes to one call has not said it to the next.
    """
    if not history:
        return is_new
    return code in json.dumps(history[-1], default=str)
