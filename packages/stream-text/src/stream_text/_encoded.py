"""A secret in hexadecimal digits and in base64, whatever stands around it in what was encoded."""

from base64 import b64encode
from collections.abc import Iterator


_URL_SAFE = str.maketrans("+/", "-_")


def iter_encoded(text: str) -> Iterator[str]:
    """Yield texts of which one stands wherever a secret is encoded, without the characters that it shares with its neighbours."""
    octets = text.encode(errors="replace")
    yield from (octets.hex(), octets.hex().upper())
    for before in range(3):  # Three bytes make four characters.
        written = b64encode(bytes(before) + octets).decode()
        own = written[-(-before * 8 // 6) : (before + len(octets)) * 8 // 6]
        yield from (own, own.translate(_URL_SAFE))


def iter_alone(text: str) -> Iterator[str]:
    """Yield what a secret is as base64 with nothing around it, padded and not."""
    written = b64encode(text.encode(errors="replace")).decode()
    for form in (written, written.rstrip("=")):
        yield from (form, form.translate(_URL_SAFE))
