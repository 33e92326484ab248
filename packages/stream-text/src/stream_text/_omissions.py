"""Sentences that replace a picture or file in a text."""

import re


_MAX_NAME = 80
_MAX_REASON = 160
# A name or a reason must not end the sentence early: `without_omissions` would leave the rest.
_UNFIT = re.compile(r'[\[\]"\x00-\x1f\x7f]+')
# The short forms are those that other programs write.
_OMISSION = re.compile(
    r"\[(?:image|file|document|audio|video"
    rf'|[\w-]{{1,24}}(?: "[^"\[\]]{{0,{_MAX_NAME}}}")? omitted: [^\[\]]{{0,{_MAX_REASON}}})\]'
)


def render_omission(kind: str, *, reason: str, name: str = "") -> str:
    """Return the sentence that stands for a part that is left out of a message, such as `[image "plan.svg" omitted: no model reads SVG]`.

    Args:
        kind: The kind of part: `image`, `file`, `audio`, `video`, or another word of at most 24 letters.
        reason: Why it is not there, as the end of a sentence of at most 160 characters.
        name: The name of the file, if it is known.
    """
    quoted = _fit(name, _MAX_NAME)
    named = f' "{quoted}"' if quoted else ""
    word = re.sub(r"[^\w-]", "_", kind)[:24] or "part"
    return f"[{word}{named} omitted: {_fit(reason, _MAX_REASON)}]"


def without_omissions(text: str) -> str:
    """Return a text without the sentences of `render_omission`, and without `[image]`, `[file]` and the like."""
    return _OMISSION.sub("", text) if "[" in text else text


def _fit(text: str, limit: int) -> str:
    return _UNFIT.sub("_", text).strip()[:limit]
