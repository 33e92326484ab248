"""The key-value storage that Dify gives to plugins, kept in memory.

Source: `executeDifyInvocationStorageTask` and `internal/core/persistence` of langgenius/dify-plugin-daemon at bdb5642a, read 2026-11.
"""

import posixpath
import re

from dify_plugin_host._errors import BackwardsError
from dify_plugin_packager.json_access import JsonObject


_ROOT = "in-memory-storage"
_MOST_KEY_BYTES = 256
_NO_HEX = re.compile(rb"[^0-9A-Fa-f]")


class Storage:
    """The stored values of one plugin.

    Args:
        name: The name of the storage in errors.
        size_bytes: The most bytes in all; None for no limit.

    Attributes:
        values: The stored values, by key.
    """

    def __init__(self, name: str, size_bytes: int | None = None) -> None:
        self._folder = f"{_ROOT}/{name}"
        self._size = size_bytes
        self.values: dict[str, bytes] = {}
        self._loaded: set[str] = set()
        self._used = 0

    def answer(self, request: JsonObject) -> JsonObject:
        """Carry out a storage request.

        Raises:
            BackwardsError: If it is malformed, asks for a missing value, or exceeds the limit.
        """
        key = posixpath.normpath(str(request.get("key")))
        match request.get("opt"):
            case "get":
                return {"data": self._load(key).hex()}
            case "set":
                self._save(key, _decode_hex(str(request.get("value"))))
                return {"data": "ok"}
            case "del":
                return {"data": "ok", "deleted_num": self._delete(key)}
            case _:
                _validate_key(key, "exist data failed")
                return {"data": key in self.values, "exist_num": int(key in self.values)}

    def _load(self, key: str) -> bytes:
        if key not in self.values:
            raise BackwardsError(
                "load data failed, please check if the key is correct or you have not set it"
            )
        self._loaded.add(key)
        return self.values[key]

    def _save(self, key: str, content: bytes) -> None:
        _validate_key(key, "save data failed")
        if len(key.encode()) > _MOST_KEY_BYTES:
            problem = f"key length must be less than {_MOST_KEY_BYTES} characters"
            raise BackwardsError(f"save data failed: {problem}")
        growth = len(content) - len(self.values.get(key, b""))
        self.values[key] = content  # Before the size is checked, like the daemon.
        self._loaded.discard(key)
        if self._size is not None and self._used + growth > self._size:
            raise BackwardsError(
                "save data failed: allocated size is greater than max storage size"
            )
        self._used += growth

    def _delete(self, key: str) -> int:
        """Delete a value; return the number of its cached copies, of which a loaded value has one."""
        _validate_key(key, "delete data failed")
        if key not in self.values:
            path = f"{self._folder}/{key}"
            raise BackwardsError(f"delete data failed: stat {path}: no such file or directory")
        self._used -= len(self.values.pop(key))
        held = key in self._loaded
        self._loaded.discard(key)
        return int(held)


def _validate_key(key: str, failure: str) -> None:
    if ".." in key or "\\" in key:
        raise BackwardsError(f"{failure}: invalid key: path traversal attempt detected")


def _decode_hex(text: str) -> bytes:
    written = text.encode()
    if found := _NO_HEX.search(written):
        char = chr(found[0][0])
        shown = f" {char!r}" if char.isprintable() else ""
        problem = f"encoding/hex: invalid byte: U+{ord(char):04X}{shown}"
    elif len(written) % 2:
        problem = "encoding/hex: odd length hex string"
    else:
        return bytes.fromhex(text)
    raise BackwardsError(f"decode data failed: {problem}")
