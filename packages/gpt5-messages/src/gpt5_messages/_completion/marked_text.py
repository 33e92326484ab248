r"""Text that a program adds to an answer for its reader, and that the model need not see again.

An addendum stands between two invisible characters (U+2063, which no model writes), so that it is found in any text that it is part
of, even if that text was cut within it: `build_input` and `ItemStore` ignore it.
"""

import re
from collections.abc import Iterable

from stream_text import mend_tags, strip_think

from .citations import Source


_MARK = "\u2063"
# Whole, or cut off by the end of the text: there only the blank before a mark shows that it begins an
# addendum and does not end one. The look-behind makes each run of white space be searched only once.
_ADDENDUM = re.compile(rf"(?<!\s)(?:\s*{_MARK}[^{_MARK}]*{_MARK}|(?:\A|\s+){_MARK}[^{_MARK}]*\Z)")
_UNFIT_IN_TITLE = re.compile(r"[\[\]\\`<>\s]+")
_UNFIT_IN_LINK = re.compile(r"[\s()<>\x00-\x1f]")


def render_addendum(text: str) -> str:
    """Return a text as an addendum: a paragraph of its own, which `without_addenda` removes again."""
    return f"\n\n{_MARK}{text.replace(_MARK, '').strip()}{_MARK}" if text.strip() else ""


def render_sources(sources: Iterable[Source]) -> str:
    """Return sources as an addendum, a Markdown list of links; empty if there are none.

    Example:
        >>> from gpt5_messages import Source, without_addenda
        >>> text = "Noon." + render_sources([Source(title="Time", url="https://time.example.org")])
        >>> print(text.replace("\u2063", ""))
        Noon.
        <BLANKLINE>
        - [Time](https://time.example.org)
        >>> without_addenda(text)
        'Noon.'
    """
    links = (
        f"- [{_UNFIT_IN_TITLE.sub(' ', source.title).strip()}]({_UNFIT_IN_LINK.sub(_escaped, source.url)})"
        for source in sources
    )
    return render_addendum("\n".join(links))


def without_addenda(text: str) -> str:
    """Return a text without the addenda of programs, even if it was cut within one."""
    return _ADDENDUM.sub("", text) if _MARK in text else text


def said_text(text: str) -> str:
    """Return the model's own words in the text of an answer, without thoughts and addenda, as they were before `VisibleText` broke tags in them."""
    return mend_tags(strip_think(without_addenda(text), rendered=True))


def _escaped(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode())
