"""Facts about a function that can be read without calling it."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final


# As texts, too: that is what annotations are under `from __future__ import annotations`.
_SHORT_TYPES: Final = (bool, int, float, None, type(None), "bool", "int", "float", "None")


def find_source(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the original function behind a wrapped, bound or partial one, or a callable object."""
    source = inspect.unwrap(_without_partial(function))
    return source if inspect.isroutine(source) or inspect.isclass(source) else type(source).__call__


def find_docstring(function: Callable[..., Any]) -> str | None:
    """Return the docstring of a function; for a callable object, that of its `__call__` or else of its class."""
    source = find_source(function)
    if inspect.isclass(source):
        return _find_class_docstring(source)
    found = inspect.getdoc(source)
    if getattr(source, "__name__", "") != "__call__" or found not in {None, type.__call__.__doc__}:
        return found
    return _find_class_docstring(inspect.unwrap(_without_partial(function)).__class__)


def _find_class_docstring(kind: type) -> str | None:
    found = inspect.getdoc(kind)
    # If nobody has written one, `dataclass` makes it from the signature.
    return None if found and found.startswith(f"{kind.__name__}(") else found


def function_name(function: Callable[..., Any]) -> str:
    """Return the name of a function, or of the class of a callable object."""
    function = _without_partial(function)
    name = getattr(function, "__name__", None)
    return name if isinstance(name, str) else type(function).__name__


def is_async_function(function: Callable[..., Any]) -> bool:
    """Return whether the result of a function has to be awaited, or iterated over with `async for`.

    It has to if the function, or one that it wraps, is `async`: most decorators return what the wrapped function returns.
    """
    outermost = inspect.unwrap(_without_partial(function), stop=_is_async)
    return _is_async(outermost) or _is_async(find_source(function))


def _without_partial(function: Callable[..., Any]) -> Callable[..., Any]:
    while isinstance(function, functools.partial):
        function = function.func
    return function


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)


def returns_short_value(function: Callable[..., Any]) -> bool:
    """Return whether a function is annotated to return a number, a boolean or None, which are never long."""
    returned = getattr(find_source(function), "__annotations__", {}).get("return", Any)
    return returned in _SHORT_TYPES


def applied_values(function: Callable[..., Any]) -> Mapping[str, Any]:
    """Return the values that `functools.partial` passes to parameters by name."""
    return function.keywords if isinstance(function, functools.partial) else {}
