"""Content of messages and results, made anew from what a client sent.

The model's server would fetch a URL, and find a file of all who have its key: of every tenant. So a part has one shape, with members
that are known to name nothing of the kind, and no other member of a client's part goes on, whatever a reader further on would make of it.

Source: `types/responses/response_input_content_param.py` of openai 3.51.0.
"""

from typing import Any, Final

from agent_server.executor import JsonObject
from stream_text import is_list, is_object

from .problems import refuse


_TEXTS: Final = {
    "text": "text",
    "input_text": "text",
    "output_text": "text",
    "refusal": "refusal",
}
_FILES: Final = {"input_image": "image_url", "input_file": "file_data"}
_DETAILS: Final = ("auto", "low", "high", "original")
_PART_TYPES: Final = frozenset({*_TEXTS, *_FILES})


def read_content(value: Any, at: str) -> str | list[JsonObject]:
    """Return content as a text, or as parts in the form of the Responses API: texts, and images and files as data URLs.

    Args:
        value: What a client sent.
        at: Its place in the request, such as `input[2].content`.

    Raises:
        RequestRefusedError: If it is none, or refers to something that somebody would have to fetch.
    """
    if isinstance(value, str):
        return value
    if not is_list(value):
        raise refuse(at, "expected a text, or a list of parts", code="invalid_type")
    return [_read_part(part, f"{at}[{index}]") for index, part in enumerate(value)]


def are_parts(value: Any) -> bool:
    """Return whether JSON is meant as content: a list of parts, each of a type that `read_content` knows."""
    return is_list(value) and bool(value) and all(_type_of(part) in _PART_TYPES for part in value)


def _type_of(value: Any) -> str:
    kind = value.get("type") if is_object(value) else None
    return kind if isinstance(kind, str) else ""


def _read_part(value: Any, at: str) -> JsonObject:
    kind = _type_of(value)
    if kind in _TEXTS:
        name = _TEXTS[kind]
        if not isinstance(text := value.get(name), str):
            raise refuse(f"{at}.{name}", "expected a text", code="invalid_type")
        return {"type": kind, name: text}
    if kind not in _FILES:
        expected = ", ".join(sorted(_PART_TYPES))
        raise refuse(f"{at}.type", f"expected one of {expected}", code="unsupported_value")
    source = _FILES[kind]
    for name in ("file_id", "file_url"):
        if value.get(name) is not None:
            message = f"is not supported: expected a data URL in `{source}`"
            raise refuse(f"{at}.{name}", message, code="unsupported_parameter")
    url = value.get(source)
    if not (isinstance(url, str) and url[:5].lower() == "data:"):
        raise refuse(f"{at}.{source}", "expected a data URL")
    part = {"type": kind, source: url if url.startswith("data:") else f"data:{url[5:]}"}
    return part | _read_description(value, kind, at)


def _read_description(value: JsonObject, kind: str, at: str) -> JsonObject:
    """Return what a part says of its file."""
    detail, name = value.get("detail"), value.get("filename")
    if detail is not None and detail not in _DETAILS:
        raise refuse(f"{at}.detail", f"expected one of {', '.join(_DETAILS)}")
    if name is not None and not isinstance(name, str):
        raise refuse(f"{at}.filename", "expected a text", code="invalid_type")
    described = {"detail": detail, "filename": name if kind == "input_file" else None}
    return {name: one for name, one in described.items() if one is not None}
