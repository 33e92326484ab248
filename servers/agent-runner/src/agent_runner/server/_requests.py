"""Requests for runs: an input, files and the client's id, checked before a run is accepted."""

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agent_runner._agent.files import MAX_FILES
from agent_runner._errors import InputProblem
from agent_server.executor import JsonObject, Problem, RequestRefusedError
from stream_text import is_list, is_object


_MEMBERS = frozenset({"input", "files", "client_request_id"})
_MAX_ID_CHARACTERS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptRequest:
    """A request for a run of a script.

    Attributes:
        input: The input's fields.
        files: Contents by name.
        client_request_id: The client's id for the run, which the script gets; None for none.
    """

    input: Mapping[str, Any]
    files: Mapping[str, bytes]
    client_request_id: str | None


def parse_request(request: JsonObject) -> ScriptRequest:
    """Read a request such as `{"input": {…}, "files": [{"name": …, "data": "<base64>"}], "client_request_id": …}`; the latter two are optional.

    Raises:
        RequestRefusedError: If it has another form.
    """
    for name in request:
        if name not in _MEMBERS:
            raise _refusal(name, "expected to be absent; the agent's fields go inside input")
    fields = request.get("input")
    if not is_object(fields):
        raise _refusal("input", "expected a JSON object")
    return ScriptRequest(
        input=fields,
        files=_read_files(request.get("files")),
        client_request_id=_read_id(request.get("client_request_id")),
    )


def refuse(asked: ScriptRequest, problems: tuple[InputProblem, ...]) -> RequestRefusedError:
    """Return the refusal of a request with input or files that do not fit the agent."""
    return RequestRefusedError(*_within_request(asked, problems))


def _within_request(asked: ScriptRequest, problems: tuple[InputProblem, ...]) -> Iterator[Problem]:
    # Problems name a file by the name that the client gave it, a refusal by its index.
    fields = {f"files[{name!r}]": f"files[{index}].name" for index, name in enumerate(asked.files)}
    # Without files, a problem with `files` is about a field of the input, which an agent may declare.
    fields |= {"input": "input"} | ({"files": "files"} if asked.files else {})
    for problem in problems:
        field = fields.get(problem.field, f"input.{problem.field}")
        yield Problem(field=field, message=problem.message)


def _read_files(value: Any) -> Mapping[str, bytes]:
    if value is None:
        return {}
    if not is_list(value):
        raise _refusal("files", "expected a list of objects with name and data")
    if len(value) > MAX_FILES:
        raise _refusal("files", f"expected at most {MAX_FILES} files, got {len(value)}")
    files: dict[str, bytes] = {}
    for number, item in enumerate(value):
        match item:
            case {"name": str(name), "data": str(data), **rest} if not rest:
                if name in files:
                    raise _refusal(f"files[{number}].name", "expected another name than before")
                files[name] = _decode(data, number)
            case _:
                raise _refusal(f"files[{number}]", "expected an object with name and data")
    return files


def _decode(data: str, number: int) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except ValueError:
        raise _refusal(f"files[{number}].data", "expected base64") from None


def _read_id(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, str) and 0 < len(value) <= _MAX_ID_CHARACTERS and value.isprintable():
        return value
    raise _refusal(
        "client_request_id",
        f"expected a string of 1 to {_MAX_ID_CHARACTERS} characters that can be printed",
    )


def _refusal(field: str, message: str) -> RequestRefusedError:
    return RequestRefusedError(Problem(field=field, message=message))
