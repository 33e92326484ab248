"""The built-in tools: a clock, a calculator, and one that fails on demand."""

import ast
import datetime as dt
import math
import operator
import zoneinfo
from collections.abc import Callable
from typing import Any


_LONGEST_EXPRESSION = 200
_DEEPEST_EXPRESSION = 50
_LARGEST_BITS = 10_000

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda left, right: left / right,
    ast.FloorDiv: lambda left, right: left // right,
    ast.Mod: operator.mod,
    ast.Pow: lambda left, right: left**right,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}


def clock(timezone: str = "UTC") -> str:
    """Tell the current date and time in a time zone.

    Args:
        timezone: An IANA time zone name, such as Asia/Tokyo or Europe/Berlin.
    """
    try:
        zone = zoneinfo.ZoneInfo(timezone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(
            f"there is no time zone {timezone!r}; expected an IANA name such as Asia/Tokyo"
        ) from None
    now = dt.datetime.now(zone)
    return f"{now:%A, %Y-%m-%d %H:%M:%S} {now:%Z} (UTC{now:%z}) in {timezone}"


def calculator(expression: str) -> str:
    """Calculate an arithmetic expression.

    Args:
        expression: Numbers, parentheses and the operators + - * / // % **, such as (17 + 4) * 2.
    """
    if len(expression) > _LONGEST_EXPRESSION:
        raise ValueError(f"expected at most {_LONGEST_EXPRESSION} characters")
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(f"expected an arithmetic expression, got {expression!r}") from None
    try:
        result = _calculate(tree.body, depth=0)
    except ZeroDivisionError:
        raise ValueError(f"division by zero in {expression!r}") from None
    except OverflowError:
        raise ValueError("the result is too large") from None
    return f"{expression.strip()} = {result}"


def fail_on_demand(message: str) -> str:
    """Fail with a message: for seeing what an agent does when a tool fails.

    Args:
        message: The text of the failure.
    """
    raise RuntimeError(message)


def _calculate(node: ast.expr, *, depth: int) -> float:
    if depth > _DEEPEST_EXPRESSION:
        raise ValueError(f"expected at most {_DEEPEST_EXPRESSION} operations inside each other")
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            return _UNARY[type(op)](_calculate(operand, depth=depth + 1))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            operands = (_calculate(left, depth=depth + 1), _calculate(right, depth=depth + 1))
            return _combine(op, *operands)
        case _:
            raise ValueError(
                f"expected numbers, parentheses and + - * / // % **, got {ast.unparse(node)!r}"
            )


def _combine(op: ast.operator, left: float, right: float) -> float:
    if isinstance(op, ast.Pow) and isinstance(left, int):
        _validate_power(left, right)
    result = _BINARY[type(op)](left, right)
    if isinstance(result, complex) or not math.isfinite(result):
        raise ValueError("the result is not a finite real number")
    return result


def _validate_power(base: int, exponent: float) -> None:
    """Refuse a large power before it is calculated, which alone could take all memory."""
    if base.bit_length() * abs(exponent) > _LARGEST_BITS:
        raise OverflowError
