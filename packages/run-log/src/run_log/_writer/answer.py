"""The text of a model's answer, collected into records."""

import math
from collections.abc import Mapping
from typing import Any, Final

from .redaction import Redactor, TextRedactor


_MAX_CHARACTERS: Final = 16_384


class AnswerText:
    """The text of one answer.

    Args:
        redactor: Takes secrets out of it, even if its pieces cut through one.
    """

    def __init__(self, redactor: Redactor) -> None:
        self.first: float | None = None
        self._redactor = redactor
        self._text = TextRedactor(redactor)
        self._pieces: list[str] = []
        self._count = 0
        self._characters = 0
        self._since: float | None = None
        self._phase: str | None = None
        self._flushed = -math.inf  # so that the first piece is due at once

    def take(self, text: str, phase: str | None, now: float) -> None:
        """Take the next piece."""
        if self.first is None:
            self.first = now
        if not text:
            return
        if self._since is None:
            self._since = now
        self._pieces.append(text)
        self._count += 1
        self._characters += len(text)
        self._phase = phase

    def is_due(self, now: float, seconds: float) -> bool:
        """Return whether the collected pieces are due: the first piece at once, the others after so many seconds or characters."""
        return now - self._flushed >= seconds or self._characters > _MAX_CHARACTERS

    def flush(self, now: float) -> Mapping[str, Any]:
        """Return the fields of a record with the text that is certain by now; empty if there is none."""
        self._flushed = now
        text = self._text.feed("".join(self._pieces))
        self._pieces.clear()
        self._characters = 0
        return self._describe(text)

    def close(self) -> Mapping[str, Any]:
        """Return the fields of a record with the rest of the text; empty if there is none."""
        text = self._text.feed("".join(self._pieces)) + self._text.close()
        self._pieces.clear()
        return self._describe(text)

    def _describe(self, text: str) -> dict[str, Any]:
        # All of it may be held back as the beginning of a secret. Count and time go into a later record.
        if not text:
            return {}
        fields: dict[str, Any] = {"since": self._since, "pieces": self._count, "text": text}
        if self._phase is not None:
            fields["phase"] = self._redactor.redact_text(self._phase)
        self._since, self._count = None, 0
        return fields
