"""Redaction of secrets that changes nothing else, so that a run can be read again as it was."""

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, cast

from run_log._lines.plain import BYTES
from stream_text import (
    REDACTED,
    InvalidJsonError,
    KnownSecrets,
    SecretFilter,
    find_named_value,
    find_repeated_key,
    is_list,
    is_marked_reasoning,
    is_object,
    is_secret_key,
    parse_json,
    redact_text,
)


HIDDEN: Final = "[hidden]"
"""The text that replaces a hidden parameter's value, and a model's own thoughts."""

_MAX_PARSED_CHARACTERS: Final = 1_000_000
# Where a model's own thoughts stand as plain text, for its server alone (docs/contracts/run-log.md, L16).
_OPEN: Final = frozenset({"content", "summary", "encrypted_content"})
_LONG_NUMBER: Final = 100_000  # Shorter ones are too common to be secrets.
# As many words as `name : password , value : abc` has, the longest form of a secret that is known by
# its neighbour.
_HELD_WORDS: Final = 7
# A data URL, or base64 from 500 characters on: a shorter text may be plain words.
_ENCODED: Final = re.compile(r"(?:data:[^,\s]{0,200};base64,|(?=.{500}))([A-Za-z0-9+/_-]*)={0,2}")
_URL_SAFE: Final = str.maketrans("-_", "+/")
_WORD: Final = re.compile(r"(?<=\s)\S")

type RedactText = Callable[[str], Any]


class Redactor:
    """A redactor of the records of a run: it takes out known secrets wherever they are, and anything that looks like a secret.

    Args:
        known: The known secrets.
    """

    def __init__(self, *known: KnownSecrets) -> None:
        self._known = known

    @property
    def known(self) -> tuple[KnownSecrets, ...]:
        """The secrets that are known so far."""
        return self._known

    def add(self, values: Iterable[str]) -> bool:
        """Add secrets to the known ones; return whether there were any."""
        found = list(values)
        if found:
            self._known = (*self._known, KnownSecrets(found))
        return bool(found)

    def redact(self, value: Any, *, by_name: bool = True, text: RedactText | None = None) -> Any:
        """Return plain JSON without secrets.

        Args:
            value: The value.
            by_name: Whether a value under a secret's name is a secret; in the schema of a tool it is not.
            text: Redacts a text in it; `redact_text` by default.
        """
        return self._redact(value, by_name, text or self.redact_text)

    def _redact(self, value: Any, by_name: bool, text: RedactText) -> Any:  # noqa: FBT001 - passed on
        if isinstance(value, str):
            return text(value)
        if is_list(value):
            return [self._redact(item, by_name, text) for item in value]
        if is_object(value):
            return self._redact_members(value, by_name, text)
        if isinstance(value, float) or (isinstance(value, int) and abs(value) >= _LONG_NUMBER):
            written = str(value)
            return value if self._redact_known(written) == written else REDACTED
        return value

    def _redact_members(self, members: Mapping[str, Any], by_name: bool, text: RedactText) -> Any:  # noqa: FBT001
        if len(members) == 1 and BYTES in members:
            return self._redact_bytes(str(members[BYTES]), text)
        if is_marked_reasoning(members):
            members = {name: HIDDEN if name in _OPEN else members[name] for name in members}
        named = find_named_value(members) if by_name else None
        return {
            self.redact_text(name): REDACTED
            if by_name and _is_secret(name if name != named else "secret", member)
            else self._redact(member, by_name, text)
            for name, member in members.items()
        }

    def _redact_bytes(self, encoded: str, text: RedactText) -> dict[str, Any]:
        if self._holds_known(encoded):
            encoded = base64.b64encode(REDACTED.encode()).decode()
        return {BYTES: text(encoded)}

    def redact_text(self, text: str) -> str:
        """Return a text without secrets. In JSON they are known by their names too; JSON without any stays as it is."""
        encoded = _ENCODED.fullmatch(text)
        if encoded is not None and self._holds_known(encoded[1]):
            return REDACTED
        text = self._redact_known(text)
        if _may_be_json(text) and len(text) <= _MAX_PARSED_CHARACTERS:
            try:
                parsed = parse_json(text)
            except InvalidJsonError:
                return redact_text(text)
            redacted = self.redact(parsed)
            # Of a key that stands twice only the last value was looked at; the other goes with the text.
            if redacted == parsed and find_repeated_key(text) is None:
                return text
            return json.dumps(redacted, ensure_ascii=False)
        # In base64 a pattern could match only by chance, and would break the file.
        return redact_text(text) if encoded is None else text

    def _holds_known(self, encoded: str) -> bool:
        """Return whether base64 is the encoding of a text with a known secret."""
        try:
            # The decoder ignores padding that is too much, and misses padding that is too little.
            decoded = base64.b64decode(f"{encoded.translate(_URL_SAFE)}===")
        except ValueError:
            return False
        text = decoded.decode(errors="replace")
        return self._redact_known(text) != text

    def _redact_known(self, text: str) -> str:
        for known in self._known:
            text = known.redact(text)
        return text


class TextRedactor:
    """A redactor of a text that streams in: its pieces together are what `Redactor.redact_text` returns for the whole.

    Text that may be the beginning of a secret is held back: the last words, text in quotes that are still open, and all
    of a text that begins like JSON.

    Args:
        redactor: The redactor of the run.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._filters = [SecretFilter(known) for known in redactor.known]
        self._held = ""
        self._next = 0
        self._has_begun = False

    def feed(self, text: str) -> str:
        """Take the next piece and return as much of the text as is certain by now."""
        for each in self._filters:
            text = each.feed(text)
        self._held += text
        if len(self._held) < self._next or (not self._has_begun and _may_be_json(self._held)):
            return ""
        cut = _find_cut(self._held)
        if not cut:
            # Twice as much has to come first, or a long word would be looked through for every piece.
            self._next = 2 * len(self._held)
            return ""
        certain, self._held = self._held[:cut], self._held[cut:]
        self._has_begun, self._next = True, 0
        return redact_text(certain)

    def close(self) -> str:
        """End the text and return the part that was held back."""
        text = ""
        for each in self._filters:
            text = each.feed(text) + each.close()
        held, self._held = self._held + text, ""
        return redact_text(held) if self._has_begun else self._redactor.redact_text(held)


def find_texts(value: object) -> Iterator[str]:
    """Yield the texts in a value, numbers as texts too; without recursion, since it may be nested to any depth."""
    waiting, seen = [value], set[int]()
    while waiting:
        item = waiting.pop()
        reveal = getattr(item, "get_secret_value", None)  # of pydantic's secrets
        item = reveal() if callable(reveal) else item
        if isinstance(item, bytes):
            yield item.decode(errors="ignore")
        elif isinstance(item, str | int | float):
            yield str(item)
            if isinstance(item, float) and item.is_integer():
                yield f"{item:.0f}"  # as a model may write it
        elif isinstance(item, Mapping | list | tuple | set | frozenset):
            members = cast("Mapping[object, object] | Iterable[object]", item)
            if id(members) in seen:
                continue
            seen.add(id(members))
            waiting += members.values() if isinstance(members, Mapping) else members


def _find_cut(text: str) -> int:
    """Return where a text can be cut so that the secrets found in both pieces are those of the whole, whatever follows; 0 for nowhere."""
    words = [match.start() for match in _WORD.finditer(text)]
    if len(words) < _HELD_WORDS:
        return 0
    cut = words[-_HELD_WORDS]
    is_same = redact_text(text[:cut]) + redact_text(text[cut:]) == redact_text(text)
    return cut if is_same else 0


def _may_be_json(text: str) -> bool:
    beginning = text.lstrip()[:1]
    return not beginning or beginning in "{["


def _is_secret(name: str, value: object) -> bool:
    # Nothing and a switch are no secret, and a reader of the log may want to know of them.
    is_something = value not in (None, "", HIDDEN, [], {}) and not isinstance(value, bool)
    return is_something and is_secret_key(name, value)
