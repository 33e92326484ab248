"""Tokens and money of model calls, and their sums."""

from dataclasses import dataclass, fields, replace
from decimal import Decimal
from typing import Any, Final, Self

from stream_text import MessageError, read_member

from .numbers import is_number


_ZERO = Decimal(0)
_MAX_DIGITS: Final = 30  # Our choice; a count of 400 digits would not even fit a float.


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The tokens that model calls used, and their prices if known. `Usage()` is nothing at all.

    Counts, prices and latency add up. A unit price, a price unit and the currency stay those of the first call that named them.

    Attributes:
        input_tokens: All input, cached or not.
        cached_tokens: The part of `input_tokens` that came from the prompt cache.
        output_tokens: All output, reasoning included.
        reasoning_tokens: The part of `output_tokens` spent on reasoning.
        total_tokens: Input and output.
        cache_write_tokens: The part of `input_tokens` newly written to the cache, if that is billed separately.
        cache_write_12h_tokens: The part of `cache_write_tokens` that is kept for 12 hours.
        input_unit_price: Price of a unit of input tokens, in `currency`.
        input_price_unit: What the unit price is multiplied by: `0.000001` for a price per million tokens.
        input_price: Price of the input tokens.
        output_unit_price: As `input_unit_price`.
        output_price_unit: As `input_price_unit`.
        output_price: Price of the output tokens.
        total_price: Price of both.
        currency: ISO 4217 code; empty when nobody named one.
        latency: Seconds spent in model calls.
    """

    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    total_tokens: int = 0
    cache_write_tokens: int = 0
    cache_write_12h_tokens: int = 0
    input_unit_price: Decimal = _ZERO
    input_price_unit: Decimal = _ZERO
    input_price: Decimal = _ZERO
    output_unit_price: Decimal = _ZERO
    output_price_unit: Decimal = _ZERO
    output_price: Decimal = _ZERO
    total_price: Decimal = _ZERO
    currency: str = ""
    latency: float = 0.0

    @classmethod
    def read(cls, value: object, *, field: str = "usage") -> Self:
        """Read a usage from attributes or keys: these fields, or `prompt_tokens` and `completion_tokens` for input and output.

        A count may be written as `1.0`. A missing total becomes input plus output; a figure that is not finite or too
        large becomes -1.

        Args:
            value: A mapping or an object.
            field: The name of the field that holds it, for the error.

        Raises:
            MessageError: If one of its fields has another type than here.
        """
        if isinstance(value, cls):
            return value
        found: dict[str, Any] = {}
        for name, kind in _KINDS.items():
            for known in (name, *_OTHER_NAMES.get(name, ())):
                if name not in found and (figure := read_member(value, known)) is not None:
                    found[name] = _read_figure(figure, kind, f"{field}.{known}")
        usage = cls(**found)
        if "total_tokens" in found:
            return usage
        return replace(usage, total_tokens=usage.counted().total_tokens)

    def counted(self) -> Self:
        """Return the usage to count with, free of impossible figures.

        Figures that are negative, not finite or longer than 30 digits become 0, and a total is raised to the sum of its
        parts if it or all of them are known.
        """
        figures = {name: getattr(self, name) for name in _KINDS if name != "currency"}
        unknown = {name for name, figure in figures.items() if not _is_figure(figure)}
        figures |= {name: _KINDS[name]() for name in unknown}
        for total, *parts in _SUMS:
            if figures[total] or unknown.isdisjoint(parts):
                figures[total] = max(figures[total], sum(figures[part] for part in parts))
        return replace(self, **figures)

    @property
    def is_whole(self) -> bool:
        """Whether the tokens of a model call have been counted, and not only its output: no call is without input."""
        return self.total_tokens > (0 if self.input_tokens else self.output_tokens)

    def __add__(self, other: "Usage") -> "Usage":
        """Return the usage of both."""
        # Far faster than calling `fields` each time.
        figures = {name: _add(getattr(self, name), getattr(other, name), name) for name in _KINDS}
        return Usage(**figures)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentUse:
    """The use of models by one agent that was called as a tool.

    Attributes:
        path: The ids of the calls that lead to the agent, the outermost first.
        agent: The name of the agent.
        model_calls: How many model calls it has made.
        models: The model of each of them, if its run has names for its models.
        usage: What it has used, including the agents that it has called itself.
    """

    path: tuple[str, ...]
    agent: str
    model_calls: int
    models: tuple[str, ...]
    usage: Usage


_KINDS: dict[str, type] = {known.name: type(known.default) for known in fields(Usage)}
# Those of Chat Completions.
_OTHER_NAMES = {"input_tokens": ("prompt_tokens",), "output_tokens": ("completion_tokens",)}
_SUMS = (
    ("total_tokens", "input_tokens", "output_tokens"),
    ("total_price", "input_price", "output_price"),
)
# Properties of a price list, which do not add up.
_KEPT = frozenset(
    {
        "input_unit_price",
        "input_price_unit",
        "output_unit_price",
        "output_price_unit",
        "currency",
    }
)


def _add(mine: Any, other: Any, name: str) -> Any:
    return (mine or other) if name in _KEPT else mine + other


def _is_figure(value: Any) -> bool:
    return is_number(value) and value >= 0 and abs(Decimal(value).adjusted()) <= _MAX_DIGITS


def _read_figure(value: object, kind: type, field: str) -> object:
    if kind is int and isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool):
        pass
    elif isinstance(value, kind):
        return value
    elif kind is not str and isinstance(value, int):
        return kind(value) if _is_figure(value) else kind(-1)
    elif kind is not str and isinstance(value, float | Decimal) and not is_number(value):
        return kind(-1)
    raise MessageError(
        f"{field}: expected {_EXPECTED[kind]}, got {type(value).__name__}", field=field
    )


_EXPECTED = {int: "a whole number", Decimal: "a Decimal", float: "a number", str: "a text"}
