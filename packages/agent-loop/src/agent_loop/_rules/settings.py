"""The settings of a run: each with its valid values, and whether a run that is resumed elsewhere has to share it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from inspect import signature
from typing import Any, Concatenate, Final, cast

from agent_loop._values.budgets import Budgets
from agent_loop._values.errors import InvalidSettingError
from agent_loop._values.models import FallbackModel, Window
from agent_loop._values.numbers import is_whole
from agent_loop._values.own_functions import OwnFunction, read_functions
from agent_tooling import AnswerSchema, ApprovalRules

from .snapshots import digest


# Keys in the metadata of fields. `_CHECK`: the valid values, in words and as a function. `_SHARED`:
# returns what a run must have in common with the one that it resumes; a field without may differ.
_CHECK: Final = "check"
_SHARED: Final = "shared"


def _whole(least: int, *, is_optional: bool = False) -> dict[str, Any]:
    def fits(value: object) -> bool:
        return is_whole(value, least=least) or (is_optional and value is None)

    return {_CHECK: (f"at least {least}, a whole number", fits)}


def _one_of(kind: type, *, shared: Callable[[Any], Any] | None = None) -> dict[str, Any]:
    def fits(value: object) -> bool:
        return value is None or isinstance(value, kind)

    return {_CHECK: (f"{kind.__name__} or None", fits), _SHARED: shared}


def _is_no_text(value: object) -> bool:
    return not isinstance(value, str)


_NAMES: Final = ("names of tools, and not one text", _is_no_text)


def _as_it_is(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """The settings of a run, which never change once it has started.

    Attributes:
        tools: The tools to offer, in any form that the driver wants them back in by `CallModel`.
        own_functions: Functions that the run answers itself; they are offered after the tools, as `agent_tooling.Tool`s.
        maximum_iterations: The hard cap of model calls, at least 1.
        emit_intermediate_thoughts: Show `<think>` blocks, and what the model says around tool calls.
        emit_reasoning: Give out what stands in `<think>` blocks as `ShowReasoning`, as it comes, whatever else is shown.
        fail_on_model_failure: Always end with an error if a model call fails for good, or is open when the time is up.
        tool_choice: The choice of the first call: `auto`, `none`, `required`, a tool's name, or None to leave it unset.
        has_tool_choice: Whether the model supports a tool choice; if not, the closing call offers no tools.
        budgets: What the run may use.
        allowed_tools: The names of the only tools that may be called; None for all. Calls of others are refused, and all tools are offered.
        approval_rules: Which tool calls a person has to approve: for those the run stops with `AskApproval`, once the
            other calls of the round have answered.
        answer_schema: The schema of the last answer. The text of a round is held back until the round has ended, and
            only a valid answer is shown of the last one. An invalid answer is asked for once more; if that fails, or if
            there is no answer, the run ends with an error.
        has_answer_format: Whether the model takes the schema as its format; if not, the request asks for it in words.
        checks_answer: Whether the driver checks the last answer (`CheckAnswer`) before any of it is shown.
        model: The name of the model in events.
        fallback: The model that takes over, once and for the rest of the run, after an error that another model may not
            have or a call that was broken off twice.
        max_request_bytes: How many bytes the messages of a request may have, written as JSON.
        window: The model's context window; None if unknown. Before a request would fill it, the model is asked for a
            summary that replaces everything but system messages, the task, pinned results and the last rounds
            (`RunCompacted`).
        redact: Removes secrets from the names and results of tools before they are shown.
        max_agent_depth: How deeply agents may be nested: with 1, the agents that this run calls may not call any.
        hosted_tools: The names of tools that the models' servers run by themselves, which their clients offer beside
            the run's; None if the driver does not know them. Their calls are seen only afterwards: they count as tool
            calls, and nobody approves them.
        own: The own functions by name.
        offered: The tools, and after them the own functions.
        allowed: The names of the only tools that may be called, as a tuple; None for all.

    Raises:
        InvalidSettingError: If a setting is of the wrong kind, `maximum_iterations` or `max_request_bytes` is under 1,
            `max_agent_depth` is under 0, there is a fallback but no `model`, or an own function has the name of a tool
            or of another own function.
    """

    tools: Sequence[Any] = ()
    own_functions: Iterable[OwnFunction] = ()
    maximum_iterations: int = field(metadata=_whole(1))
    emit_intermediate_thoughts: bool = True
    emit_reasoning: bool = False
    fail_on_model_failure: bool = False
    tool_choice: str | None = None
    has_tool_choice: bool = True
    budgets: Budgets | None = field(default=None, metadata=_one_of(Budgets))
    allowed_tools: Iterable[str] | None = field(
        default=None,
        metadata={_CHECK: _NAMES, _SHARED: _as_it_is},
    )
    approval_rules: ApprovalRules | None = field(
        default=None, metadata=_one_of(ApprovalRules, shared=lambda rules: rules.text)
    )
    answer_schema: AnswerSchema | None = field(
        default=None, metadata=_one_of(AnswerSchema, shared=lambda answer: answer.schema)
    )
    has_answer_format: bool = False
    checks_answer: bool = False
    model: str | None = field(default=None, metadata={_SHARED: _as_it_is})
    fallback: FallbackModel | None = field(
        default=None, metadata=_one_of(FallbackModel, shared=lambda fallback: fallback.name)
    )
    max_request_bytes: int | None = field(default=None, metadata=_whole(1, is_optional=True))
    window: Window | None = field(default=None, metadata=_one_of(Window))
    redact: Callable[[str], str] = str
    max_agent_depth: int = field(default=2, metadata=_whole(0))
    hosted_tools: Sequence[str] | None = field(default=None, metadata={_CHECK: _NAMES})
    own: Mapping[str, OwnFunction] = field(init=False)
    offered: tuple[Any, ...] = field(init=False)
    allowed: tuple[str, ...] | None = field(init=False)

    def __post_init__(self) -> None:
        """Refuse invalid settings when the run is made, not in the middle of it."""
        for known in fields(self):
            expected, fits = known.metadata.get(_CHECK, ("", None))
            if fits is not None and not fits(value := getattr(self, known.name)):
                raise InvalidSettingError(known.name, expected, value)
        if self.fallback is not None and self.model is None:
            raise InvalidSettingError("model", "named where there is a fallback", self.model)
        tools, own_functions = tuple(self.tools), tuple(self.own_functions)
        own = read_functions(own_functions, tools)
        allowed = None if self.allowed_tools is None else tuple(dict.fromkeys(self.allowed_tools))
        read = {
            "tools": tools,
            "own_functions": own_functions,
            "allowed_tools": allowed,
            "own": own,
            "offered": (*tools, *(function.tool for function in own.values())),
            "allowed": allowed,
        }
        # Iterables are read once, here. The class is frozen, so that no rule can change a setting.
        for name, value in read.items():
            object.__setattr__(self, name, value)

    @property
    def allowed_names(self) -> tuple[str, ...] | None:
        """The names of the only tools and own functions that may be called; None for all."""
        return None if self.allowed is None else tuple(dict.fromkeys((*self.allowed, *self.own)))

    @property
    def closing_round(self) -> int:
        """The round that has to close the run because of its maximum; 0 for none. If an answer may have to be repaired, one call is kept for that."""
        maximum = self.maximum_iterations
        # With a maximum of 1 or 2 the last round closes; from 3 on the last but one does, and the
        # last is kept for the repair. With 2 that would leave no round for tools.
        if self.answer_schema is not None:
            return max(maximum - 1, min(maximum, 2))
        # Where the answer is checked, no results of tools may be shown in its place.
        return maximum if maximum > 1 or self.checks_answer else 0

    @property
    def holds_text(self) -> bool:
        """Whether the text of a round is held back until it is known whether it is the answer."""
        return self.answer_schema is not None or self.checks_answer

    def digest_shared(self) -> dict[str, str]:
        """Return digests of the settings that must be the same to resume a run: what a call means, and what the model was told, depends on them."""
        digests: dict[str, str] = {}
        for known in fields(self):
            if (shared := known.metadata.get(_SHARED)) is not None:
                value = getattr(self, known.name)
                digests[known.name] = digest(value if value is None else shared(value))
        return digests


def takes_settings[**P, Owner](
    settings: Callable[P, RunSettings],
) -> Callable[
    [Callable[[Owner, Iterable[object], RunSettings], None]],
    Callable[Concatenate[Owner, Iterable[object], P], None],
]:
    """Return a decorator that lets a constructor take all settings as keyword arguments, so that they are declared only once."""

    def decorate(
        construct: Callable[[Owner, Iterable[object], RunSettings], None],
    ) -> Callable[Concatenate[Owner, Iterable[object], P], None]:
        def __init__(  # noqa: N807 - as users see it
            self: Owner, messages: Iterable[object], *args: P.args, **kwargs: P.kwargs
        ) -> None:
            construct(self, messages, settings(*args, **kwargs))

        own, taken = signature(construct), signature(settings)
        shown = [*list(own.parameters.values())[:2], *taken.parameters.values()]
        # What `help()`, editors and the reference read in place of `*args, **kwargs`.
        cast("Any", __init__).__signature__ = own.replace(parameters=shown)
        __init__.__doc__ = construct.__doc__
        return __init__

    return decorate
