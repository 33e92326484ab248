"""What becomes of a model's arguments: they may be used, or a sentence says why not."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ._schema import JsonSchema


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedArguments:
    """Arguments that may be used.

    Attributes:
        args: The arguments.
        dropped: The names of those that the model has given and may not, because the tool's form has set them.
        shown: What of them a model and a person may know; None where that is all.
        schema: The JSON schema that they fit, where whoever has bound them tells it.
        ok: True.
        error: None.
    """

    args: dict[str, Any]
    dropped: tuple[str, ...] = ()
    shown: Mapping[str, Any] | None = None
    schema: JsonSchema | None = field(default=None, repr=False, compare=False)
    ok: Literal[True] = field(default=True, init=False)
    error: None = field(default=None, init=False)

    def __bool__(self) -> Literal[True]:
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedArguments:
    """Arguments that may not be used.

    Attributes:
        error: The reason, in a sentence.
        ok: False.
        args: Nothing.
    """

    error: str
    ok: Literal[False] = field(default=False, init=False)
    args: dict[str, Any] = field(default_factory=dict[str, Any], init=False)

    def __bool__(self) -> Literal[False]:
        return False


ToolArguments = AcceptedArguments | RefusedArguments
"""Either; `ok` tells which, and so does whether it is true.

`if not bound: return bound.error` narrows for every type checker, `if not bound.ok` for mypy alone.
"""
