"""Redaction of secrets whose values are known, wherever they stand and however they are escaped, in whole and in streamed texts."""

import json
import math
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import chain
from typing import Any, Final

from ._errors import InvalidJsonError
from ._escaped import (
    UNSEEN,
    Unit,
    compile_traces,
    compile_units,
    entity_names,
    find_cut_off,
    split_units,
)
from ._json import parse_json
from ._shapes import is_list, is_object


REDACTED: Final = "[redacted]"
"""The text that replaces a secret."""

_SHORT_TEXT: Final = 1_000  # characters, in which one pattern is found faster than many texts
_INTRODUCED: Final = re.compile(rf"[\\%+&{UNSEEN}]")
_BEGINNING_UNITS: Final = 20  # of a secret with its gaps, which hardly any other text begins with
_SHORTEST_ENCODED: Final = 8  # Shorter ones are words whose codes stand in other texts by chance.
_URL_SAFE: Final = str.maketrans("+/", "-_")


class KnownSecrets:
    r"""Secrets whose values are known, found wherever they stand in a text.

    Each is found as it is, without the blank space around it; with any of its characters escaped as in HTML, or up to
    three times over as in a URL, in JSON or in a string of Python, Go or the like; and with invisible characters in
    between. Of a secret of several lines each line is found as well. A secret of eight characters or more is also found
    in hexadecimal digits and in base64, wherever it stands in the encoded data. Other encodings are not looked for.

    Args:
        values: The secrets; values that are not texts are passed over.
        shortest: How many characters a secret has at least. Shorter values are words such as "true" or "eu-1": removing them would
            blot out ordinary text and protect nothing.

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
    def _least(self) -> float:
        """How many characters a text with a secret has at least."""
        return min(map(len, self._texts), default=math.inf)

    @cached_property
    def _plain_pattern(self) -> re.Pattern[str]:
        return re.compile("|".join(map(re.escape, self._texts)))

    @cached_property
    def _escaped_pattern(self) -> re.Pattern[str]:
        return compile_units(self._units)

    @cached_property
    def _escaped_beginnings(self) -> re.Pattern[str]:
        return compile_units(units[:_BEGINNING_UNITS] for units in self._units)

    @cached_property
    def _traces(self) -> re.Pattern[str]:
        return compile_traces(self._units)

    @cached_property
    def _entities(self) -> list[str]:
        names = ["#", *entity_names("".join(self._texts))]
        return [before + name for before in ("&", "amp;") for name in names]

    @cached_property
    def _long_texts(self) -> list[str]:
        return [text for text in self._texts if len(text) >= _SHORTEST_ENCODED]

    @cached_property
    def _encoded(self) -> list[str]:
        return list({form for text in self._long_texts for form in _iter_encoded(text)})

    @cached_property
    def _all_encoded(self) -> list[str]:
        alone = {form for text in self._long_texts for form in _iter_alone(text)}
        return sorted(alone.union(self._encoded), key=lambda form: (-len(form), form))

    @cached_property
    def _encoded_pattern(self) -> re.Pattern[str]:
        return re.compile("|".join(map(re.escape, self._all_encoded)) or r"(?!)")

    def _patterns(self, text: str) -> list[re.Pattern[str]]:
        """Return the patterns to apply to a text, one after the other.

        The pattern for escaped secrets takes about ten times as long to search for, and a tenth of a second to compile for a long secret.
        """
        patterns: list[re.Pattern[str]] = []
        if self._may_be_altered(text) and self._escaped_beginnings.search(text):
            patterns.append(self._escaped_pattern)
        elif _has_any(text, self._texts, self._plain_pattern):
            patterns.append(self._plain_pattern)
        if _has_any(text, self._encoded, self._encoded_pattern):
            patterns.append(self._encoded_pattern)
        return patterns

    def _may_be_altered(self, text: str) -> bool:
        """Return whether a text may have secrets in an escaped form, or with invisible characters in between."""
        # Looking for one character after the other is many times as fast as looking for any of them.
        has_escapes = (
            "\\" in text
            or "%" in text
            or "+" in text
            or ("&" in text and any(entity in text for entity in self._entities))
        )
        if has_escapes and self._traces.search(text):
            return True
        return not text.isascii() and self._may_have_gaps(text)

    def _may_have_gaps(self, text: str) -> bool:
        """Return whether a text has more secrets once all characters beyond ASCII are left out."""
        if any(not secret.isascii() for secret in self._texts):
            return _INTRODUCED.search(text) is not None
        seen = text.encode("ascii", "ignore").decode()
        return any(seen.count(secret) > text.count(secret) for secret in self._texts)

    @cached_property
    def _units(self) -> list[list[Unit]]:
        return list(map(split_units, self._texts))

    @cached_property
    def _literals(self) -> dict[str, list[str]]:
        """The texts that are found as they are, by their first characters."""
        literals: dict[str, list[str]] = {}
        for each in (*self._texts, *self._all_encoded):
            literals.setdefault(each[0], []).append(each)
        return literals

    @cached_property
    def _longest(self) -> int:
        return max(map(len, chain.from_iterable(self._literals.values())))

    @cached_property
    def _firsts(self) -> re.Pattern[str]:
        return re.compile(f"[{''.join(map(re.escape, self._literals))}]")

    def redact(self, text: str) -> str:
        """Return the text with `[redacted]` in place of each secret."""
        if len(text) < self._least:
            return text
        for pattern in self._patterns(text):
            text = pattern.sub(REDACTED, text)
        return text

    def split(self, text: str) -> tuple[str, str]:
        """Return the text with `[redacted]` in place of each secret, and separately, as it is, an end that may be the beginning of one.

        Example:
            >>> KnownSecrets(["hunter22"]).split("hunter22 and hunt")
            ('[redacted] and ', 'hunt')
        """
        if not self._texts:
            return text, ""
        end = self._find_beginning(text, 0)
        # A secret that is whole may hold what looks like the beginning of the next: then the text is
        # cut behind it, for half of a secret is not found again.
        patterns = self._patterns(text)
        if not patterns:
            return text[:end], text[end:]
        matches = chain.from_iterable(pattern.finditer(text) for pattern in patterns)
        for match in sorted(matches, key=re.Match[str].start):
            if match.start() < end < match.end():
                end = self._find_beginning(text, match.end())
        return self.redact(text[:end]), text[end:]

    def _find_beginning(self, text: str, position: int) -> int:
        """Return the first position, from `position` on, of a secret that the end of the text cuts off; the text's length if there is none."""
        start = self._find_plain_beginning(text, position)
        if _INTRODUCED.search(text, position):
            start = min(start, *(find_cut_off(text, units, position) for units in self._units))
        return start

    def _find_plain_beginning(self, text: str, position: int) -> int:
        for match in self._firsts.finditer(text, max(position, len(text) - self._longest + 1)):
            rest = text[match.start() :]
            if any(each != rest and each.startswith(rest) for each in self._literals[match[0]]):
                return match.start()
        return len(text)


class SecretFilter:
    """A filter of known secrets in a streamed text, which also finds secrets that are split between pieces.

    How the text is cut into pieces makes no difference. Only a possible beginning of a secret is held back.

    Args:
        known: The secrets.

    Example:
        >>> filter = SecretFilter(KnownSecrets(["hunter22"]))
        >>> (
        ...     filter.feed("It is hun"),
        ...     filter.feed("ter22, I hu"),
        ...     filter.feed("mbly"),
        ...     filter.close(),
        ... )
        ('It is ', '[redacted], I ', 'humbly', '')
    """

    def __init__(self, known: KnownSecrets) -> None:
        self._known = known
        self._held = ""

    def feed(self, text: str) -> str:
        """Take the next piece and return as much of the text as is certain by now."""
        shown, self._held = self._known.split(self._held + text)
        return shown

    def close(self) -> str:
        """End the text: return the part that was held back. The next piece begins a new text."""
        held, self._held = self._held, ""
        return self._known.redact(held)


def iter_header_secrets(headers: object) -> Iterator[str]:
    """Yield the secrets in headers, valid or not: their JSON, each value, and the part behind a scheme such as `Bearer`.

    Args:
        headers: A mapping, or JSON of one; anything else has no secrets.

    Example:
        >>> list(iter_header_secrets({"Authorization": "Bearer s3cret"}))
        ['Bearer s3cret', 's3cret']
    """
    members: Iterable[tuple[object, object]] = ()
    if is_object(headers):
        members = headers.items()
    elif isinstance(headers, str):
        yield headers
        try:
            parse_json(headers)  # refuses JSON that nests too deep for `json.loads`
        except InvalidJsonError:
            return
        # Pairs, for a name may stand twice.
        pairs: Any = json.loads(headers, object_pairs_hook=tuple)
        members = pairs if is_list(pairs) and isinstance(pairs, tuple) else ()
    for _, value in members:
        if isinstance(value, str):
            yield value
            yield value.strip().partition(" ")[2]


def _has_any(text: str, secrets: Iterable[str], pattern: re.Pattern[str]) -> bool:
    if len(text) < _SHORT_TEXT:
        return pattern.search(text) is not None
    return any(secret in text for secret in secrets)


def _iter_encoded(text: str) -> Iterator[str]:
    """Yield the forms of a secret inside data in hexadecimal digits or base64, without the characters that it shares with its neighbours.

    Wherever the secret stands in the data, one of them occurs.
    """
    octets = text.encode(errors="replace")
    yield from (octets.hex(), octets.hex().upper())
    # Three bytes make four characters, so there is a form for each place of the secret among three.
    # Characters at its ends that hold bits of other bytes too are not its own, and cut off.
    for before in range(3):
        written = b64encode(bytes(before) + octets).decode()
        own = written[-(-before * 8 // 6) : (before + len(octets)) * 8 // 6]
        yield from (own, own.translate(_URL_SAFE))


def _iter_alone(text: str) -> Iterator[str]:
    """Yield the base64 of a secret alone, padded and not."""
    written = b64encode(text.encode(errors="replace")).decode()
    for form in (written, written.rstrip("=")):
        yield from (form, form.translate(_URL_SAFE))
