"""What OpenAI is told about who asks, and which calls belong together: digests, never the ids themselves."""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from dify_plugin import get_current_session


_INSTRUCTION_ROLES = ("system", "developer")


def safety_identifier(user: str | None) -> str | None:
    """Return a stable digest of the user: 64 hexadecimal digits, or None without a user."""
    return hashlib.sha256(user.encode()).hexdigest() if user else None


def prompt_cache_key(items: Iterable[Mapping[str, Any]], tool_names: Iterable[str]) -> str:
    """Return one key for all calls that begin alike: same app, same instruction, same tools. 32 hexadecimal digits.

    A key for each user would send the users of one app to different caches although they share its long beginning.
    """
    session = get_current_session()
    parts = [(session.app_id if session else None) or ""]
    for item in items:
        if item.get("role") not in _INSTRUCTION_ROLES:
            break
        parts.append(str(item.get("content")))
    return hashlib.sha256("\0".join([*parts, *tool_names]).encode()).hexdigest()[:32]
