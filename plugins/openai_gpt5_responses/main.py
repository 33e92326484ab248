"""Start the plugin. The daemon runs this as `python -m main` in the plugin's folder."""

# ruff: noqa: E402  what is said about memory has to come before the imports

import gc


# What a start makes stays: looking for garbage in it again and again takes a tenth of the start, and later of every full collection.
gc.disable()

# The SDK patches the process for gevent, so it comes before everything that opens sockets or starts threads.
from dify_plugin import DifyPluginEnv, Plugin  # isort: skip

import os

from dify_plugin.config.logger_format import plugin_logger_handler

from model_adapter import bound_lines, read_seconds


bound_lines([plugin_logger_handler])
plugin = Plugin(
    DifyPluginEnv(
        MAX_REQUEST_TIMEOUT=read_seconds(os.environ, "MAX_REQUEST_TIMEOUT", default=900),
        MAX_INVOCATION_TIMEOUT=read_seconds(os.environ, "MAX_INVOCATION_TIMEOUT", default=900),
    )
)
gc.freeze()
gc.enable()

if __name__ == "__main__":
    plugin.run()
