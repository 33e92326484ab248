"""Settings from environment variables. One that is missing or unreadable gets its default, one that is out of range the nearest limit."""

import math
from collections.abc import Callable, Mapping, MutableMapping


__all__ = ["bound_timeouts", "read_float", "read_int"]

_TIMEOUTS = ("MAX_REQUEST_TIMEOUT", "MAX_INVOCATION_TIMEOUT")
_USUAL_SECONDS = 900.0  # Models that think for long need more than the SDK's 300 and 250.


def read_int[Default](
    environ: Mapping[str, str], name: str, *, default: Default, minimum: int, maximum: int
) -> int | Default:
    """Return a whole number between `minimum` and `maximum`, both included.

    Example:
        >>> read_int({"RETRIES": "12"}, "RETRIES", default=1, minimum=0, maximum=5)
        5
    """
    return _read(int, environ.get(name, ""), default, minimum, maximum)


def read_float[Default](
    environ: Mapping[str, str], name: str, *, default: Default, minimum: float, maximum: float
) -> float | Default:
    """Return a number between `minimum` and `maximum`, both included."""
    return _read(float, environ.get(name, ""), default, minimum, maximum)


def _read[Number: (int, float), Default](
    parse: Callable[[str], Number], text: str, default: Default, minimum: Number, maximum: Number
) -> Number | Default:
    try:
        number = parse(text)
    except ValueError:
        return default
    # `float` reads "nan", which no limit would bound.
    return default if math.isnan(number) else max(minimum, min(maximum, number))


def bound_timeouts(environ: MutableMapping[str, str]) -> None:
    """Bring `MAX_REQUEST_TIMEOUT` and `MAX_INVOCATION_TIMEOUT` within 60 to 3600 whole seconds; 900 if one is missing or not a number.

    They limit a request to the plugin and a call back into Dify. The SDK reads both while it is imported, and ends the
    process if one is not a whole number.

    Args:
        environ: The process's environment, before the SDK is imported.

    Source: dify-plugin 0.10.2, `config/config.py` and `file/file.py`.
    """
    for name in _TIMEOUTS:
        seconds = read_float(environ, name, default=_USUAL_SECONDS, minimum=60, maximum=3600)
        environ[name] = str(int(seconds))
