"""Results that a model has read only in part, kept so that it can read on."""

import sys
from collections.abc import Mapping
from typing import Any, Final

from agent_tooling._errors import ToolError
from agent_tooling._json_text import value_text

from .output import ToolContent, find_text
from .search import SearchedText, can_search_patterns, search_text


_MAX_BYTES: Final = 16 * 1024 * 1024  # A plugin's process has 256 MiB, which many runs share.
_MAX_PATTERN_CHARACTERS: Final = 500
_AROUND_CHARACTERS: Final = 200
_MOST_FOUND: Final = 20

READ_RESULT: Final = "read_result"
"""The default name of the function that reads on, if no tool has it."""


class KeptResults:
    """The full texts of results that were cut, for as long as a run lasts.

    If they take too much memory together, the oldest are dropped, and asking for a dropped one raises an error that
    says so; a single text that is too large loses its end. Use one per run, from one thread at a time.

    Args:
        max_bytes: Memory that the texts may take, at least 1.

    Raises:
        ValueError: If `max_bytes` is under 1.
    """

    def __init__(self, *, max_bytes: int = _MAX_BYTES) -> None:
        if max_bytes < 1:
            raise ValueError(f"max_bytes must be at least 1, got {max_bytes!r}")
        self._max_bytes = max_bytes
        self._count = 0
        self._bytes = 0
        # Oldest first. The length of a dropped text stays, so that its reader learns what happened.
        self._texts: dict[str, str] = {}
        self._lengths: dict[str, int] = {}

    @property
    def size_bytes(self) -> int:
        """How much memory the texts take."""
        return self._bytes

    def save(self) -> dict[str, Any]:
        """Return the kept texts, as plain JSON."""
        return {"count": self._count, "texts": self._texts, "whole": self._lengths}

    def load(self, saved: Mapping[str, Any]) -> None:
        """Restore what `save` has returned, and keep nothing else."""
        self._count, self._lengths = saved["count"], dict(saved["whole"])
        self._texts = dict(saved["texts"])
        self._bytes = sum(map(sys.getsizeof, self._texts.values()))

    def keep(self, content: ToolContent) -> str:
        """Keep the text of a result, or all texts of its parts, and return the id to read on by."""
        text = join_texts(content)
        # A character takes at most four bytes; an eighth leaves room for other results.
        kept = text if sys.getsizeof(text) <= self._max_bytes else text[: self._max_bytes // 8]
        self._count += 1
        result_id = f"r{self._count}"
        self._texts[result_id] = kept
        self._lengths[result_id] = len(text)
        self._bytes += sys.getsizeof(kept)
        # Measured as memory: a single emoji makes every character of a text take four bytes.
        while self._bytes > self._max_bytes and len(self._texts) > 1:
            self._bytes -= sys.getsizeof(self._texts.pop(next(iter(self._texts))))
        return result_id

    def read(self, arguments: Mapping[str, Any], *, max_characters: int) -> str:
        """Return the part of a kept result that a model asks for.

        Args:
            arguments: The `id`, and the `offset` to read on from, perhaps with a `pattern` to look for after it, as
                `read_result_schema` describes them.
            max_characters: How many characters it may read at once, at least 1.

        Raises:
            ToolError: If there is no such result, it is no longer kept, nothing comes after the offset, or the pattern is too long.
        """
        result_id, offset = arguments["id"], arguments.get("offset", 0)
        text = self._find(result_id)
        if not 0 <= offset < max(len(text), 1):
            raise ToolError(self._describe_end(result_id, text, offset))
        pattern = arguments.get("pattern")
        if not pattern:
            return self._read_on(result_id, text, offset, max_characters)
        if len(pattern) > _MAX_PATTERN_CHARACTERS:
            raise ToolError(
                f"pattern: expected at most {_MAX_PATTERN_CHARACTERS} characters, got {len(pattern):,}"
            )
        found = search_text(text, pattern, offset=offset, most=_MOST_FOUND)
        return _render_found(text, found, max_characters)

    def _find(self, result_id: str) -> str:
        text = self._texts.get(result_id)
        if text is not None:
            return text
        if result_id in self._lengths:
            raise ToolError(
                f"id: {result_id} is not kept any more, because later results needed the room; call its tool again"
            )
        known = ", ".join(self._texts) or "none"
        raise ToolError(f"id: no result has the id {value_text(result_id)}; kept are: {known}")

    def _read_on(self, result_id: str, text: str, offset: int, max_characters: int) -> str:
        read = text[offset : offset + max_characters]
        end = offset + len(read)
        length = self._lengths[result_id]
        if end < len(text):
            note = f"[characters {offset:,} to {end:,} of {length:,}; read on with offset {end}]"
        else:
            note = f"[characters {offset:,} to {end:,} of {length:,}; {self._describe_rest(result_id, text)}]"
        return f"{read}\n{note}"

    def _describe_rest(self, result_id: str, text: str) -> str:
        missing = self._lengths[result_id] - len(text)
        return f"the last {missing:,} were too much to be kept" if missing else "this is the end"

    def _describe_end(self, result_id: str, text: str, offset: int) -> str:
        return (
            f"offset: expected 0 to {max(len(text) - 1, 0)}, got {offset}; "
            f"{result_id} has {self._lengths[result_id]:,} characters, {self._describe_rest(result_id, text)}"
        )


def read_result_schema() -> dict[str, Any]:
    """Return the JSON schema of the arguments that `KeptResults.read` takes."""
    pattern = "A text to look for"
    if can_search_patterns():
        pattern = "A regular expression to look for, in the syntax of RE2 (no lookaround, no backreferences), or a plain text"
    return {
        "type": "object",
        "properties": {
            "id": {"type": "string", "description": "The id that the cut result names."},
            "offset": {
                "type": "integer",
                "minimum": 0,
                "description": "The character to read on from, or to look from; 0 is the beginning of the result.",
            },
            "pattern": {
                "type": "string",
                "description": f"{pattern}. The places where it stands come back, each with its offset and what is around it.",
            },
        },
        "required": ["id"],
        "additionalProperties": False,
    }


def join_texts(content: ToolContent) -> str:
    """Return a text, or all texts of content parts with nothing between them."""
    if isinstance(content, str):
        return content
    return "".join(text for part in content if (text := find_text(part)) is not None)


def _render_found(text: str, found: SearchedText, max_characters: int) -> str:
    lines: list[str] = []
    around = min(_AROUND_CHARACTERS, max_characters // 4)
    room, count = max_characters, 0
    for start, end in found.places:
        excerpt = text[max(start - around, 0) : min(end, start + around) + around]
        # The first match is always shown, even if it alone takes all the room.
        if lines and len(excerpt) > room:
            break
        room -= len(excerpt)
        count += 1
        lines.append(f"offset {start}:\n{excerpt}")
    is_plain = "" if found.is_pattern else " as a plain text"
    heading = f"[{count} found{is_plain}; searched from {found.start:,} to {found.end:,} of {len(text):,} characters"
    next_offset = found.places[count][0] if count < len(found.places) else found.end
    if next_offset < len(text):
        heading += f"; look on with offset {next_offset}"
    return "\n\n".join([f"{heading}]", *lines])
