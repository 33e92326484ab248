"""What fits into one line of the plugin's protocol: the daemon ends a plugin that writes a longer one than 5 MiB."""

import json
from collections.abc import Iterator


_LINE_BYTES = 4 * 1024 * 1024  # leaves room for the rest of the line
_PIECE_CHARACTERS = 256 * 1024  # in JSON a character takes at most six bytes


def iter_pieces(text: str) -> Iterator[str]:
    """Cut a text into pieces that each fit into a line; an empty text is one piece."""
    for start in range(0, max(len(text), 1), _PIECE_CHARACTERS):
        yield text[start : start + _PIECE_CHARACTERS]


def fits_a_line(value: object) -> bool:
    """Return whether a JSON value fits into one line."""
    return len(json.dumps(value)) <= _LINE_BYTES
