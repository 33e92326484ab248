"""Images and files of a conversation, fitted to a model."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from stream_text import render_omission

from ._model_profile import IMAGE_DETAILS, ImageDetail, ModelProfile
from ._profiles import fit


_PLACES = ("content", "output")
_TEXT_ONLY = "this model reads text only"


def with_fitted_parts(
    item: Mapping[str, Any], profile: ModelProfile, *, detail: ImageDetail | None
) -> dict[str, Any]:
    """Return an item with the images and files that the model reads, and a sentence in place of each other one.

    Args:
        item: An input item.
        profile: The profile of the model.
        detail: The detail of every image; None keeps the detail that each has.
    """
    fitted = dict(item)
    for name in _PLACES:
        parts = item.get(name)
        if isinstance(parts, list | tuple):
            fitted[name] = [
                _fitted(part, profile, detail) for part in cast("Sequence[object]", parts)
            ]
    return fitted


def iter_parts(item: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the parts of a message or of a call's output; a generated image counts as a part."""
    if item.get("type") == "image_generation_call" and item.get("result"):
        yield {"type": "input_image", "image_url": f"data:image/png;base64,{item['result']}"}
    for name in _PLACES:
        parts = item.get(name)
        for part in cast("Sequence[object]", parts if isinstance(parts, list | tuple) else ()):
            if isinstance(part, Mapping):
                yield cast("Mapping[str, Any]", part)


def _fitted(part: object, profile: ModelProfile, detail: ImageDetail | None) -> object:
    match part:
        case {"type": "input_image"} if not profile.images:
            return _omitted("image")
        case {"type": "input_file"} if not profile.files:
            return _omitted("file", str(cast("Mapping[str, Any]", part).get("filename") or ""))
        case {"type": "input_image"}:
            image = cast("Mapping[str, Any]", part)
            wanted = detail or image.get("detail")
            # None, or a value that is not known here: the server's to judge.
            if wanted not in IMAGE_DETAILS:
                return image
            taken = fit(wanted, accepted=profile.image_details, ladder=IMAGE_DETAILS)
            return {**image, "detail": taken}
        case _:
            return part


def _omitted(kind: str, name: str = "") -> dict[str, str]:
    return {"type": "input_text", "text": render_omission(kind, reason=_TEXT_ONLY, name=name)}
