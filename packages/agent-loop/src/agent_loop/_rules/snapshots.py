"""Snapshots: the state of a run in a signed envelope with a version and an expiry.

No clock is read here. What is signed is canonical JSON, so that a store may write it in its own way.
"""

import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any, Final

from agent_loop._values.errors import InvalidSettingError, SnapshotError
from stream_text import InvalidJsonError, is_object, parse_json


VERSION: Final = 3
"""The version of the format: the names and meanings of all fields of `RunState`.

Version 1 was the format before `RunState` was one value, version 2 that before agents could wait.
"""

_FORMAT: Final = "agent-run-snapshot"
_KEYS: Final = {"format", "version", "expires_at", "key_id", "state", "signature"}
_LEAST_KEY_BYTES: Final = 16  # 128 bits: less could be guessed offline from one snapshot.
_MAX_DEPTH: Final = 400  # As deep as a model and its tools may nest, plus the envelope.


def seal(state: Mapping[str, Any], *, key: bytes, expires_at: float) -> str:
    """Return a state as a signed snapshot.

    Raises:
        InvalidSettingError: If the key has under 16 bytes.
        SnapshotError: If the state cannot be written as JSON.
    """
    validate_snapshot_key(key)
    envelope = {
        "format": _FORMAT,
        "version": VERSION,
        "expires_at": expires_at,
        "key_id": _key_id(key),
        "state": state,
    }
    try:
        envelope["signature"] = _sign(envelope, key)
        return json.dumps(envelope, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise SnapshotError("not_plain", f"snapshot: cannot be written as JSON: {error}") from None


def unseal(snapshot: object, *, key: bytes, now: float) -> Mapping[str, Any]:
    """Return the state in a snapshot.

    Args:
        snapshot: The snapshot, as JSON text or decoded.
        key: The key that it was signed with.
        now: The time, in seconds since 1970.

    Raises:
        InvalidSettingError: If the key has under 16 bytes.
        SnapshotError: If it is not a snapshot, is of another version, was signed with another key, was changed since, or has expired.
    """
    validate_snapshot_key(key)
    envelope = _read(snapshot)
    version = envelope["version"]
    # The version comes first, because members may differ between versions. The key comes before the
    # signature, so that a change of keys is not reported as forgery; the expiry comes last, because it
    # means nothing until the signature has shown that nobody moved it.
    if isinstance(version, int) and version > VERSION:
        problem = f"{version} is of a later release; this one reads {VERSION}"
        raise SnapshotError("newer", f"snapshot.version: {problem}")
    if isinstance(version, int) and 0 < version < VERSION:
        problem = (
            f"{version} is of an earlier release; whatever its run has asked has to be asked again"
        )
        raise SnapshotError("older", f"snapshot.version: {problem}")
    if envelope.keys() != _KEYS or version != VERSION:
        raise SnapshotError(
            "unreadable", f"snapshot: expected version {VERSION} with {', '.join(sorted(_KEYS))}"
        )
    if envelope["key_id"] != _key_id(key):
        raise SnapshotError("foreign", "snapshot.key_id: it was signed with another key")
    signature = envelope.pop("signature")
    try:
        is_genuine = hmac.compare_digest(_sign(envelope, key), signature)
    # A signature that is not ASCII text or, in a decoded snapshot, a state that JSON cannot write.
    except (TypeError, ValueError, RecursionError):
        is_genuine = False
    if not is_genuine:
        raise SnapshotError("tampered", "snapshot.signature: it was changed since it was signed")
    if now >= envelope["expires_at"]:
        late = now - envelope["expires_at"]
        raise SnapshotError("expired", f"snapshot.expires_at: it expired {late:.0f} seconds ago")
    return envelope["state"]


def digest(value: object) -> str:
    """Return a digest, which is the same for equal values."""
    # 128 bits: the snapshot is signed, so digests only have to tell honest changes apart.
    return hashlib.sha256(_canonical(value)).hexdigest()[:32]


def validate_snapshot_key(key: object) -> None:
    """Check that a value can be the key of snapshots.

    Raises:
        InvalidSettingError: If it is not bytes, or has under 16.
    """
    if not isinstance(key, bytes):
        raise InvalidSettingError("snapshot_key", "bytes", type(key))
    if len(key) < _LEAST_KEY_BYTES:
        raise InvalidSettingError(
            "snapshot_key", f"at least {_LEAST_KEY_BYTES} bytes long", len(key)
        )


def _read(snapshot: object) -> dict[str, Any]:
    value = snapshot
    if isinstance(snapshot, str):
        try:
            value = parse_json(snapshot, max_depth=_MAX_DEPTH)
        except InvalidJsonError as error:
            raise SnapshotError("unreadable", f"snapshot: expected JSON: {error}") from None
    if not is_object(value):
        raise SnapshotError(
            "unreadable", f"snapshot: expected a JSON object, got {type(value).__name__}"
        )
    envelope = dict(value)
    if envelope.get("format") != _FORMAT or "version" not in envelope:
        raise SnapshotError("unreadable", f"snapshot.format: expected {_FORMAT!r}")
    return envelope


def _sign(envelope: Mapping[str, Any], key: bytes) -> str:
    return hmac.new(key, _canonical(envelope), hashlib.sha256).hexdigest()


def _key_id(key: bytes) -> str:
    """Return an id of the key that does not reveal it."""
    return hmac.new(key, b"agent-run-snapshot key id", hashlib.sha256).hexdigest()[:16]


def _canonical(value: object) -> bytes:
    # A store, such as a JSON column of a database, may return the keys in another order.
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
