"""A Python function as a tool that Dify could offer: its declaration and its call."""

import asyncio
import base64
import inspect
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json, to_json

from dify_plugin_host._errors import BackwardsError
from dify_plugin_host._files.local_file import LocalFile, mime_type_of
from dify_plugin_host._files.parameters import cast_files
from dify_plugin_packager.json_access import JsonObject, is_object


PROVIDER = "host"
"""The provider name under which Python tools are offered."""

type ParameterType = Literal[
    "string", "number", "boolean", "select", "array", "object", "file", "files"
]

type FindFile = Callable[[str], LocalFile | None]

_BLOB_CHUNK_BYTES = 8192
# Fields of a declaration that a Python function has no values for.
_UNSET = ("placeholder", "scope", "auto_generate", "template", "min", "max", "precision")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolParameter:
    """One parameter of a tool.

    Attributes:
        name: The parameter's name.
        hint: Its Python type hint, which values are converted to.
        type: Its type in Dify.
        description: Its description for the model.
        required: Whether a call must give it.
        has_default: Whether the function has a default for it.
        default: That default, if it is plain JSON.
        options: The allowed values of a select.
        schema: The JSON schema of an array or object.
    """

    name: str
    hint: Any
    type: ParameterType
    description: str = ""
    required: bool = True
    has_default: bool = False
    default: Any = None
    options: tuple[str, ...] = ()
    schema: JsonObject | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonTool:
    """A Python function that Dify could offer as a tool.

    Attributes:
        name: The tool's name.
        description: Its description for the model.
        parameters: Its parameters, in order.
        function: The function, synchronous or not.
    """

    name: str
    description: str
    parameters: tuple[ToolParameter, ...]
    function: Callable[..., Any]

    def to_entity(self) -> JsonObject:
        """Return the tool as Dify hands it to an agent strategy."""
        return {
            "identity": {
                "author": PROVIDER,
                "name": self.name,
                "label": _translated(self.name),
                "provider": PROVIDER,
                "icon": None,
            },
            "parameters": [_to_declaration(parameter) for parameter in self.parameters],
            "description": {"human": _translated(self.description), "llm": self.description},
            "output_schema": {},
            "has_runtime_parameters": False,
            "runtime_parameters": {},
            "credential_id": None,
            "provider_type": "builtin",
        }

    async def invoke(
        self, arguments: Mapping[str, Any], *, find_file: FindFile = lambda _: None
    ) -> list[JsonObject]:
        """Call the function and return its result as tool messages.

        A synchronous function runs in a thread of its own, so that calls made at the same time run at the same time.

        Args:
            arguments: The arguments, with files in Dify's form.
            find_file: Returns the file behind a link, or None.

        Raises:
            BackwardsError: If the arguments do not fit, the function raises, or its result cannot be sent.
        """
        converted = self._convert(self._load(arguments, find_file))
        if inspect.iscoroutinefunction(self.function):
            try:
                result = await self.function(**converted)
            except (Exception, SystemExit) as error:
                raise _failed(error) from error
        else:
            result = await _in_thread(self.function, converted)
        return list(self._messages(result))

    def _load(self, arguments: Mapping[str, Any], find_file: FindFile) -> JsonObject:
        """Replace files in Dify's form by their bytes."""
        loaded = cast_files(
            [_to_declaration(parameter) for parameter in self.parameters], arguments
        )
        for parameter in self.parameters:
            value = loaded.get(parameter.name)
            if value is None or parameter.type not in {"file", "files"}:
                continue
            listed: list[Any] = value if parameter.type == "files" else [value]
            contents = [self._content(parameter, file, find_file) for file in listed]
            loaded[parameter.name] = contents if parameter.type == "files" else contents[0]
        return loaded

    def _content(self, parameter: ToolParameter, file: Any, find_file: FindFile) -> bytes:
        found = find_file(str(file.get("url"))) if is_object(file) else None
        if found is None:
            problem = "expected a file whose link is from this host and has not expired"
            raise self._mismatch(f"parameter {parameter.name!r}: {problem}")
        return found.content

    def _convert(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        known = {parameter.name: parameter for parameter in self.parameters}
        if unknown := sorted(arguments.keys() - known.keys()):
            raise self._mismatch(f"unknown parameter {unknown[0]!r}")
        missing = [name for name in known if known[name].required and arguments.get(name) is None]
        if missing:
            raise self._mismatch(f"missing parameter {missing[0]!r}")
        return {
            name: self._convert_one(parameter, arguments.get(name))
            for name, parameter in known.items()
            if arguments.get(name) is not None or not parameter.has_default
        }

    def _convert_one(self, parameter: ToolParameter, value: Any) -> Any:
        try:
            return TypeAdapter(parameter.hint).validate_python(value)
        except ValidationError as error:
            problem = f"parameter {parameter.name!r}: {error.errors()[0]['msg']}, got {value!r}"
            raise self._mismatch(problem) from None

    def _mismatch(self, problem: str) -> BackwardsError:
        return BackwardsError(f"tool invoke error: tool {self.name!r}: {problem}")

    def _messages(self, result: Any) -> Iterator[JsonObject]:
        match result:
            case bytes():
                yield from _blob_messages(result)
            case dict() | list():
                yield _message("json", {"json_object": self._to_json(result)})
            case None:
                yield _message("text", {"text": ""})
            case str() | bool() | int() | float():
                yield _message("text", {"text": self._to_text(result)})
            case _:
                kind = type(result).__name__
                raise self._mismatch(
                    f"expected a str, dict, list or bytes as its result, got {kind}"
                )

    def _to_text(self, result: object) -> str:
        try:
            text = str(result)
            text.encode()
        except ValueError as error:  # a lone surrogate, or an integer of thousands of digits
            raise self._mismatch(f"expected a result that is text: {error}") from None
        return text

    def _to_json(self, result: Any) -> Any:
        """Return a result as it arrives, with null for NaN and infinities, like the SDK of tool plugins."""
        try:
            return from_json(to_json(result, inf_nan_mode="null"))
        except ValueError as error:
            raise self._mismatch(f"expected a result of plain JSON values: {error}") from None


def _translated(text: str) -> JsonObject:
    return {"en_US": text, "zh_Hans": text, "pt_BR": text, "ja_JP": text}


def _to_declaration(parameter: ToolParameter) -> JsonObject:
    options = [{"value": value, "label": _translated(value)} for value in parameter.options]
    return {
        "name": parameter.name,
        "label": _translated(parameter.name),
        "human_description": _translated(parameter.description),
        "llm_description": parameter.description,
        "type": parameter.type,
        "form": "llm",
        "required": parameter.required,
        "default": parameter.default,
        "options": options,
        "input_schema": parameter.schema,
        **dict.fromkeys(_UNSET),
    }


def _message(kind: str, message: JsonObject, meta: JsonObject | None = None) -> JsonObject:
    return {"type": kind, "message": message, "meta": meta or {}}


def _blob_messages(content: bytes) -> Iterator[JsonObject]:
    """Split bytes as the SDK does for tool plugins: chunks, then an empty one that ends the blob."""
    blob_id = uuid.uuid4().hex
    meta = {"mime_type": mime_type_of(content)}
    pieces = [
        content[start : start + _BLOB_CHUNK_BYTES]
        for start in range(0, len(content), _BLOB_CHUNK_BYTES)
    ]
    for sequence, piece in enumerate([*pieces, b""]):
        chunk = {
            "id": blob_id,
            "sequence": sequence,
            "total_length": len(content),
            "blob": base64.b64encode(piece).decode("ascii"),
            "end": sequence == len(pieces),
        }
        yield _message("blob_chunk", chunk, meta)


async def _in_thread(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Run a function in a daemon thread, which cannot keep an interrupted host from ending.

    `asyncio.to_thread` would make the host wait, and on few cores runs only a few calls at a time.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()

    def deliver(outcome: tuple[Any, BaseException | None]) -> None:
        # A call that was cancelled in the meantime no longer waits for it.
        if not future.done():
            future.set_result(outcome)

    def work() -> None:
        try:
            outcome = (function(**arguments), None)
        except BaseException as error:  # noqa: BLE001 - whatever it is, it belongs to the caller
            outcome = (None, error)
        # The host may have ended before a slow function.
        if not loop.is_closed():
            loop.call_soon_threadsafe(deliver, outcome)

    threading.Thread(target=work, daemon=True).start()
    result, error = await future
    if error is not None:
        raise _failed(error) from error  # Raised as it is, a `SystemExit` would end the host.
    return result


def _failed(error: BaseException) -> BackwardsError:
    return BackwardsError(f"tool invoke error: {str(error) or type(error).__name__}")
