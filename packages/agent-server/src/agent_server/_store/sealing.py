"""The stored form of what belongs to a run: encrypted, where there are keys."""

import hashlib
import hmac

from cryptography.fernet import Fernet, InvalidToken

from .errors import StorageError


PLAIN = "plain"
_ID_LENGTH = 8
_PLAIN_MARK = b"plain\0\0\0"


class Seal:
    """A way to write content down and to read it again.

    Each text begins with the id of the key that it was sealed under, so that what an old key has sealed can be found. Without keys
    content is stored as it is.

    Attributes:
        key_id: Of the key that seals.
        key_ids: Of all that it can open.
    """

    def __init__(self, keys: str = "") -> None:
        """Take the keys.

        Args:
            keys: Fernet keys with commas between. The first seals, each opens what it has sealed.
        """
        texts = [text.strip() for text in keys.split(",") if text.strip()]
        self._fernets = {_key_id(text): Fernet(text) for text in texts}
        self._keys = {PLAIN: b""} | {_key_id(text): text.encode() for text in texts}
        self.key_id = next(iter(self._fernets), PLAIN)
        self.key_ids = (PLAIN, *self._fernets)
        self._mark = _mark(self.key_id)

    def close(self, content: bytes) -> bytes:
        """Return the content as it is stored."""
        fernet = self._fernets.get(self.key_id)
        return self._mark + (fernet.encrypt(content) if fernet else content)

    def open(self, stored: bytes) -> bytes:
        """Return the content of what is stored.

        Raises:
            StorageError: If it was sealed under a key that is not here, or is not as it was written.
        """
        mark, text = stored[:_ID_LENGTH], stored[_ID_LENGTH:]
        if mark == _PLAIN_MARK:
            return text
        try:
            return self._fernets[mark.decode("ascii", "replace")].decrypt(text)
        except (KeyError, InvalidToken):
            raise StorageError(
                "storage_keys: expected the key that the database was written with"
            ) from None

    def digest(self, content: str) -> str:
        """Return a digest by which content is told again; without the key it says nothing of it."""
        return self._digest(content, self.key_id)

    def is_of(self, digest: str, content: str) -> bool:
        """Return whether a digest is of this content; yes where its key was taken away, for then nobody can tell."""
        key_id, _, _ = digest.partition(":")
        return key_id not in self._keys or hmac.compare_digest(
            self._digest(content, key_id), digest
        )

    def _digest(self, content: str, key_id: str) -> str:
        return f"{key_id}:{hmac.digest(self._keys[key_id], content.encode(), 'sha256').hex()}"


def mark_of(key_id: str) -> bytes:
    """Return what stands before everything that was sealed under a key."""
    return _mark(key_id)


def _mark(key_id: str) -> bytes:
    return _PLAIN_MARK if key_id == PLAIN else key_id.encode()


def _key_id(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:_ID_LENGTH]
