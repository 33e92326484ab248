"""Settings that an operator gives by environment variable."""

from collections.abc import Mapping


_LOWEST, _HIGHEST = 60, 3600


def read_seconds(environ: Mapping[str, str], name: str, *, default: int) -> int:
    """Read a number of seconds, brought within 60 to 3600; the default where it is missing or no number."""
    try:
        seconds = int(environ.get(name, ""))
    except ValueError:
        return default
    return max(_LOWEST, min(_HIGHEST, seconds))
