"""Checks for the items of a conversation and for the parts of messages and tools' outputs, as a real server makes them.

Source: recorded 400 bodies, one of them for `file_data`; docs/evidence/responses-api.md, R4 to R11; the messages for `image_url` in
https://github.com/anomalyco/opencode/issues/23983, https://github.com/dickpy/dsh-imagegen/issues/23 and
https://github.com/Alibaba-NLP/OmniSearch/issues/3; the limits of OpenAI's guides "Images and vision" and "File inputs", read in November 2026.
The code of an image that cannot be read is one of `ResponseError` of openai 3.54.
"""

from collections.abc import Callable, Iterable

from gpt5_simulator._checks.schema import (
    SCHEMAS,
    bad_value,
    missing,
    unknown,
    validate,
    wrong_type,
)
from gpt5_simulator._errors import ApiError
from gpt5_simulator._json import Json, is_array, is_object, objects_in
from gpt5_simulator._media import MEDIA, DataUrl, media_in, parse_data_url
from gpt5_simulator._profiles import ModelProfile
from gpt5_simulator._request import item_type
from gpt5_simulator._responses.item_kinds import kind_of


_KINDS: Json = SCHEMAS["items"]
_PREFIXED = frozenset(
    kind for kind, schema in _KINDS.items() if "id" in schema.get("required", ())
) - {"item_reference"}
_WITH_PARTS = ("function_call_output", "custom_tool_call_output")
# Fields of a picture that the server sends and does not take back.
# Source: Yeachan-Heo/gajae-code, issue 1688.
_SHOWN_ONLY = ("action", "background", "output_format", "quality", "revised_prompt", "size")
_PARTS_IN = ("input_text", "input_image", "input_file", "input_audio")
_PARTS_OUT = ("output_text", "refusal")
_IMAGE_TYPES = ("image/png", "image/jpeg", "image/jpg", "image/webp", "image/gif")
_NO_FILES = ("", "application/octet-stream", "application/zip")
_MAX_IMAGES = 1_500
_MAX_FILE_BYTES = 50 * 1024 * 1024
_IMAGE_EXAMPLE = "a base64-encoded data URL with an image MIME type (e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU=')"
_FILE_EXAMPLE = "a base64-encoded data URL with a valid file MIME type (e.g. 'data:text/plain;base64,SGVsbG8sIFdvcmxkIQ==')"


def validate_items(value: object, *, profile: ModelProfile) -> None:
    """Refuse input items of the wrong shape, one by one.

    Args:
        value: The request's `input`; a string is fine.
        profile: The model's profile, with the roles that it accepts.

    Raises:
        ApiError: If anything is wrong; it names the first fault.
    """
    _validate_amounts(objects_in(value))
    for index, item in enumerate(value if is_array(value) else ()):
        where = f"input[{index}]"
        if not is_object(item):
            raise wrong_type(where, wanted="an object", got=item)
        _validate_item(item, where, profile)


def _validate_item(item: Json, where: str, profile: ModelProfile) -> None:
    kind = item_type(item)
    if not isinstance(kind, str) or kind not in _KINDS:
        raise bad_value(where, kind, accepted=tuple(_KINDS))
    validate(item, _KINDS[kind], where, profile=profile)
    if kind == "message":
        if item["role"] == "system" and not profile.takes_system:
            raise ApiError("System messages are not allowed.", param=f"{where}.role")
        _validate_parts(item["content"], f"{where}.content", item["role"], profile)
    elif kind in _WITH_PARTS:
        _validate_parts(item["output"], f"{where}.output", None, profile)
    for name in item if kind == "image_generation_call" else ():
        if name in _SHOWN_ONLY:
            raise unknown(f"{where}.{name}")
    _validate_id(item, where)


def _validate_id(item: Json, where: str) -> None:
    """Refuse an id with the prefix of another type, as other servers make them."""
    item_id: object = item.get("id")
    prefix = kind_of(item).prefix if item.get("type") in _PREFIXED else None
    if isinstance(item_id, str) and prefix is not None and not item_id.startswith(prefix):
        text = f"Invalid '{where}.id': '{item_id}'. Expected an ID that begins with '{prefix}'."
        raise ApiError(text, param=f"{where}.id", code="invalid_value")


def _validate_parts(content: object, where: str, role: str | None, profile: ModelProfile) -> None:
    """Refuse parts that a message of this role, or the output of a call, must not have, or that cannot be read."""
    accepted = _PARTS_OUT if role == "assistant" else _PARTS_IN
    for index, part in enumerate(content if is_array(content) else ()):
        path = f"{where}[{index}]"
        if not is_object(part):
            raise wrong_type(path, wanted="an object", got=part)
        kind: object = part.get("type")
        if kind not in accepted:
            raise bad_value(f"{path}.type", kind, accepted=accepted)
        if kind in MEDIA and role not in ("user", None):
            text = (
                f"Invalid '{path}'. Images and files are only allowed for messages with role 'user', "
                f"but this message has role '{role}'."
            )
            raise ApiError(text, param=path, code="invalid_value")
        validate(part, SCHEMAS["parts"][kind], path, profile=profile)
        if kind == "input_image":
            _validate_image(part, f"{path}.image_url")
        elif kind == "input_file":
            _validate_file(part, path)


def _validate_amounts(items: Iterable[Json]) -> None:
    """Refuse more images, and more bytes of files, than one request may have."""
    parts = [part for item in items for part in media_in(item)]
    images = sum(part["type"] == "input_image" for part in parts)
    if images > _MAX_IMAGES:
        text = f"Too many images in request. Expected at most {_MAX_IMAGES}, but got {images}."
        raise ApiError(text, param="input", code="invalid_value")
    size = sum(len(str(part.get("file_data") or "")) for part in parts) * 3 // 4  # of base64
    if size > _MAX_FILE_BYTES:
        text = f"The files of this request have {size} bytes together. The limit is {_MAX_FILE_BYTES} bytes."
        raise ApiError(text, param="input", code="invalid_value")


def _validate_image(part: Json, param: str) -> None:
    source: str = part.get("image_url") or ""
    if source.startswith(("http://", "https://")) or not source:
        return
    found = parse_data_url(source)
    fault = _fault_in(found, is_taken=lambda kind: kind in _IMAGE_TYPES)
    if fault is not None:
        text = f"Invalid '{param}'. Expected {_IMAGE_EXAMPLE}, but got {fault}."
        raise ApiError(text, param=param, code="invalid_value")
    if found is not None and found.size is None:
        text = "The image data you provided does not represent a valid image. Please check your input and try again."
        raise ApiError(text, param=param, code="image_parse_error")


def _validate_file(part: Json, path: str) -> None:
    source: str | None = part.get("file_data")
    if source is None:
        return
    if not part.get("filename"):
        raise missing(f"{path}.filename")
    fault = _fault_in(parse_data_url(source), is_taken=_is_file_type)
    if fault is not None:
        param = f"{path}.file_data"
        text = f"Invalid file data: '{param}'. Expected {_FILE_EXAMPLE}, but got {fault}."
        raise ApiError(text, param=param, code="invalid_value")


def _is_file_type(kind: str) -> bool:
    return kind not in _NO_FILES and not kind.startswith(("audio/", "video/", "image/"))


def _fault_in(url: DataUrl | None, *, is_taken: Callable[[str], bool]) -> str | None:
    """Return the fault of a data URL as the end of a sentence, or None."""
    if url is None:
        return "a value without the 'data:' prefix"
    if not is_taken(url.media_type):
        return f"unsupported MIME type '{url.media_type}'"
    if url.data is None:
        return "invalid base64-encoded bytes"
    return None if url.data else "empty base64-encoded bytes"
