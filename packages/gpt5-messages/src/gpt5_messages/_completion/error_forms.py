"""Errors in all the forms that servers report them in, read into the form that OpenAI's have.

Source: OpenAI's `error` object; the `detail` of FastAPI 0.121 and pydantic 2.12 and the issues of zod 4, which list
what is wrong with which field; a list with an error at its top (Google); lists of texts by field, at the top or under
`errors` (ASP.NET, Laravel, Django, marshmallow); texts under `error`, `detail` or `message`; and upstreams' bodies as
text inside a message, as JSON (LiteLLM 1.108.7) or as Python shows it (ogx 1.5.0, exceptions of openai 3.51.0), or
beside it (OpenRouter's `metadata.raw`). Which server has which: docs/supported.md.
"""

import json
import re
from ast import literal_eval
from collections.abc import Iterator, Mapping, Sequence
from html import unescape
from typing import Any

from gpt5_messages._json import mapping
from stream_text import is_list, is_object


_MOST_LEVELS = 8  # forms inside forms: a gateway's text, its upstream's error, that one's list
_NAMES = ("code", "param", "type")
_CODES = ("code", "error_code", "errorCode")
_OBJECTS = ("error", "errors", "unionErrors", "issues", "detail", "message", "fault")
_TEXTS = (
    *("message", "msg", "Message", "error_message", "error_msg", "error_description"),
    *("errorMessage", "faultstring", "detail", "error", "errors", "title", "reason"),
)
_TOLD = frozenset({*_OBJECTS, *_TEXTS}) - {"title", "reason"}  # which schemas have, too
_PLACES = ("loc", "path")  # of a field, as a list; a text under these names is an address
_MOST_SHOWN = 20_000  # characters of a value as Python shows it, whose parser is slow; our choice
_PAGE = re.compile(r"<(?:!--|(?:!doctype|html|head|body|h\d|\?xml|error)\b)", re.IGNORECASE)
_TITLE = re.compile(r"<(title|h\d|message)\b[^>]*>\s*([^<\s].*?)</\1", re.IGNORECASE | re.DOTALL)
_JSON = json.JSONDecoder()


def read_error(value: object) -> dict[str, str]:
    """Return what an error says as texts, each only where it says so: `message`, `code`, `param` (dotted) and `type`.

    Args:
        value: The decoded body of an answer with an error status, an `error` object, a text, or an event that reports a failure.

    Example:
        >>> read_error(
        ...     {
        ...         "detail": [
        ...             {
        ...                 "loc": ["body", "top_k"],
        ...                 "msg": "Extra inputs are not permitted",
        ...                 "type": "extra_forbidden",
        ...             }
        ...         ]
        ...     }
        ... )
        {'message': 'top_k: Extra inputs are not permitted', 'code': 'extra_forbidden', 'param': 'top_k'}
    """
    return _read(value, _MOST_LEVELS)


def is_error(body: Mapping[str, Any]) -> bool:
    """Return whether an object that is neither a response nor one of its events reports a failure."""
    if any(body.get(name) for name in ("error", "errors", "detail", "fault")):
        return True
    is_told = any(isinstance(body.get(name), str) for name in _TEXTS)
    is_coded = is_told and any(body.get(name) for name in _CODES)
    return (
        is_coded
        or body.get("success") is False
        or "error" in (body.get("object"), body.get("status"))
    )


def _read(value: object, levels: int) -> dict[str, str]:
    if isinstance(value, str):
        return _of_text(value.strip(), levels)
    if levels and is_list(value):
        return _of_list(value, levels - 1)
    if levels and is_object(value):
        return _of_mapping(value, levels - 1)
    return {}


def _of_text(text: str, levels: int) -> dict[str, str]:
    """Read a text: a page by its title, and JSON inside it, if that is an error, in the place where it stands."""
    if _PAGE.match(text):
        title = _TITLE.search(text)
        text = " ".join(unescape(title[2]).split()) if title else ""
    for start in sorted(filter(lambda at: at >= 0, (text.find("{"), text.find("[")))):
        value, end = _value_at(text, start)
        # Within a text stand other values, too: an index, as in item['content'], or a schema that is refused.
        if (start, end) != (0, len(text)) and not _is_told(value):
            continue
        inside = _read(value, levels)
        if "message" in inside:
            return {**inside, "message": f"{text[:start]}{inside['message']}{text[end:]}"}
    return {"message": text} if text else {}


def _is_told(value: object) -> bool:
    """Return whether a value that is quoted in a text is an upstream's error, or a list of such."""
    if is_object(value):
        return not _TOLD.isdisjoint(value)
    return is_list(value) and any(map(_is_told, value))


def _value_at(text: str, start: int) -> tuple[object, int]:
    """Return the value that begins there, as JSON or as Python shows it, and where it ends; None if there is none that can be read."""
    try:
        return _JSON.raw_decode(text, start)
    except (ValueError, RecursionError):
        end = max(text.rfind("}"), text.rfind("]")) + 1
    try:
        shown = text[start:end] if end - start <= _MOST_SHOWN else ""
        return literal_eval(shown), end
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None, start


def _of_list(entries: Sequence[object], levels: int) -> dict[str, str]:
    """Read all entries, each behind the name of its field; code and field are those of the first that has one."""
    found = [_read(entry, levels) for entry in entries]
    messages = [
        # Of a list inside it, it says so already.
        f"{error['param']}: {error['message'].removeprefix(error['param'] + ': ')}"
        if "param" in error
        else error["message"]
        for error in found
        if "message" in error
    ]
    if not messages:
        return {}
    first = {name: text for error in reversed(found) for name, text in error.items()}
    # What kind of mistake an entry is, pydantic says in `type`, and zod in `code`.
    facts = {"code": first.get("code", first.get("type")), "param": first.get("param")}
    told = {name: text for name, text in facts.items() if text is not None}
    return {"message": "; ".join(dict.fromkeys(messages))} | told


def _of_mapping(value: Mapping[str, Any], levels: int) -> dict[str, str]:
    forms = [form for held in _iter_held(value) if (form := _read(held, levels))]
    found = next((form for form in forms if "message" in form), forms[0] if forms else {})
    raw = _read(mapping(value.get("metadata")).get("raw"), levels)
    if "message" in found and "message" in raw:
        found = {**found, **raw, "message": f"{found['message']}: {raw['message']}"}
    own = {name: text for name in _NAMES if (text := _short(value.get(name)))}
    code = next(filter(None, (_short(value.get(name)) for name in _CODES)), "")
    short = value.get("error")
    if isinstance(short, str) and short != found.get("message") and " " not in short:
        code = code or short  # beside a text that explains it
    if code:
        own["code"] = code
    for place in _PLACES:
        if is_list(steps := value.get(place)):
            keys: Sequence[object] = value.get("keys") or []  # those that zod does not know
            names = [str(step) for step in (*steps, *keys[:1])]
            if names := names[1:] if names[:1] == ["body"] else names:
                own["param"] = ".".join(names)
    return own | found


def _iter_held(value: Mapping[str, Any]) -> Iterator[object]:
    """Yield what may be the message: first what has parts of its own, since a text beside it only sums it up."""
    for name in _OBJECTS:
        if not isinstance(held := value.get(name), str):
            yield held
    for name in _TEXTS:
        if isinstance(held := value.get(name), str):
            yield held
    yield value.get("details")
    entries = (_by_field(name, held) for name, held in value.items() if name not in _OBJECTS)
    yield [entry for entry in entries if isinstance(entry, Mapping)]


def _by_field(name: str, held: object) -> object:
    """Return pydantic's form of an error that is a list of texts under the field's name; anything else as it is."""
    if not is_list(held) or not held or not all(isinstance(text, str) for text in held):
        return held
    return {"loc": [name], "msg": "; ".join(held)}


def _short(value: object) -> str:
    """Return a text or number as a text; an empty one for anything else."""
    is_fact = isinstance(value, str | int | float) and not isinstance(value, bool)
    return str(value) if is_fact else ""
