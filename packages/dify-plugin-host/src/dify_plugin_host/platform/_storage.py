"""The key-value storage that Dify gives to plugins, kept in memory.

Source: `executeDifyInvocationStorageTask` of langgenius/dify-plugin-daemon at bdb5642a, read 2026-10.
"""

from dify_plugin_host._errors import BackwardsError
from dify_plugin_host._json import JsonObject


class Storage:
    """The stored values of one plugin.

    Args:
        size_bytes: How much may be stored in all; None for no limit.
    """

    def __init__(self, size_bytes: int | None = None) -> None:
        self._size = size_bytes
        self._values: dict[str, bytes] = {}

    def answer(self, request: JsonObject) -> JsonObject:
        """Carry out a storage request.

        Raises:
            BackwardsError: If it is malformed, asks for what is not there, or exceeds the limit.
        """
        key = str(request.get("key"))
        match request.get("opt"):
            case "get":
                return {"data": self._load(key).hex()}
            case "set":
                self._save(key, str(request.get("value")))
                return {"data": "ok"}
            case "del":
                return {"data": "ok", "deleted_num": int(self._values.pop(key, None) is not None)}
            case "exist":
                return {"data": key in self._values, "exist_num": int(key in self._values)}
            case other:
                raise BackwardsError(f"'opt': expected get, set, del or exist, got {other!r}")

    def _load(self, key: str) -> bytes:
        if key not in self._values:
            raise BackwardsError(
                "load data failed, please check if the key is correct or you have not set it"
            )
        return self._values[key]

    def _save(self, key: str, value: str) -> None:
        try:
            content = bytes.fromhex(value)
        except ValueError as error:
            raise BackwardsError(f"decode data failed: {error}") from None
        others = sum(len(stored) for name, stored in self._values.items() if name != key)
        if self._size is not None and others + len(content) > self._size:
            raise BackwardsError(
                "save data failed: allocated size is greater than max storage size"
            )
        self._values[key] = content
