"""The stored form of what belongs to a run: encrypted, where there is a key."""

import base64
import pickle
from typing import Any, Final, Protocol

from cryptography.fernet import Fernet, InvalidToken
from dbos import Serializer
from pydantic import SecretStr

from ._errors import StorageError


_PLAIN_PREFIX: Final = "plain:"
_WRONG_KEY: Final = "DIFY_AGENT_STORAGE_KEY: expected the key that the database was written with, or none if it was written without one"


class Seal(Protocol):
    """A way to turn bytes into text for a database, and back."""

    @property
    def name(self) -> str:
        """What is stored beside each text, to tell which seal made it."""
        ...

    def close(self, content: bytes) -> str:
        """Return the content as text."""
        ...

    def open(self, text: str) -> bytes:
        """Return the content of a text.

        Raises:
            StorageError: If the text was made with another seal or another key.
        """
        ...


class PlainSeal:
    """A seal that stores content as it is, in base64."""

    name = "dify-agent-plain"

    def close(self, content: bytes) -> str:
        """Return the content as text."""
        return _PLAIN_PREFIX + base64.b64encode(content).decode()

    def open(self, text: str) -> bytes:
        """Return the content of a text."""
        if not text.startswith(_PLAIN_PREFIX):
            raise StorageError(_WRONG_KEY)
        return base64.b64decode(text.removeprefix(_PLAIN_PREFIX))


class FernetSeal:
    """A seal that encrypts content, so that nobody without the key can read or forge it."""

    name = "dify-agent-fernet"

    def __init__(self, key: SecretStr) -> None:
        self._fernet = Fernet(key.get_secret_value())

    def close(self, content: bytes) -> str:
        """Return the content as encrypted text."""
        return self._fernet.encrypt(content).decode()

    def open(self, text: str) -> bytes:
        """Return the content of an encrypted text."""
        try:
            return self._fernet.decrypt(text)
        except InvalidToken as error:
            raise StorageError(_WRONG_KEY) from error


def build_seal(key: SecretStr | None) -> Seal:
    """Return the seal for a key, or the plain one for none."""
    return PlainSeal() if key is None else FernetSeal(key)


class SealedSerializer(Serializer):
    """The form in which DBOS stores arguments, results, errors and streams: pickled, and sealed.

    Pickle is what DBOS itself uses. It lets whoever can write to the database run code here, which a key prevents:
    unsealing fails before anything is unpickled. Unlike DBOS's serializer, this one never logs what it could not pickle.
    """

    def __init__(self, seal: Seal) -> None:
        self._seal = seal

    def name(self) -> str:
        """Return what DBOS stores beside each value; it refuses values under another name."""
        return self._seal.name

    def serialize(self, data: Any) -> str:
        """Return the data as sealed text."""
        return self._seal.close(pickle.dumps(data))

    def deserialize(self, serialized_data: str) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride] - names `self` `cls`
        """Return the data of a sealed text."""
        return pickle.loads(self._seal.open(serialized_data))  # noqa: S301 - see the class docstring
