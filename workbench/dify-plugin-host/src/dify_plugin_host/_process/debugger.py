"""A debugger that a plugin's process waits for."""

import importlib.util
import math
from collections.abc import Mapping
from dataclasses import replace

from dify_plugin_host._errors import DebuggerMissingError
from dify_plugin_host._settings import HostSettings
from dify_plugin_packager.declarations import PluginFolder

from . import debugged


# How many seconds the SDK waits for a call back, which may be answered by a plugin that stands at a breakpoint. It takes whole numbers only.
_SDK_LIMIT = {"MAX_INVOCATION_TIMEOUT": str(10**9)}


class Debugger:
    """A debugger that a plugin's process waits for before anything of the plugin runs; editors attach to it on the loopback interface.

    The address is told in a notice of the plugin, and it can be attached to again and again. `breakpoint()` stops in
    it. As all stands still at a breakpoint, no limit of time holds.

    Args:
        port: The port; 0 takes a free one.
        waits: Whether the process waits, or runs at once and can be attached to at any time.

    Raises:
        DebuggerMissingError: If debugpy is not installed.
    """

    def __init__(self, port: int = 0, *, waits: bool = True) -> None:
        self._port = port
        self._waits = "yes" if waits else ""
        self._debugpy = _find_debugpy()

    def command(self, folder: PluginFolder) -> list[str]:
        """Return the command line that starts a plugin with this debugger."""
        # Python's frozen modules have no files, and the debugger complains about that.
        python = [folder.python, "-X", "frozen_modules=off"]
        arguments = [str(self._port), self._debugpy, folder.entrypoint, self._waits]
        return [*python, debugged.__file__, *arguments]


def without_time_limits(settings: HostSettings) -> HostSettings:
    """Return settings with which a plugin may stand still for any time."""
    return replace(
        settings,
        start_timeout_seconds=math.inf,
        heartbeat_timeout_seconds=math.inf,
        call_timeout_seconds=math.inf,
        backwards_timeout_seconds=math.inf,
        file_link_seconds=math.inf,
    )


def without_sdk_limit(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which plugins wait for their calls back for any time."""
    return {**_SDK_LIMIT, **environment}


def _find_debugpy() -> str:
    """Return the folder of the package debugpy.

    Raises:
        DebuggerMissingError: If it is not installed.
    """
    spec = importlib.util.find_spec("debugpy")
    if spec is None or not spec.submodule_search_locations:
        raise DebuggerMissingError(
            "debugpy is not installed beside dify-host; expected dify-plugin-host[debug]"
        )
    return spec.submodule_search_locations[0]
