"""The models of an agent: what calls them, what they are called, and what they can do."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, Protocol

from agent_loop import Budgets, CallModel, FallbackModel


class ModelClient(Protocol):
    """Client of a model, such as `ResponsesClient` and `AsyncResponsesClient` of gpt5-responses.

    It may say more of itself: `model_id`, its name; `has_answer_format`, whether it takes a JSON schema as the format
    of its answer; `no_price_reason`, why its usage includes no cost, or None if it does; `hosted_tools`, the names of
    tools that its server runs and that it offers beside a call's, and `lacking_tools`, those of them that its model
    does not have; `no_agent_reason`, why no agent can use it, or None if one can. It may be a `SessionClient`, too.
    """

    def answer(self, call: Any, /) -> Any:
        """Return the answer to a `CallModel`, whole or in pieces."""
        ...


class SessionClient(Protocol):
    """Client that has sessions, such as `ResponsesClient`, whose sessions may hold one connection for all calls of a run.

    An `Agent` asks for one for each of its runs, and for each run of an agent among its tools, and calls the model by
    that alone. The session is closed with the run, by its `close` or `aclose`, also where the run stops for a person's
    approval: the run that continues has a session of its own.
    """

    def session(self) -> ModelClient:
        """Return a session, which has opened nothing yet."""
        ...


type Model = Callable[[CallModel], Any] | ModelClient
"""What calls a model: a client, or a function that takes a `CallModel` and returns the answer, whole or in pieces."""

_PRIMARY: Final = "model"
_FALLBACK: Final = "fallback"


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """The models of an agent.

    Attributes:
        given: They themselves.
        call: What calls them.
        name: What events call the first one; None where it has no name and needs none.
        has_answer_format: Whether the first one takes a JSON schema as the format of its answer.
        fallback: The one that takes over.
        no_price_reason: Why one of them has no price, if it says so.
        no_agent_reason: Why an agent cannot use one of them, if it says so.
        hosted_tools: The names of the tools that their servers run; None if none of them says anything of that.
    """

    given: tuple[Model, Model | None]
    call: Callable[[CallModel], Any]
    name: str | None
    has_answer_format: bool
    fallback: FallbackModel | None = None
    no_price_reason: str | None = None
    no_agent_reason: str | None = None
    hosted_tools: tuple[str, ...] | None = None

    @classmethod
    def of(cls, model: Model, fallback: Model | None) -> "Models":
        """Read a model and its fallback.

        Raises:
            TypeError: If one of them is none.
        """
        call, name = _read(model, "model"), tell(model, "model_id")
        given, other = (_tell_tools(model), _tell_tools(fallback)), None
        told = [names for names, _ in given if names is not None]
        if fallback is not None:
            second = _read(fallback, "fallback")
            name, other_name = name or _PRIMARY, tell(fallback, "model_id") or _FALLBACK
            if name == other_name:  # Such as one model at two providers.
                other_name = f"{other_name}_{_FALLBACK}"
            call = _choose(call, second, other_name)
            other = FallbackModel(
                name=other_name,
                has_answer_format=tell(fallback, "has_answer_format") is True,
                lacking_tools=_find_lacking(*given),
            )
        return cls(
            given=(model, fallback),
            call=call,
            name=name,
            has_answer_format=tell(model, "has_answer_format") is True,
            fallback=other,
            no_price_reason=find_reason("no_price_reason", model, fallback),
            no_agent_reason=find_reason("no_agent_reason", model, fallback),
            hosted_tools=tuple(dict.fromkeys(chain(*told))) if told else None,
        )

    def begin(self) -> "RunModels":
        """Return what calls the models in one run: those that have sessions by a new one."""
        opened = [_open(model) for model in self.given]
        if opened == [None, None]:
            return RunModels(call=self.call)
        first, second = (
            session or model for session, model in zip(opened, self.given, strict=True)
        )
        call = _read(first, "model")
        if self.fallback is not None:
            call = _choose(call, _read(second, "fallback"), self.fallback.name)
        return RunModels(call=call, sessions=tuple(filter(None, opened)))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunModels:
    """The models of one run.

    Attributes:
        call: What calls them.
        sessions: What is closed with the run.
    """

    call: Callable[[CallModel], Any]
    sessions: tuple[object, ...] = ()


def tell(model: object, name: str) -> Any:
    """Return what a model says of itself: the client, or the object that the function is a method of; None where it says nothing."""
    owner = getattr(model, "__self__", model)
    return getattr(model, name, getattr(owner, name, None))


def find_reason(name: str, *models: object) -> str | None:
    """Return why one of some models, or of the functions of agents, has no price or can be used by no agent, if it says so."""
    reasons = (tell(model, name) for model in models)
    return next((reason for reason in reasons if isinstance(reason, str)), None)


def validate_models(budgets: Budgets, *models: object) -> None:
    """Refuse models that an agent cannot use, and those without a price if there is a budget of money.

    Raises:
        ValueError: If one of them says that it is such.
    """
    if reason := find_reason("no_agent_reason", *models):
        raise ValueError(f"model: {reason}")
    if budgets.max_cost and (reason := find_reason("no_price_reason", *models)):
        raise ValueError(f"max_cost cannot be kept: {reason}")


def _tell_tools(model: object) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """Return the names of the tools that a model's server runs, and of those that the model lacks.

    The former are None if the model says nothing of them.
    """
    names, lacking = tell(model, "hosted_tools"), tell(model, "lacking_tools")
    return (None if names is None else tuple(names)), tuple(lacking or ())


def _find_lacking(first: Any, second: Any) -> tuple[str, ...]:
    """Return the tools that a fallback model lacks: its own that it does not have, and those of the first that it does not offer."""
    (names, _), (own, lacking) = first, second
    offered = set(own or ()) - set(lacking)
    return tuple(name for name in dict.fromkeys((*(names or ()), *lacking)) if name not in offered)


def _choose(
    first: Callable[[CallModel], Any], second: Callable[[CallModel], Any], name: str
) -> Callable[[CallModel], Any]:
    return lambda call: (second if call.model == name else first)(call)


def _open(model: object) -> ModelClient | None:
    client: Any = model
    is_client = all(callable(getattr(model, name, None)) for name in ("session", "answer"))
    return client.session() if is_client else None


def _read(model: object, field: str) -> Callable[[CallModel], Any]:
    answer: Any = getattr(model, "answer", None)
    found: Any = answer if callable(answer) else model
    if not callable(found):
        expected = "a function that is called with a CallModel, or a client with `answer`"
        raise TypeError(f"{field}: expected {expected}, got {type(model).__name__}")
    return found
