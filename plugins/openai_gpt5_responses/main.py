"""Start the plugin. The daemon runs this as `python -m main` in the plugin's folder."""

# ruff: noqa: E402  what is said about memory has to come before the imports

import gc


# What a start makes stays: looking for garbage in it again and again takes a tenth of the start, and later of every full collection.
gc.disable()

# The SDK patches the process for gevent, so it comes before everything that opens sockets or starts threads.
from dify_plugin import DifyPluginEnv, Plugin  # isort: skip

import os
from typing import Any, override

from dify_plugin.config.logger_format import plugin_logger_handler

from model_adapter import bound_lines, invoke_errors, read_seconds


class _Plugin(Plugin):
    """The SDK's plugin, whose own errors say no more of a request than ours."""

    @override
    def _execute_request(self, session_id: str, data: Any, *rest: Any, **named: Any) -> None:
        with invoke_errors(data.get("credentials")):
            super()._execute_request(session_id, data, *rest, **named)


bound_lines([plugin_logger_handler])
plugin = _Plugin(
    DifyPluginEnv(
        MAX_REQUEST_TIMEOUT=read_seconds(os.environ, "MAX_REQUEST_TIMEOUT", default=900),
        MAX_INVOCATION_TIMEOUT=read_seconds(os.environ, "MAX_INVOCATION_TIMEOUT", default=900),
    )
)
gc.freeze()
gc.enable()

if __name__ == "__main__":
    plugin.run()
