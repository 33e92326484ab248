"""What a real server would refuse about the parts of messages and of tools' outputs.

Source: a recorded 400 body for `file_data`; the messages for `image_url` in https://github.com/anomalyco/opencode/issues/23983,
https://github.com/dickpy/dsh-imagegen/issues/23 and https://github.com/Alibaba-NLP/OmniSearch/issues/3; the limits of OpenAI's guides "Images and
vision" and "File inputs", read in November 2026. The code of an image that cannot be read is one of `ResponseError` of openai 3.54.
"""

from collections.abc import Iterable, Sequence

from gpt5_simulator._checks import bad_value, missing, unsupported_value, wrong_type
from gpt5_simulator._errors import ApiError
from gpt5_simulator._json import Json, is_array, is_object
from gpt5_simulator._media import MEDIA, media_in, parse_data_url
from gpt5_simulator._profiles import IMAGE_DETAILS, ModelProfile


_PARTS_IN = ("input_text", "input_image", "input_file", "input_audio")
_PARTS_OUT = ("output_text", "refusal")
_FILE_DETAILS = ("auto", "low", "high")
_IMAGE_TYPES = ("image/png", "image/jpeg", "image/jpg", "image/webp", "image/gif")
_NO_FILES = ("", "application/octet-stream", "application/zip")
_MAX_IMAGES = 1_500
_MAX_FILE_BYTES = 50 * 1024 * 1024
_IMAGE_EXAMPLE = "a base64-encoded data URL with an image MIME type (e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU=')"
_FILE_EXAMPLE = "a base64-encoded data URL with a valid file MIME type (e.g. 'data:text/plain;base64,SGVsbG8sIFdvcmxkIQ==')"


def validate_parts(content: object, where: str, *, role: str | None, profile: ModelProfile) -> None:
    """Refuse parts that may not stand where they do, or that cannot be read.

    Args:
        content: The content of a message or the output of a call; a string is fine.
        where: Its path.
        role: The role of the message; None for the output of a call.
        profile: The model's profile.

    Raises:
        ApiError: If anything is wrong; it says the first thing.
    """
    if isinstance(content, str):
        return
    if not is_array(content):
        raise wrong_type(where, wanted="a string or an array", got=content)
    accepted = _PARTS_OUT if role == "assistant" else _PARTS_IN
    for index, part in enumerate(content):
        path = f"{where}[{index}]"
        if not is_object(part):
            raise wrong_type(path, wanted="an object", got=part)
        kind: object = part.get("type")
        if kind not in accepted:
            raise bad_value(f"{path}.type", kind, accepted=accepted)
        if kind in {"input_text", "output_text"} and not isinstance(part.get("text"), str):
            raise missing(f"{path}.text")
        if kind in MEDIA and role not in ("user", None):
            text = (
                f"Invalid '{path}'. Images and files are only allowed for messages with role 'user', "
                f"but this message has role '{role}'."
            )
            raise ApiError(text, param=path, code="invalid_value")
        if kind == "input_image":
            _validate_image(part, path, profile)
        elif kind == "input_file":
            _validate_file(part, path)


def validate_amounts(items: Iterable[Json]) -> None:
    """Refuse more images, and larger files, than one request may hold.

    Raises:
        ApiError: If there is too much.
    """
    parts = [part for item in items for part in media_in(item)]
    images = sum(part["type"] == "input_image" for part in parts)
    if images > _MAX_IMAGES:
        text = f"Too many images in request. Expected at most {_MAX_IMAGES}, but got {images}."
        raise ApiError(text, param="input", code="invalid_value")
    size = sum(len(str(part.get("file_data") or "")) for part in parts) * 3 // 4
    if size > _MAX_FILE_BYTES:
        text = f"The files of this request have {size} bytes together. The limit is {_MAX_FILE_BYTES} bytes."
        raise ApiError(text, param="input", code="invalid_value")


def _validate_image(part: Json, path: str, profile: ModelProfile) -> None:
    _validate_source(part, path, ("image_url", "file_id"))
    detail: object = part.get("detail")
    if detail is not None and detail not in IMAGE_DETAILS:
        raise bad_value(f"{path}.detail", detail, accepted=IMAGE_DETAILS)
    if detail is not None and detail not in profile.image_details:
        raise unsupported_value(
            f"{path}.detail", detail, profile=profile, accepted=profile.image_details
        )
    source: str = part.get("image_url") or ""
    if source.startswith(("http://", "https://")) or not source:
        return
    found = parse_data_url(source)
    if found is None:
        reason = "a value without the 'data:' prefix"
    elif found.media_type not in _IMAGE_TYPES:
        reason = f"unsupported MIME type '{found.media_type}'"
    elif not found.data:
        reason = (
            "invalid base64-encoded bytes" if found.data is None else "empty base64-encoded bytes"
        )
    elif found.size is None:
        text = "The image data you provided does not represent a valid image. Please check your input and try again."
        raise ApiError(text, param=f"{path}.image_url", code="image_parse_error")
    else:
        return
    text = f"Invalid '{path}.image_url'. Expected {_IMAGE_EXAMPLE}, but got {reason}."
    raise ApiError(text, param=f"{path}.image_url", code="invalid_value")


def _validate_file(part: Json, path: str) -> None:
    _validate_source(part, path, ("file_data", "file_url", "file_id"))
    detail: object = part.get("detail")
    if detail is not None and detail not in _FILE_DETAILS:
        raise bad_value(f"{path}.detail", detail, accepted=_FILE_DETAILS)
    source: object = part.get("file_data")
    if source is None:
        return
    if not part.get("filename"):
        raise missing(f"{path}.filename")
    found = parse_data_url(str(source))
    if found is None:
        reason = "a value without the 'data:' prefix"
    elif found.media_type in _NO_FILES or found.media_type.startswith(
        ("audio/", "video/", "image/")
    ):
        reason = f"unsupported MIME type '{found.media_type}'"
    elif not found.data:
        reason = (
            "invalid base64-encoded bytes" if found.data is None else "empty base64-encoded bytes"
        )
    else:
        return
    text = f"Invalid file data: '{path}.file_data'. Expected {_FILE_EXAMPLE}, but got {reason}."
    raise ApiError(text, param=f"{path}.file_data", code="invalid_value")


def _validate_source(part: Json, path: str, names: Sequence[str]) -> None:
    """Refuse a part that does not name exactly one place of its bytes."""
    given = [name for name in names if part.get(name) is not None]
    for name in given:
        if not isinstance(part[name], str):
            raise wrong_type(f"{path}.{name}", wanted="a string", got=part[name])
    if not given:
        raise missing(f"{path}.{names[0]}")
    if len(given) > 1:
        listed = " or ".join(f"'{name}'" for name in given)
        text = f"Mutually exclusive parameters. Ensure you are only providing one of: {listed}."
        raise ApiError(text, param=path, code="mutually_exclusive_parameters")
