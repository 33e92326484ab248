"""Parameters that some servers do not know: which may be left out of a request, and which refusal is about one.

Source: `unknown_parameters.toml`, the words of servers; docs/contracts/responses-scheme.md, D30.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from gpt5_payloads import build_request
from gpt5_responses._http.error_answer import ErrorAnswer
from stream_text import is_object

from .left_out import MOST_CHARACTERS, Fallback, LeftOut, Request, read_table


class Parameter(NamedTuple):
    """A parameter that may be left out of a request.

    Attributes:
        path: Its place in the body, with dots between the steps.
        words: What a person calls it.
        aliases: Other names under which it may be refused.
        values: The only values that may be left out; they mean the same as none. Empty if all may.
        is_common: Whether all servers take it, as far as is known.
    """

    path: str
    words: str
    aliases: Sequence[str] = ()
    values: Sequence[object] = ()
    is_common: bool = False

    def find_in(self, request: Request) -> Any:
        """Return its value in a request, None if there is none that may be left out."""
        value: Any = request
        for step in self.path.split("."):
            value = value.get(step) if is_object(value) else None
        return value if value in (self.values or (value,)) else None


_STATUSES = (400, 422)
_TABLE = "unknown_parameters"
# What stands for a word in a text: the name may be on either side of it, or only behind it.
_WORD, _WORD_BEFORE = "\N{SECTION SIGN}", "\N{PILCROW SIGN}"
# Patterns are compiled when a refusal needs them, so that nobody else waits for it.
_CAMEL = r"(?<=[a-z0-9])(?=[A-Z])"
_CLASS = r"\.[A-Z]\w*(?=\.)"  # between the steps of a place, as pydantic tells one of several
_QUOTES = r"[\"'`*\\(){}\[\]<>\u2018-\u201f\u2039\u203a\u00ab\u00bb\u3008-\u3011]"
_NAME_AT = r"([\w.]{1,80})[\"'`]+ (?:at|of) [\"'`]+([\w.\[\]]+)"  # Google's way to tell a place
_CODE = r"\b(un[a-z]+|extra)_(?=param|field|key|arg|prop|input)"
_IN_BRACKETS = r"(?<=\w)\[[\"']?(\w{1,40})[\"']?\]"
_BEHIND_SLASH = r"\b(text|reasoning|\w{1,40}_options)/"
_ROOT = r"(?<![\w./])(?:[$#]?[./]|(?:body|request)\.)+(?=\w)"
_AND = r"(?:\s*,\s*(?:(?:and|or)\s+)?|\s+(?:and|or)\s+)"
_VALUE = r"(?:\s*:\s*[\w.-]+)?"  # of a parameter, where they are told as an object
# Behind it stand the values that a server takes; before it, or by its place, the one that it refuses.
_TAKEN_VALUES = r"supported values|input should be|must be one of|expected one of"
_QUOTED_INCLUDE = r"(?<=[\"'`])include(?=\\?[\"'`])"
_INCLUDE = r"(?<![\w.])include(?!\w)"
_INCLUDE_PLACES = r"(?<![\w.])include[.,:\s]+(\d{1,3})(?!\w)"
_ENCRYPTED_REASONING = "reasoning.encrypted_content"


@cache
def read_parameters() -> Mapping[Fallback, Parameter]:
    """Return the parameters that may be left out, in the order in which they are looked for."""
    return {name: Parameter(**row) for name, row in read_table(_TABLE)["parameters"].items()}


def find_unknown(error: ErrorAnswer, request: Request) -> Iterator[LeftOut]:
    """Yield the parameters that a refusal calls unknown and that may be left out; of `include` only the refused values, or all of it."""
    if error.status_code not in _STATUSES:
        return
    refusal = _Refusal(error)
    for name, parameter in read_parameters().items():
        value = parameter.find_in(request)
        if value is None or (name == "without_limit" and value != _default_limit(request)):
            continue
        if name == "without_include":
            for refused in refusal.included(value):
                yield LeftOut(name, refused)
        elif refusal.is_about((parameter.path, *parameter.aliases), value, parameter.values):
            yield LeftOut(name)


def leave_out(request: Request, part: LeftOut) -> dict[str, Any]:
    """Return a request without a parameter, or without one value of `include`; an object that holds nothing else goes with it."""
    first, *inner = read_parameters()[part.name].path.split(".")
    left: Any = None
    if inner:
        left = {key: value for key, value in request[first].items() if key != inner[0]}
    elif part.value:
        left = [value for value in request[first] if value != part.value]
    less = {key: value for key, value in request.items() if key != first}
    return {**less, first: left} if left else less


class _Refusal:
    """The words of a refusal, and what they are about."""

    def __init__(self, error: ErrorAnswer) -> None:
        self._path = _path(error.param)
        self._text = _marked(error.message)
        code = _plain(error.code).replace("_", " ")
        self._has_code = _WORD in _marked(code)
        # Of several things that are wrong, `param` is the first.
        first = self._text.partition(";")[0]
        has_word = _WORD in first or _WORD_BEFORE in first
        is_of_value = re.search(r"\bvalues?\b", first) is not None
        self._refuses_name = self._has_code or (has_word and not is_of_value)
        self._refuses_value = self._has_code or has_word or "unsupported" in f"{code} {first}"

    def is_about(self, names: Sequence[str], value: object, values: Sequence[object] = ()) -> bool:
        """Return whether it calls a parameter unknown, by one of its names, or only its value, if that is among some."""
        if self._path and _is_within(self._path, names):
            return self._refuses_value if values else self._refuses_name
        # A short name may be that of something else in the place that is told.
        told = names[:1] if self._path else names
        token = _token(told, value)
        # A name, a value and the word refuse the value.
        alone = token if values else _token(told, None)
        others, more = rf"(?:[\w.]+{_VALUE}{_AND}){{0,20}}", rf"(?:{_AND}[\w.]+){{0,20}}"
        # Behind a comma, a name with other words behind a colon begins the next of several mistakes.
        before = rf"(?:[\s:=-]*{others}{token}|[\s:=,-]*{others}{token}(?!\s*:\s*\w))"
        return bool(
            re.search(f"[{_WORD}{_WORD_BEFORE}]{before}", self._text)
            or re.search(rf"{alone}{more}[\s:=,-]*{_WORD}", self._text)
            or (self._has_code and not self._path and re.search(token, self._text))
        )

    def included(self, values: Sequence[str]) -> Sequence[str]:
        """Return the values of `include` that it calls unknown; one empty text if it says so of all of `include`."""
        is_place = _is_within(self._path, ("include",))
        places = {
            int(place) for place in re.findall(_INCLUDE_PLACES, f"{self._path} ; {self._text}")
        }
        before, *taken = re.split(_TAKEN_VALUES, self._text)
        chosen = [value for at, value in enumerate(values) if at in places] or [
            value for value in values if any(name in before for name in _value_names(value))
        ]
        is_named = is_place or places or (not self._path and re.search(_INCLUDE, self._text))
        if is_named and chosen and (self._refuses_value or taken):
            return chosen
        if self.is_about(("include",), None):
            return [""]
        if self._path:
            return ()
        return [value for value in values if self.is_about(_value_names(value), None)]


def _value_names(value: str) -> tuple[str, ...]:
    return (value, "encrypted content") if value == _ENCRYPTED_REASONING else (value,)


def _is_within(path: str, names: Sequence[str]) -> bool:
    return any(f"{path}.".startswith(f"{name}.") for name in names)


def _token(names: Sequence[str], value: object) -> str:
    """Return the pattern of a name, with dots behind it for what is in it, and the value if it follows."""
    # Without quotes it may be the verb: "The unknown parameters include x".
    rest = r"(?!\s+\w)" if names == ("include",) else rf"(?:[\s:=]+{re.escape(_plain(value))}\b)?"
    return rf"(?<![\w.])(?<!tool )(?<!function )(?<!model )(?:{'|'.join(map(re.escape, names))})(?:\.\w+)*(?!\w){rest}"


def _plain(text: object) -> str:
    return re.sub(_CAMEL, "_", re.sub(_CLASS, "", str(text or ""))).lower()


def _path(param: object) -> str:
    """Return the path that an error names, with dots between its steps."""
    path = re.sub(_ROOT, "", _plain(param if isinstance(param, str) else ""))
    return re.sub(r"[\[\]/]+", ".", path).strip(". ")


def _marked(message: str) -> str:
    """Return a message in lower case without quotes, with signs in the place of the words for "unknown".

    What may stand between the quotes and a name goes as well.
    """
    word, word_before, filler = _patterns()
    text = re.sub(_CODE, r"\1 ", _plain(message[:MOST_CHARACTERS]))
    text = re.sub(_NAME_AT, r"\2.\1", re.sub(_IN_BRACKETS, r".\1", text))
    text = re.sub(_QUOTED_INCLUDE, "include,", text)
    text = word_before.sub(_WORD_BEFORE, text)
    text = re.sub(_ROOT, "", re.sub(_QUOTES, " ", word.sub(_WORD, text)))
    text = re.sub(_BEHIND_SLASH, r"\1.", text)
    return re.sub(r"\s+", " ", filler.sub(" ", text)).strip()


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of words beside a name, of words before one, and of what may stand between."""
    table = read_table(_TABLE)
    nouns = "|".join(table["nouns"])
    words: dict[bool, list[str]] = {True: [], False: []}
    for row in table["words"]:
        words[row.get("is_before", False)].append(row["word"].replace("{nouns}", nouns))
    fillers = "|".join((nouns, *table["fillers"]))
    return (
        re.compile("|".join(words[False])),
        re.compile("|".join(words[True])),
        re.compile(rf"(?<![\w.])(?:{fillers})(?!\w|\.\w)"),
    )


def _default_limit(request: Request) -> int:
    """Return the limit of output tokens of a request whose caller has chosen none."""
    body = build_request(model=f"{request.get('model')}", input="", parameters={})
    return body["max_output_tokens"]
