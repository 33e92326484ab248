"""Images and files of a conversation, fitted to a model."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

from stream_text import is_list, is_object, render_omission

from ._model_profile import IMAGE_DETAILS, ImageDetail, ModelProfile
from ._profiles import fit


_PLACES = ("content", "output")
_TEXT_MEMBERS = {"type", "text", "refusal", "annotations", "logprobs"}
_TEXT_ONLY = "this model reads text only"


def wire_item(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return an input item in the one shape that all servers take.

    A message has its type. The text of an answer is a plain text, unless the answer has the id that its server gave it, and so is the output of a
    tool that consists of texts.

    Source: docs/contracts/openai-gpt5-responses.md, A24 to A26 and A52.
    """
    wire = dict(item)
    if wire.get("role") and not wire.get("type"):
        wire["type"] = "message"
    # LiteLLM's reasoning has a role, too.
    is_answer = wire.get("type") == "message" and wire.get("role") == "assistant"
    if is_answer and not wire.get("id") and (text := _joined_text(wire.get("content"))) is not None:
        # An id and a status are of the server's own items only.
        wire = {key: value for key, value in wire.items() if key not in ("id", "status")}
        wire["content"] = text
    elif (text := _joined_text(wire.get("output"))) is not None:
        wire["output"] = text
    return wire


def _joined_text(parts: object) -> str | None:
    """Return the text of parts that are nothing but text, a line break apart; None if there are others, or none at all."""
    held = parts if is_list(parts) else ()
    texts = [
        found
        for part in held
        if is_object(part)
        and part.keys() <= _TEXT_MEMBERS
        and isinstance(found := part.get("text", part.get("refusal")), str)
    ]
    return "\n".join(texts) if texts and len(texts) == len(held) else None


def with_fitted_parts(
    item: Mapping[str, Any], profile: ModelProfile, *, detail: ImageDetail | None
) -> dict[str, Any]:
    """Return an item with the images and files that the model reads, and a sentence in place of each other one.

    Args:
        item: An input item.
        profile: The profile of the model.
        detail: The detail of every image; None keeps the detail that each has, or else `auto`, since other servers demand one.
    """
    return _with_parts(wire_item(item), lambda part: _fitted(part, profile, detail))


def omit_media(
    item: Mapping[str, Any], kind: Literal["image", "file"], *, reason: str
) -> dict[str, Any]:
    """Return an input item with a sentence in place of each image or file, for a server that takes none.

    Args:
        item: An input item.
        kind: What is omitted.
        reason: Why, as the end of the sentence.
    """
    return wire_item(_with_parts(item, lambda part: _omitted(part, kind, reason)))


def _with_parts(item: Mapping[str, Any], change: Callable[[object], object]) -> dict[str, Any]:
    changed = dict(item)
    for name in _PLACES:
        parts = item.get(name)
        if is_list(parts):
            changed[name] = [change(part) for part in parts]
    return changed


def iter_parts(item: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the parts of a message or of a call's output; a generated image counts as a part."""
    if item.get("type") == "image_generation_call" and item.get("result"):
        yield {"type": "input_image", "image_url": f"data:image/png;base64,{item['result']}"}
    for name in _PLACES:
        parts = item.get(name)
        yield from filter(is_object, parts if is_list(parts) else ())


def _fitted(part: Any, profile: ModelProfile, detail: ImageDetail | None) -> object:
    match part:
        case {"type": "input_image"} if not profile.images:
            return _omitted(part, "image", _TEXT_ONLY)
        case {"type": "input_file"} if not profile.files:
            return _omitted(part, "file", _TEXT_ONLY)
        case {"type": "input_image"}:
            wanted = detail or part.get("detail") or "auto"
            # A value that is not known here is the server's to judge.
            if wanted not in IMAGE_DETAILS:
                return part
            taken = fit(wanted, accepted=profile.image_details, ladder=IMAGE_DETAILS)
            return {**part, "detail": taken}
        case _:
            return part


def _omitted(part: object, kind: str, reason: str) -> object:
    """Return a sentence for a part of this kind, and any other part as it is."""
    if not is_object(part) or part.get("type") != f"input_{kind}":
        return part
    name = str(part.get("filename") or "")
    return {"type": "input_text", "text": render_omission(kind, reason=reason, name=name)}
