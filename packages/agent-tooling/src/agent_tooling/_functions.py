"""What can be known of a function without running it."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any


def find_source(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that was written, of one that is wrapped, bound, partly applied, or an object that is called."""
    while isinstance(function, functools.partial):
        function = function.func
    source = inspect.unwrap(function)
    return source if inspect.isroutine(source) or inspect.isclass(source) else type(source).__call__


def function_name(function: Callable[..., Any]) -> str:
    """Return the name of a function, or of the class of an object that is called."""
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__name__", None)
    return name if isinstance(name, str) else type(function).__name__


def is_async_function(function: Callable[..., Any]) -> bool:
    """Return whether what a function returns has to be awaited, or iterated over with `async for`."""
    source = find_source(function)
    return inspect.iscoroutinefunction(source) or inspect.isasyncgenfunction(source)


def applied_values(function: Callable[..., Any]) -> Mapping[str, Any]:
    """Return the values that `functools.partial` gives to parameters by name."""
    return function.keywords if isinstance(function, functools.partial) else {}
