"""The JSON input that a script gets on stdin."""

from collections.abc import Mapping
from typing import Any

from agent_runner._errors import InputError, InputProblem
from stream_text import TRUSTED_DEPTH, dump_json, parse_json

from .environment import RunIds
from .files import check_files, run_folder
from .folder import INPUT_SCHEMA, AgentFolder


# The runner sets these, so a caller's own would not arrive.
_RESUME = "resume"
_RESERVED = ("runner_request_id", "client_request_id", _RESUME)
_FILES = "files"
_LEAVES = {str, int, float, bool, type(None)}


def build_payload(
    agent: AgentFolder,
    fields: Mapping[str, Any],
    ids: RunIds,
    files: Mapping[str, bytes],
    *,
    resume: Mapping[str, Any] | None = None,
) -> bytes:
    """Return the bytes for the script's stdin: one JSON object with the input's fields, the ids of the request and the paths of its files.

    Args:
        agent: The agent.
        fields: The input's fields.
        ids: The ids of the request.
        files: Contents by name.
        resume: What a script continues from that has waited for input; None if it begins.

    Raises:
        InputError: If a field is reserved, is not JSON, or does not fit the agent's schema, if a file cannot be passed,
            or if `files` would be ambiguous.
        ConfigurationError: If the agent's schema cannot be applied.

    Source: docs/contracts/agent-runner.md, E4 to E7, E26 and E32.
    """
    text = _dump(dict(fields))
    problems = [
        *find_ambiguous_files(agent, fields, files),
        *_name_problems(fields),
        *(_value_problems(fields) if text is None else ()),
        *_value_problems({_RESUME: resume}),
        *check_files(files),
    ]
    if problems or text is None:
        raise InputError(*problems)
    if agent.input_schema is not None:
        from .schema import validate_value  # noqa: PLC0415 - slow to load, and most agents have no schema

        # Validated as the script will see it, for instance with tuples as arrays. What came as JSON it sees so already, and a second copy may be large.
        seen = fields if _is_json(fields) else parse_json(text, max_depth=TRUSTED_DEPTH)
        validate_value(seen, agent.input_schema, name=INPUT_SCHEMA)
    added: dict[str, Any] = {"runner_request_id": ids.runner}
    if ids.client is not None:
        added["client_request_id"] = ids.client
    if resume is not None:
        added[_RESUME] = resume
    if files:
        folder = run_folder(ids.attempt)
        added[_FILES] = [str(folder / name) for name in files]
    # Checked above: the input has none of these names. It may be large, and is copied no more than it has to be.
    head, tail = text.encode(), dump_json(added)[1:].encode()
    del text
    return b"%b%b%b" % (memoryview(head)[:-1], b"," if fields else b"", tail)


def find_ambiguous_files(
    agent: AgentFolder, fields: Mapping[Any, Any], files: Mapping[str, bytes]
) -> list[InputProblem]:
    """Return problems with `files` if it could mean both the caller's own field and paths from the runner.

    Source: docs/contracts/agent-runner.md, E26.
    """
    properties = (agent.input_schema or {}).get("properties", {})
    if _FILES in properties:
        message = f"expected none: {_FILES} is a field of this agent's own ({INPUT_SCHEMA})"
        return [InputProblem(field=_FILES, message=message)] if files else []
    message = "expected to be absent: the runner puts the paths of files there"
    return [InputProblem(field=f"input.{_FILES}", message=message)] if _FILES in fields else []


def _name_problems(fields: Mapping[Any, Any]) -> list[InputProblem]:
    reserved = [
        InputProblem(field=name, message="expected to be absent: the runner sets it")
        for name in _RESERVED
        if name in fields
    ]
    unnamed = [
        InputProblem(field="input", message=f"expected names that are strings, got {name!r}")
        for name in fields
        if not isinstance(name, str)
    ]
    return reserved + unnamed


def _value_problems(fields: Mapping[Any, Any]) -> list[InputProblem]:
    return [
        InputProblem(field=str(name), message="expected a JSON value")
        for name, value in fields.items()
        if _dump(value) is None
    ]


def _is_json(value: Any) -> bool:
    """Return whether a value that can be written as JSON has only the types that JSON is read as."""
    waiting: list[Any] = [value]
    while waiting:
        inner = waiting.pop()
        kind: Any = type(inner)  # pyright: ignore[reportUnknownVariableType] - any value
        if kind is dict and all(type(name) is str for name in inner):
            waiting += inner.values()
        elif kind is list:
            waiting += inner
        elif kind not in _LEAVES:
            return False
    return True


def _dump(value: Any) -> str | None:
    """Return a value as JSON; None if JSON cannot express it."""
    try:
        return dump_json(value)
    except (TypeError, ValueError, RecursionError):
        return None
