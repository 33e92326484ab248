"""The results of hosted tools: the table of a test, or the small one of the demonstration."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpt5_simulator._arguments import wrong_kind
from gpt5_simulator._errors import ResultsError
from gpt5_simulator._json import Json, is_array, is_object


_GIVEN = ("items", "text")
_FIELDS: dict[str, tuple[str, ...]] = {
    "web_search": ("text", "url", "title", "sources", "actions", "link"),
    "file_search": _GIVEN,
    "code_interpreter": _GIVEN,
    "image_generation": ("result", "revised_prompt", "colour", "error"),
    "mcp": _GIVEN,
    "shell": _GIVEN,
    "apply_patch": _GIVEN,
}
_TYPES: dict[str, tuple[type | tuple[type, ...], str]] = {
    "actions": (list, "an array"),
    "colour": (list, "an array"),
    "error": ((str, dict), "text or an object"),
    "items": (list, "an array"),
    "link": (bool, "true or false"),
    "sources": (list, "an array"),
}
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class HostedResults:
    """The results of hosted tools.

    Attributes:
        rows: The possible results of a call, for each tool; see `read_hosted_results`.
    """

    rows: Mapping[str, Sequence[Json]]

    def find(self, tool: str, question: str) -> list[Json]:
        """Return the rows of a tool that fit a question, because it has all their words."""
        words = set(_WORD.findall(question.lower()))
        return [
            row
            for row in self.rows.get(tool, ())
            if words >= set(_WORD.findall(str(row.get("match", "")).lower()))
        ]


def read_hosted_results(value: dict[str, Any]) -> HostedResults:
    """Read a table of the results of hosted tools.

    Args:
        value: An array of rows for each tool. A row fits a question that has all words of its `match`, or any question if it has none.

    Raises:
        ResultsError: If a tool or a field is unknown, or a value has the wrong type.
        TypeError: If it is not a mapping.
    """
    hint = f"hosted_results=read_results_file(Path({value!r}))" if isinstance(value, str) else ""
    if not is_object(value):
        raise wrong_kind("hosted_results", "a dict of tools", value, hint)
    for tool, rows in value.items():
        if tool not in _FIELDS:
            raise ResultsError(f"{tool}: expected one of {', '.join(_FIELDS)}", path=tool)
        if not is_array(rows):
            raise ResultsError(f"{tool}: expected an array of objects", path=tool)
        for index, row in enumerate(rows):
            _validate_row(row, tool, f"{tool}[{index}]")
    return HostedResults({tool: tuple(rows) for tool, rows in value.items()})


def read_results_file(path: Path) -> HostedResults:
    """Read the table from a JSON file.

    Raises:
        ResultsError: If the file is missing, not a JSON object, or not such a table.
    """
    try:
        value: object = json.loads(path.read_bytes())
    except OSError as error:
        reason = error.strerror or "unreadable"
        raise ResultsError(f"{str(path)!r}: {reason}", path=str(path)) from error
    except ValueError as error:
        raise ResultsError(f"{str(path)!r}: expected JSON", path=str(path)) from error
    if not is_object(value):
        raise ResultsError(f"{str(path)!r}: expected a JSON object", path=str(path))
    return read_hosted_results(value)


def _validate_row(row: object, tool: str, where: str) -> None:
    if not is_object(row):
        raise ResultsError(f"{where}: expected an object", path=where)
    known = ("match", *_FIELDS[tool])
    for name, value in row.items():
        path = f"{where}.{name}"
        if name not in known:
            raise ResultsError(f"{path}: expected one of {', '.join(known)}", path=path)
        accepted, wanted = _TYPES.get(name, (str, "text"))
        if not isinstance(value, accepted):
            raise ResultsError(f"{path}: expected {wanted}", path=path)
    for index, item in enumerate(row.get("items", ())):
        if not (is_object(item) and isinstance(item.get("type"), str)):
            path = f"{where}.items[{index}]"
            raise ResultsError(f"{path}: expected an object with a type", path=path)


DEMO_RESULTS = read_hosted_results(
    {
        "web_search": [
            {
                "match": "paris",
                "text": "Paris, the capital of France, lies on the Seine",
                "url": "https://en.example.org/wiki/Paris",
                "title": "Paris",
                "sources": ["https://en.example.org/wiki/Seine"],
            },
            {
                "match": "tokyo",
                "text": "Tokyo (東京) is the capital of Japan",
                "url": "https://en.example.org/wiki/Tokyo",
                "title": "Tokyo (東京)",
            },
        ],
    }
)
