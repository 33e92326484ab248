"""How long Dify's plugin SDK gives a request, and a call back into Dify.

The SDK reads both from the environment while it is imported, and ends the process where one is no whole number.

Source: dify-plugin 0.10.2, `config/config.py` and `file/file.py`.
"""

import math
from collections.abc import MutableMapping


__all__ = ["bound_timeouts"]

_NAMES = ("MAX_REQUEST_TIMEOUT", "MAX_INVOCATION_TIMEOUT")
_USUAL_SECONDS = 900.0  # Models that think for long need more than the SDK's 300 and 250.


def bound_timeouts(environ: MutableMapping[str, str]) -> None:
    """Bring `MAX_REQUEST_TIMEOUT` and `MAX_INVOCATION_TIMEOUT` within 60 to 3600 whole seconds; 900 where one is missing or no number.

    Args:
        environ: The process's environment, before the SDK is imported.
    """
    for name in _NAMES:
        environ[name] = str(_read_seconds(environ.get(name, "")))


def _read_seconds(text: str) -> int:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    return int(max(60, min(3600, _USUAL_SECONDS if math.isnan(seconds) else seconds)))
