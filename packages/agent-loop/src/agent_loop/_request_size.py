"""The bound on a run's requests, and the sentences in which images and files are told that do not fit."""

from typing import Any

from stream_text import RequestSize, read_member, render_omission


def bound_requests(max_bytes: int) -> RequestSize:
    """Return what keeps a run's requests within a bound, at least 1; a file that no request could hold is left out even if it is the newest."""
    return RequestSize(max_bytes, omit=_to_sentence, max_file_bytes=max_bytes)


def _to_sentence(part: object, reason: str) -> dict[str, Any]:
    """Return the text part that stands for a part, in the words of its own kind."""
    kind = read_member(part, "type", "kind")
    kind = str(getattr(kind, "value", kind))
    name = read_member(part, "filename", "name")
    word = next((word for word in ("image", "audio", "video") if word in kind), "file")
    text = render_omission(word, reason=reason, name=name if isinstance(name, str) else "")
    return {"type": "input_text" if kind.startswith("input_") else "text", "text": text}
