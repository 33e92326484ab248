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


def find_docstring(function: Callable[..., Any]) -> str | None:
    """Return the docstring of a function; of an object that is called that of its `__call__`, or else of its class."""
    source = find_source(function)
    found = inspect.getdoc(source)
    if getattr(source, "__name__", "") != "__call__" or found not in {None, type.__call__.__doc__}:
        return found
    while isinstance(function, functools.partial):
        function = function.func
    kind = inspect.unwrap(function).__class__
    found = inspect.getdoc(kind)
    # What `dataclass` writes where nobody has written one is a signature.
    return None if found and found.startswith(f"{kind.__name__}(") else found


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
