"""Removing `<think>` blocks from text that goes back to the model."""

import re


_BLOCK = re.compile(r"<think>.*?</think>\s*", re.DOTALL | re.IGNORECASE)
_UNCLOSED = re.compile(r"<think>.*\Z", re.DOTALL | re.IGNORECASE)
_STRAY_CLOSE = re.compile(r"</think>\s*", re.IGNORECASE)


def strip_think(text: str) -> str:
    """Remove `<think>` blocks, an unclosed last one and stray closing tags.

    They are how thoughts are *shown*; the model must not read them back as its own answer.
    """
    if "think>" not in text.lower():
        return text
    text = _BLOCK.sub("", text)
    text = _UNCLOSED.sub("", text)
    return _STRAY_CLOSE.sub("", text)
