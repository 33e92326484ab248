"""Secrets whose values are known, taken out wherever they stand and however they are escaped."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Final, cast

from ._errors import InvalidJsonError
from ._escaped import Unit, compile_units, find_cut_off, split_units
from ._json import parse_json


REDACTED: Final = "[redacted]"
"""What stands in the place of a secret."""

_ESCAPE: Final = re.compile(r"[\\%+]")
_BEGINNING_UNITS: Final = 10  # of a secret, which hardly any other text begins with


class KnownSecrets:
    r"""Secrets whose values are known, to be found wherever they stand.

    Each is found as it is, without blank space around it, and with any of its characters escaped as in a URL, in JSON, in a string of
    Python or Go or the like, up to three times over; of one with several lines, each line as well. What has been encoded otherwise
    (base64, HTML) is not found.

    Args:
        values: The secrets; what is no text counts as none.
        shortest: How many characters a secret has at least. Shorter values are words such as "true" or "eu-1", which would
            blot out ordinary text and guard nothing.

    Example:
        >>> secrets = KnownSecrets(['p@ss"word'])
        >>> secrets.redact('p@ss"word, p%40ss%22word, "p@ss\\"word"')
        '[redacted], [redacted], "[redacted]"'
    """

    def __init__(self, values: Iterable[object], *, shortest: int = 6) -> None:
        self._values = tuple(value for value in values if isinstance(value, str))
        self._shortest = shortest

    @cached_property
    def _texts(self) -> list[str]:
        # At the first use: most are made for an error that never comes.
        texts = {
            text.strip()
            for value in self._values
            for text in (value, *value.splitlines())
            if len(text.strip()) >= self._shortest
        }
        # Longest first, so that no rest of a longer secret stays behind.
        return sorted(texts, key=lambda text: (-len(text), text))

    @cached_property
    def _plain_pattern(self) -> re.Pattern[str]:
        return re.compile("|".join(map(re.escape, self._texts)))

    @cached_property
    def _escaped_pattern(self) -> re.Pattern[str]:
        return compile_units(self._units)

    @cached_property
    def _escaped_beginnings(self) -> re.Pattern[str]:
        return compile_units(units[:_BEGINNING_UNITS] for units in self._units)

    def _pattern(self, text: str) -> re.Pattern[str]:
        """Return the pattern that finds the secrets in a text.

        What finds them escaped takes some ten times as long, and of a long secret a tenth of a second to compile.
        """
        is_plain = _ESCAPE.search(text) is None or self._escaped_beginnings.search(text) is None
        return self._plain_pattern if is_plain else self._escaped_pattern

    @cached_property
    def _units(self) -> list[list[Unit]]:
        return list(map(split_units, self._texts))

    def redact(self, text: str) -> str:
        """Return the text with `[redacted]` in place of each secret."""
        return self._pattern(text).sub(REDACTED, text) if self._texts else text

    def split(self, text: str) -> tuple[str, str]:
        """Return the text with `[redacted]` in place of each secret, and the end of it that may go on as one, as it is.

        Example:
            >>> KnownSecrets(["hunter22"]).split("hunter22 and hunt")
            ('[redacted] and ', 'hunt')
        """
        if not self._texts:
            return text, ""
        end = self._find_beginning(text, 0)
        for match in self._pattern(text).finditer(text):
            if match.start() < end < match.end():
                end = self._find_beginning(text, match.end())
        return self.redact(text[:end]), text[end:]

    def _find_beginning(self, text: str, position: int) -> int:
        """Return where, from a position on, the first secret begins that the end of the text cuts off; its length if none does."""
        starts = [_find_plain_beginning(text, secret, position) for secret in self._texts]
        if _ESCAPE.search(text, position):
            starts += [find_cut_off(text, units, position) for units in self._units]
        return min(starts)


def _find_plain_beginning(text: str, secret: str, position: int) -> int:
    start = text.find(secret[0], max(position, len(text) - len(secret) + 1))
    while start >= 0 and not secret.startswith(text[start:]):
        start = text.find(secret[0], start + 1)
    return start if start >= 0 else len(text)


def iter_header_secrets(headers: object) -> Iterator[str]:
    """Yield what must not be shown of headers, usable or not: their JSON, each value, and what follows a scheme such as `Bearer`.

    Args:
        headers: A mapping, or JSON of one; anything else has no secrets.

    Example:
        >>> list(iter_header_secrets({"Authorization": "Bearer s3cret"}))
        ['Bearer s3cret', 's3cret']
    """
    members: Iterable[tuple[object, object]] = ()
    if isinstance(headers, Mapping):
        members = cast("Mapping[object, object]", headers).items()
    elif isinstance(headers, str):
        yield headers
        try:
            parse_json(headers)  # which refuses what nests too deeply
        except InvalidJsonError:
            return
        # Pairs, for a name may stand twice.
        pairs = json.loads(headers, object_pairs_hook=tuple)
        members = (
            cast("tuple[tuple[object, object], ...]", pairs) if isinstance(pairs, tuple) else ()
        )
    for _, value in members:
        if isinstance(value, str):
            yield value
            yield value.strip().partition(" ")[2]
