"""What the settings of a run may be: told where the run is made, and not in the middle of it."""

from collections.abc import Callable, Mapping
from typing import Any

from agent_tooling import AnswerSchema, ApprovalRules

from ._budgets import Budgets
from ._errors import InvalidSettingError
from ._models import FallbackModel
from ._numbers import is_whole
from ._window import Window


type _Kind = tuple[str, Callable[[Any], bool]]


def _one_of(kind: type) -> _Kind:
    return f"{kind.__name__} or None", lambda value: value is None or isinstance(value, kind)


_WHOLE: _Kind = ("at least 1, a whole number", lambda value: is_whole(value, least=1))
_KINDS: Mapping[str, _Kind] = {
    "maximum_iterations": _WHOLE,
    "max_request_bytes": (_WHOLE[0], lambda value: value is None or is_whole(value, least=1)),
    "max_agent_depth": ("at least 0, a whole number", lambda value: is_whole(value, least=0)),
    "budgets": _one_of(Budgets),
    "approval_rules": _one_of(ApprovalRules),
    "answer_schema": _one_of(AnswerSchema),
    "fallback": _one_of(FallbackModel),
    "window": _one_of(Window),
    "allowed_tools": ("names of tools, and not one text", lambda value: not isinstance(value, str)),
}


def validate_settings(**settings: object) -> None:
    """Refuse a setting of a run that it could not keep.

    Raises:
        InvalidSettingError: If one is of another kind, or too small.
    """
    for name, value in settings.items():
        expected, fits = _KINDS[name]
        if not fits(value):
            raise InvalidSettingError(name, expected, value)
