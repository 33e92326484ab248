"""What hosted tools find and make: a table that a test gives, or the small one of the demonstration."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpt5_simulator._arguments import wrong_kind
from gpt5_simulator._errors import ResultsError
from gpt5_simulator._json import Json, is_array, is_object


_FIELDS: dict[str, tuple[str, ...]] = {
    "web_search": ("text", "url", "title", "sources", "actions", "link"),
    "file_search": ("text", "file_id", "filename", "score", "attributes"),
    "code_interpreter": ("code", "logs", "files", "error"),
    "image_generation": ("result", "revised_prompt", "colour", "error"),
    "mcp": ("server_label", "tool", "arguments", "output", "error"),
    "shell": ("commands", "stdout", "stderr", "exit_code"),
    "apply_patch": ("operation",),
}
_TYPES: dict[str, tuple[type | tuple[type, ...], str]] = {
    "match": (str, "text"),
    "actions": (list, "an array"),
    "arguments": (dict, "an object"),
    "attributes": (dict, "an object"),
    "colour": (list, "an array"),
    "commands": (list, "an array"),
    "error": ((str, dict), "text or an object"),
    "exit_code": (int, "a whole number"),
    "files": (dict, "an object"),
    "link": (bool, "true or false"),
    "operation": (dict, "an object"),
    "score": ((int, float), "a number"),
    "sources": (list, "an array"),
    "tool": (dict, "an object"),
}
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class HostedResults:
    """What hosted tools find and make.

    Attributes:
        rows: For each tool, what may come of a call; see `read_hosted_results`.
    """

    rows: Mapping[str, Sequence[Json]]

    def find(self, tool: str, question: str) -> list[Json]:
        """Return the rows of a tool that fit a question: those whose words it all has."""
        words = set(_WORD.findall(question.lower()))
        return [
            row
            for row in self.rows.get(tool, ())
            if words >= set(_WORD.findall(str(row.get("match", "")).lower()))
        ]


def read_hosted_results(value: dict[str, Any]) -> HostedResults:
    """Read a table of what hosted tools find and make.

    Args:
        value: An array of rows for each tool. A row fits a question that has all words of its `match`, or any if it has none.

    Raises:
        ResultsError: If a tool or a field is not known, or a value is of the wrong type.
        TypeError: If it is no mapping.
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
        ResultsError: If the file is missing, no JSON object, or no such table.
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
        "file_search": [
            {
                "match": "leave",
                "text": "Everyone has 30 days of leave a year.",
                "file_id": "file-demohandbook0000000000",
                "filename": "handbook.md",
                "score": 0.92,
                "attributes": {"year": 2026},
            }
        ],
        "code_interpreter": [
            {
                "match": "primes",
                "code": "primes = [n for n in range(2, 30) if all(n % d for d in range(2, n))]\nprint(primes)",
                "logs": "[2, 3, 5, 7, 11, 13, 17, 19, 23, 29]\n",
                "files": {"primes.csv": "2,3,5,7,11,13,17,19,23,29\n"},
            }
        ],
        "mcp": [
            {
                "match": "dice",
                "tool": {
                    "name": "roll",
                    "description": "Roll dice.",
                    "input_schema": {
                        "type": "object",
                        "properties": {"expression": {"type": "string"}},
                        "required": ["expression"],
                        "additionalProperties": False,
                    },
                    "annotations": {"read_only": False},
                },
                "arguments": {"expression": "2d6"},
                "output": "7",
            }
        ],
        "shell": [
            {"match": "list", "commands": ["ls /mnt/data"], "stdout": "notes.txt\n"},
        ],
        "apply_patch": [
            {
                "match": "notes",
                "operation": {
                    "type": "create_file",
                    "path": "NOTES.md",
                    "diff": "+# Notes\n+\n+- first\n",
                },
            }
        ],
    }
)
