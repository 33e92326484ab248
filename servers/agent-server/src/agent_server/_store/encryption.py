"""Encryption of the content of runs."""

import hashlib
import hmac
import io
from typing import Any

import sqlalchemy as sa
from cryptography.fernet import Fernet, InvalidToken
from sqlalchemy.dialects.postgresql import insert

from stream_text import iter_json

from .errors import StorageError
from .schema import encryption_keys


PLAIN = "plain"
_ID_LENGTH = 8
# As long as the id of a key.
_PLAIN_MARK = b"plain\0\0\0"
_MISSING_KEY = "storage_keys: expected the key that the database was written with"
_PROBE = b"agent-server"  # Stored encrypted with each key, to notice a missing key at the start.


class Encryption:
    """The encryption of stored content, with keys that can be rotated.

    Stored content begins with the id of its key, so that content encrypted with an old key can be found. Without keys, content is stored unencrypted.

    Attributes:
        key_id: The id of the key that encrypts.
        key_ids: The ids of all keys that can decrypt.
    """

    def __init__(self, keys: str = "") -> None:
        """Read the keys.

        Args:
            keys: Fernet keys, separated by commas. The first encrypts, all can decrypt.
        """
        texts = [text.strip() for text in keys.split(",") if text.strip()]
        self._fernets = {_key_id(text): Fernet(text) for text in texts}
        self._keys = {PLAIN: b""} | {_key_id(text): text.encode() for text in texts}
        self.key_id = next(iter(self._fernets), PLAIN)
        self.key_ids = (PLAIN, *self._fernets)
        self._mark = key_mark(self.key_id)

    def encrypt(self, content: bytes) -> bytes:
        """Return content in its stored form."""
        fernet = self._fernets.get(self.key_id)
        return self._mark + (fernet.encrypt(content) if fernet else content)

    def encrypt_json(self, value: Any) -> bytes:
        """Return a value as JSON in its stored form; of a large one there is no copy meanwhile, unless a key encrypts it."""
        text = io.BytesIO()
        text.write(b"" if self._fernets else self._mark)
        text.writelines(one.encode() for one in iter_json(value))
        return self.encrypt(text.getvalue()) if self._fernets else text.getvalue()

    def decrypt(self, stored: bytes) -> bytes:
        """Return the content of its stored form.

        Raises:
            StorageError: If its key is missing, or it was changed.
        """
        mark, text = stored[:_ID_LENGTH], stored[_ID_LENGTH:]
        if mark == _PLAIN_MARK:
            return text
        try:
            return self._fernets[mark.decode("ascii", "replace")].decrypt(text)
        except (KeyError, InvalidToken):
            raise StorageError(_MISSING_KEY) from None

    def digest(self, content: str) -> str:
        """Return a digest that identifies content, but reveals nothing about it without the key."""
        return self._digest(content, self.key_id)

    def name(self, content: bytes) -> str:
        """Return 64 hexadecimal digits that name content, the same under the same key, and reveal nothing about it without the key."""
        return hmac.digest(self._keys[self.key_id], content, "sha256").hex()

    def is_of(self, digest: str, content: str) -> bool:
        """Return whether a digest is of this content; True if its key was removed, because then nobody can tell."""
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
    """Check that everything stored can be decrypted.

    Raises:
        StorageError: If a key is missing.
    """
    stored = connection.execute(sa.select(encryption_keys.c.key_id, encryption_keys.c.probe)).all()
    if encryption.key_id == PLAIN and any(row.key_id != PLAIN for row in stored):
        raise StorageError(_MISSING_KEY)
    for row in stored:
        encryption.decrypt(row.probe)


def enter_key(connection: sa.Connection, encryption: Encryption) -> None:
    """Record the current key, if it is new."""
    row = {"key_id": encryption.key_id, "probe": encryption.encrypt(_PROBE)}
    # SQLite takes this form, too.
    connection.execute(insert(encryption_keys).values(row).on_conflict_do_nothing())
