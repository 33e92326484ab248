"""Which texts an HTTP header can carry."""


def is_header_text(text: str) -> bool:
    """Return whether a text can be sent as a header's value: no line break or other control character, no space around it."""
    return text.isprintable() and text == text.strip()
