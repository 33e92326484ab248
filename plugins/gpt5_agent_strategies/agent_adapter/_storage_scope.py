"""Whose a value in Dify's storage is.

The storage belongs to the plugin in the workspace, and is shared by all apps, conversations, users and nodes.
"""

import hashlib
import hmac
import json
from dataclasses import dataclass, field
from typing import Self

from ._turn import Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageScope:
    """One node in one conversation with one user, as far as a strategy can tell: app, conversation, user, model, approval rules and tools.

    Attributes:
        digest: What distinguishes it from others, 64 letters.
        key: The key that its values are signed with.
    """

    digest: str
    key: bytes = field(repr=False)

    @classmethod
    def of(cls, turn: Turn, *, rules: str) -> Self:
        """Return the scope of a turn; `rules` are the node's approval rules, as text."""
        session, user = turn.session, turn.strategy.runtime.user_id or ""
        place = [session.app_id, session.conversation_id, user, turn.parameters.model.full_name]
        scope = json.dumps([*place, rules, [*turn.toolbox.own_names]])
        # Without a secret a signature finds only damage and values of other conversations: anybody who can
        # write to the storage could sign as well.
        secret = turn.settings.snapshot_secret
        return cls(
            digest=hashlib.sha256(scope.encode(errors="replace")).hexdigest(),
            key=hashlib.sha256(f"{secret}|{scope}".encode(errors="replace")).digest(),
        )

    def sign(self, data: bytes) -> bytes:
        """Return the signature of a value, 32 bytes."""
        return hmac.digest(self.key, data, "sha256")
