"""Redaction of known secrets in a text that streams in."""

from ._known_secrets import KnownSecrets


class SecretFilter:
    """A filter of known secrets in a streamed text, which also finds those that are cut into pieces.

    How the text is cut into pieces makes no difference. Only what may be the beginning of a secret is held back.

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
        """Take the next piece and return what is certain of the text by now."""
        shown, self._held = self._known.split(self._held + text)
        return shown

    def close(self) -> str:
        """End the text: return what was held back. What is fed afterwards begins a new one."""
        held, self._held = self._held, ""
        return self._known.redact(held)
