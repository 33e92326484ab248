"""What pydantic finds wrong with a model's arguments, in sentences that the model can act on."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from pydantic import ValidationError

from agent_tooling._errors import ToolError
from agent_tooling._json_text import path_text, shorten, value_text


_MAX_FINDINGS: Final = 5
_MAX_EXPECTED_CHARACTERS: Final = 300
_SHOULD: Final = re.compile(r"^[A-Z][\w ]*? should ")
_MISSING: Final = frozenset({"missing", "missing_argument"})
_UNKNOWN: Final = frozenset({"extra_forbidden", "unexpected_keyword_argument"})


type _Finding = Mapping[str, Any]  # one of pydantic's `ErrorDetails`


def describe_refusal(error: Exception, args: Mapping[str, Any]) -> str:
    """Return why arguments were refused: which parameter, what was expected, what was given, shortened.

    Of an exception that a validator raised without wanting to, nothing is told: its text may hold secrets.

    Args:
        error: What the validation raised.
        args: What the model gave.
    """
    if isinstance(error, ToolError):
        return str(error)
    if not isinstance(error, ValidationError):
        return "the arguments could not be checked"
    findings = cast("list[_Finding]", error.errors(include_url=False, include_context=False))
    sentences = [*_describe_unknown(findings, args), *_describe_others(findings, args)]
    more = len(sentences) - _MAX_FINDINGS
    return "; ".join(sentences[:_MAX_FINDINGS]) + (f"; and {more} more" if more > 0 else "")


def _describe_unknown(findings: Iterable[_Finding], args: Mapping[str, Any]) -> list[str]:
    unknown = sorted({_path(item, args) for item in findings if item["type"] in _UNKNOWN})
    return [shorten(f"unknown parameters {unknown}", _MAX_EXPECTED_CHARACTERS)] if unknown else []


def _describe_others(findings: Iterable[_Finding], args: Mapping[str, Any]) -> list[str]:
    """Describe each finding once; what the members of a union expect of the same value stands together."""
    missing: dict[str, None] = {}
    expected: dict[tuple[str, str], list[str]] = {}
    for item in findings:
        path = _path(item, args)
        if item["type"] in _MISSING:
            missing[f"missing required parameter '{path}'"] = None
        elif item["type"] not in _UNKNOWN:
            expected.setdefault((path, value_text(item["input"])), []).append(_expectation(item))
    told = (
        f"{f"parameter '{path}'" if path else 'the arguments'} {' or '.join(dict.fromkeys(texts))}, got {given}"
        for (path, given), texts in expected.items()
    )
    return [*missing, *told]


def _expectation(finding: _Finding) -> str:
    text = finding["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    told, count = _SHOULD.subn("must ", text)
    return shorten(told if count else f"is refused: {text}", _MAX_EXPECTED_CHARACTERS)


def _path(finding: _Finding, args: object) -> str:
    """Return the path of a finding in the arguments, without the union members that pydantic's own path names."""
    path: list[str | int] = []
    for number, key in enumerate(finding["loc"], start=1):
        if isinstance(args, dict) and key in args:
            args = cast("dict[object, object]", args)[key]
        elif (
            isinstance(args, list)
            and isinstance(key, int)
            and key < len(cast("list[object]", args))
        ):
            args = cast("list[object]", args)[key]
        elif number < len(finding["loc"]) or finding["type"] not in _MISSING:
            continue
        path.append(key)
    return path_text(path)
