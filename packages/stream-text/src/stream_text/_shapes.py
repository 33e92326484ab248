"""The two shapes that JSON can nest, for a type checker: what is looked at is an object or a list, whatever is in it."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeGuard


_LIST = (list, tuple)


def is_object(value: object) -> TypeGuard[Mapping[Any, Any]]:
    """Return whether a value is an object of JSON, as a dict or any other mapping. Its keys are not looked at."""
    return isinstance(value, dict) or _is_mapping(type(value))


# Asking `Mapping` takes ten times as long as asking `dict`, and messages are asked again and again.
@lru_cache(maxsize=1024)
def _is_mapping(kind: type) -> bool:
    return issubclass(kind, Mapping)


def is_list(value: object) -> TypeGuard[Sequence[Any]]:
    """Return whether a value is a list of JSON, as a list or a tuple."""
    return isinstance(value, _LIST)
