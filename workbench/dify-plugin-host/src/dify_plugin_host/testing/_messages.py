"""The answers of a plugin, as tests look at them."""

import functools
import json
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, cast, overload, override

from dify_plugin_host._files.local_file import LocalFile, blob_file
from dify_plugin_host._platform.llm_chunks import content_messages
from dify_plugin_host._platform.variables import set_variable
from dify_plugin_host._process.session import CallBack
from dify_plugin_packager.json_access import JsonObject, is_object, object_at, objects_at
from stream_text import ToolCallMerger

from ._scripted_model import ToolCall


_LINKS = frozenset({"link", "image", "image_link", "binary_link"})
_SHOWN_CHARACTERS = 1_000


class _Objects(Sequence[JsonObject]):
    """Objects of a plugin, in the order in which they came; equal to a list of the same."""

    def __init__(self, objects: Iterable[JsonObject]) -> None:
        self._objects = tuple(objects)

    @overload
    def __getitem__(self, index: int) -> JsonObject: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[JsonObject]: ...
    @override
    def __getitem__(self, index: int | slice) -> JsonObject | Sequence[JsonObject]:
        return self._objects[index]

    @override
    def __len__(self) -> int:
        return len(self._objects)

    @override
    def __eq__(self, other: object) -> bool:
        # A snapshot compares itself.
        if not isinstance(other, list | tuple | _Objects):
            return NotImplemented
        return self._objects == tuple(cast("Iterable[object]", other))

    __hash__ = None  # pyright: ignore[reportAssignmentType] - as for a list

    @abstractmethod
    def _shown(self) -> dict[str, Any]:
        """Return the parts to show, by name; empty ones are left out."""

    @override
    def __repr__(self) -> str:
        parts = [f"{name}={_cut(repr(value))}" for name, value in self._shown().items() if value]
        return f"<{' '.join([type(self).__name__, f'of {len(self)}', *parts])}>"


def _cut(text: str) -> str:
    left = len(text) - _SHOWN_CHARACTERS
    return f"{text[:_SHOWN_CHARACTERS]}… ({left} more characters)" if left > 0 else text


class Messages(_Objects):
    """The messages of a tool or a strategy: a sequence of JSON objects with `type`, `message` and `meta`; blobs are whole.

    Attributes:
        calls_back: The plugin's calls back into Dify while it was called, in the order in which they began.
    """

    def __init__(self, messages: Iterable[JsonObject], calls_back: Sequence[CallBack] = ()) -> None:
        super().__init__(messages)
        self.calls_back = list(calls_back)

    @property
    def text(self) -> str:
        """All messages of type `text`, joined."""
        return "".join(str(one.get("text") or "") for one in self._of("text"))

    @property
    def json(self) -> list[Any]:
        """The values of all messages of type `json`."""
        return [one.get("json_object") for one in self._of("json")]

    @property
    def variables(self) -> dict[str, Any]:
        """The values of the variables, by name; one that is streamed is joined."""
        values: dict[str, Any] = {}
        for one in self._of("variable"):
            set_variable(values, one)
        return values

    @property
    def files(self) -> list[LocalFile]:
        """The files of all messages of type `blob`."""
        return [file for one in self if (file := blob_file(one))]

    @property
    def links(self) -> list[str]:
        """The links, to images and other files as well."""
        return [str(one.get("text")) for one in self._of(*_LINKS)]

    @property
    def logs(self) -> list[JsonObject]:
        """The last state of each log, in the order in which they began, with `label`, `status`, `data` and `error`."""
        last = {one.get("id"): one for one in self._of("log")}
        return list(last.values())

    def _of(self, *kinds: str) -> list[JsonObject]:
        return [object_at(one, "message") for one in self if one.get("type") in kinds]

    @override
    def _shown(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "json": self.json,
            "variables": self.variables,
            "files": self.files,
            "links": self.links,
            "logs": [f"{one.get('label')}: {one.get('status')}" for one in self.logs],
            "calls_back": [call.type for call in self.calls_back],
        }


class ModelAnswer(_Objects):
    """The answer of an LLM: a sequence of its chunks, as the daemon would hand them on."""

    @property
    def text(self) -> str:
        """Its text."""
        return self._contents.text

    @property
    def files(self) -> list[LocalFile]:
        """Its files, such as pictures."""
        return self._contents.files

    @functools.cached_property
    def tool_calls(self) -> list[ToolCall]:
        """Its calls of tools, merged from their pieces; arguments that are not a JSON object stay a text."""
        merger = ToolCallMerger()
        for delta in self._deltas:
            for call in objects_at(object_at(delta, "message"), "tool_calls"):
                function = object_at(call, "function")
                name, arguments = function.get("name") or "", function.get("arguments") or ""
                merger.add(call_id=call.get("id"), name=name, arguments=arguments)
        return [ToolCall(call.name, _parse(call.arguments), call.call_id) for call in merger.calls]

    @property
    def usage(self) -> JsonObject:
        """Its tokens and prices, such as `prompt_tokens`; empty if it has none."""
        found: JsonObject = {}
        for delta in self._deltas:
            found = object_at(delta, "usage") or found
        return found

    @property
    def finish_reason(self) -> str | None:
        """The reason why it ended, such as `"stop"`."""
        reasons = (delta.get("finish_reason") for delta in reversed(self._deltas))
        return next((reason for reason in reasons if reason), None)

    @property
    def _deltas(self) -> list[JsonObject]:
        return [object_at(chunk, "delta") for chunk in self]

    @functools.cached_property
    def _contents(self) -> Messages:
        return Messages(
            message
            for delta in self._deltas
            for message in content_messages(object_at(delta, "message").get("content"))
        )

    @override
    def _shown(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "tool_calls": self.tool_calls,
            "files": self.files,
            "finish_reason": self.finish_reason,
        }


def _parse(arguments: str) -> JsonObject | str:
    try:
        parsed: Any = json.loads(arguments)
    except ValueError:
        return arguments
    return parsed if is_object(parsed) else arguments
