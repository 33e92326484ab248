"""Limits that Dify and its daemon read from their environment."""

from collections.abc import Mapping
from dataclasses import replace

from dify_plugin_host._errors import DaemonServerError
from dify_plugin_host._settings import HostSettings


_DAEMON = {
    "backwards_timeout_seconds": ("DIFY_BACKWARDS_INVOCATION_READ_TIMEOUT", 0.001),
    "call_timeout_seconds": ("PLUGIN_MAX_EXECUTION_TIMEOUT", 1),
}
_LINKS = {"file_link_seconds": ("FILES_ACCESS_TIMEOUT", 1)}
_SEND_FORMAT = "MULTIMODAL_SEND_FORMAT"


def with_daemon_limits(settings: HostSettings, environment: Mapping[str, str]) -> HostSettings:
    """Return settings with the limits of calls from the daemon's variables.

    Raises:
        DaemonServerError: If a limit is not a whole number.
    """
    return _with_limits(settings, environment, _DAEMON)


def with_file_settings(settings: HostSettings, environment: Mapping[str, str]) -> HostSettings:
    """Return settings with the settings for files from Dify's variables.

    Raises:
        DaemonServerError: If Dify would not take one of them.
    """
    settings = _with_limits(settings, environment, _LINKS)
    match environment.get(_SEND_FORMAT) or settings.send_format:
        case "base64" | "url" as send_format:
            return replace(settings, send_format=send_format)
        case other:
            raise DaemonServerError(f"{_SEND_FORMAT}: expected base64 or url, got {other!r}")


def _with_limits(
    settings: HostSettings, environment: Mapping[str, str], names: Mapping[str, tuple[str, float]]
) -> HostSettings:
    limits = {name: _limit(environment, *variable) for name, variable in names.items()}
    given = {name: limit for name, limit in limits.items() if limit is not None}
    return replace(settings, **given)


def _limit(environment: Mapping[str, str], variable: str, unit: float) -> float | None:
    """Return a limit in seconds; None if the variable is not set."""
    given = environment.get(variable)
    if not given:
        return None
    if not given.isdecimal() or not int(given):
        raise DaemonServerError(f"{variable}: expected a whole number from 1, got {given!r}")
    return int(given) * unit
