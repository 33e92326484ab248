"""Starts the plugin. The daemon runs this as `python -m main` in the plugin's folder."""

# ruff: noqa: E402  what is said about memory has to come before the imports, and what the SDK reads while it is imported has to be right

import gc
import os

from dify_plugin_kit.settings import bound_timeouts


# What a start makes stays: looking for garbage in it again and again takes a tenth of the start, and later of every full collection.
gc.disable()
bound_timeouts(os.environ)

# The SDK patches the process for gevent, so it comes before everything that opens sockets or starts threads.
from dify_plugin import DifyPluginEnv, Plugin  # isort: skip

import sys
from threading import Timer
from typing import Any, override

import yaml
from dify_plugin.config.logger_format import plugin_logger_handler
from dify_plugin.core.server.tcp import request_reader as tcp_reader

from dify_plugin_kit.request_errors import send_errors
from dify_plugin_kit.stdin import bound_depth
from dify_plugin_kit.stdout import bound_stdout, bound_writer
from model_adapter import prepare, request_errors, shorten_line, widen_pipe


_PREPARATION_DELAY_SECONDS = 0.02


class _Plugin(Plugin):
    """The SDK's plugin, which prepares for calls after its first heartbeat, and whose errors show neither the request nor a traceback."""

    @override
    def _heartbeat(self) -> None:
        # It keeps all else waiting, so it begins when the first heartbeat has left.
        Timer(_PREPARATION_DELAY_SECONDS, prepare).start()
        super()._heartbeat()

    @override
    def _execute_request(
        self, session_id: str, data: Any, reader: Any, writer: Any, *rest: Any, **named: Any
    ) -> None:
        with send_errors(writer, session_id), request_errors(data):
            super()._execute_request(session_id, data, reader, writer, *rest, **named)


# The SDK reads the forms of all models at the start, with whatever this is: in C it takes a tenth of the time.
yaml.SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
bound_stdout(shorten_line)
plugin_logger_handler.setStream(sys.stdout)
plugin = _Plugin(DifyPluginEnv())
bound_depth(tcp_reader)
if isinstance(plugin.request_reader, tcp_reader.TCPReaderWriter):
    bound_writer(plugin.request_reader, shorten_line)
widen_pipe(plugin.request_reader)
gc.freeze()
gc.enable()

if __name__ == "__main__":
    plugin.run()
