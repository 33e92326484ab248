"""Encryption of the content of runs."""

import hashlib
import hmac

import sqlalchemy as sa
from cryptography.fernet import Fernet, InvalidToken
from sqlalchemy.dialects.postgresql import insert

from .errors import StorageError
from .schema import encryption_keys


PLAIN = "plain"
_ID_LENGTH = 8
_PLAIN_MARK = b"plain\0\0\0"
_MISSING_KEY = "storage_keys: expected the key that the database was written with"
_PROBE = b"agent-server"  # Encrypted under each key, so that a missing one is noticed before anything is done.


class Encryption:
    """The encryption of content before it is stored, with keys that can be changed.

    What is stored begins with the id of its key, so that what an old key has encrypted can be found. Without keys content is stored as it is.

    Attributes:
        key_id: The id of the key that encrypts.
        key_ids: The ids of all keys that can decrypt.
    """

    def __init__(self, keys: str = "") -> None:
        """Read the keys.

        Args:
            keys: Fernet keys with commas between. The first encrypts, each decrypts what it has encrypted.
        """
        texts = [text.strip() for text in keys.split(",") if text.strip()]
        self._fernets = {_key_id(text): Fernet(text) for text in texts}
        self._keys = {PLAIN: b""} | {_key_id(text): text.encode() for text in texts}
        self.key_id = next(iter(self._fernets), PLAIN)
        self.key_ids = (PLAIN, *self._fernets)
        self._mark = key_mark(self.key_id)

    def encrypt(self, content: bytes) -> bytes:
        """Return content as it is stored."""
        fernet = self._fernets.get(self.key_id)
        return self._mark + (fernet.encrypt(content) if fernet else content)

    def decrypt(self, stored: bytes) -> bytes:
        """Return the content of what is stored.

        Raises:
            StorageError: If its key is not here, or it is not as it was written.
        """
        mark, text = stored[:_ID_LENGTH], stored[_ID_LENGTH:]
        if mark == _PLAIN_MARK:
            return text
        try:
            return self._fernets[mark.decode("ascii", "replace")].decrypt(text)
        except (KeyError, InvalidToken):
            raise StorageError(_MISSING_KEY) from None

    def digest(self, content: str) -> str:
        """Return a digest of content by which it is recognised; without the key it says nothing of it."""
        return self._digest(content, self.key_id)

    def is_of(self, digest: str, content: str) -> bool:
        """Return whether a digest is of this content; yes where its key was taken away, for then nobody can tell."""
        key_id, _, _ = digest.partition(":")
        return key_id not in self._keys or hmac.compare_digest(
            self._digest(content, key_id), digest
        )

    def _digest(self, content: str, key_id: str) -> str:
        return f"{key_id}:{hmac.digest(self._keys[key_id], content.encode(), 'sha256').hex()}"


def key_mark(key_id: str) -> bytes:
    """Return the bytes before everything that a key has encrypted."""
    return _PLAIN_MARK if key_id == PLAIN else key_id.encode()


def _key_id(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:_ID_LENGTH]


def check_keys(connection: sa.Connection, encryption: Encryption) -> None:
    """Return if all that is stored can be decrypted.

    Raises:
        StorageError: If a key is missing.
    """
    stored = connection.execute(sa.select(encryption_keys.c.key_id, encryption_keys.c.probe)).all()
    if encryption.key_id == PLAIN and any(row.key_id != PLAIN for row in stored):
        raise StorageError(_MISSING_KEY)
    for row in stored:
        encryption.decrypt(row.probe)


def enter_key(connection: sa.Connection, encryption: Encryption) -> None:
    """Record the key that encrypts, if it is new."""
    row = {"key_id": encryption.key_id, "probe": encryption.encrypt(_PROBE)}
    # Both dialects take this form.
    connection.execute(insert(encryption_keys).values(row).on_conflict_do_nothing())
