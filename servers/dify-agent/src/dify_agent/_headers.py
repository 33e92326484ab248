"""HTTP headers: the texts that they can carry, and the secrets in those among credentials."""

from collections.abc import Iterator, Mapping

from stream_text import iter_header_secrets


def iter_credential_headers(credentials: Mapping[str, object]) -> Iterator[str]:
    """Yield the secrets in credentials such as `extra_headers`, each value by itself, since a server's message repeats one of them and never all."""
    for name, value in credentials.items():
        if "header" in name.lower():
            yield from iter_header_secrets(value)


def is_header_text(text: str) -> bool:
    """Return whether a text can be sent as a header's value: no line break or other control character, no space around it."""
    return text.isprintable() and text == text.strip()
