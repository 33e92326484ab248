"""Texts that name files and values of strangers, as a terminal may show them."""

from stream_text import is_hidden


def escape_hidden(text: str) -> str:
    """Return a text in which what a person cannot see is written as `repr` writes it, such as a terminal's commands; line ends stay."""
    return "".join(
        one.encode("unicode_escape").decode() if is_hidden(one) and one != "\n" else one
        for one in text
    )
