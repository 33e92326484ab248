"""The `encrypted_content` of reasoning: opaque tokens, and the check that one was made here and is unchanged.

A token holds the item's id and a keyed digest of it. The key depends on the API key of the request, as OpenAI's depends on the
organisation, so that a token of another customer is refused.
"""

import base64
import hashlib
import hmac


_VERSION = b"\x80"  # so that tokens begin with `g`, as recorded ones do
_DIGEST_BYTES = 32
_FILLER_BYTES = 160


def build_token(item_id: str, *, key: bytes) -> str:
    """Return the token of a reasoning item."""
    identity = item_id.encode()
    digest = hmac.digest(key, identity, "sha256")
    filler = hashlib.shake_256(digest).digest(_FILLER_BYTES)
    return base64.urlsafe_b64encode(_VERSION + digest + filler + identity).decode()


def begin_token(token: str) -> str:
    """Return the token as `output_item.added` has it: not yet whole, and useless in a replay."""
    return token[: len(token) * 2 // 3]


def is_genuine_token(token: str, *, item_id: str | None, key: bytes) -> bool:
    """Return whether a token was made with `key`, is unchanged, and belongs to `item_id` unless that is None."""
    try:
        raw = base64.urlsafe_b64decode(token.encode())
    except ValueError:
        return False
    identity = raw[len(_VERSION) + _DIGEST_BYTES + _FILLER_BYTES :].decode(errors="replace")
    genuine = hmac.compare_digest(build_token(identity, key=key).encode(), token.encode())
    return genuine and item_id in {None, identity}
