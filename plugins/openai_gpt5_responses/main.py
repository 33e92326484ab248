"""Starts the plugin. The daemon runs this as `python -m main` in the plugin's folder."""

# ruff: noqa: E402  garbage collection and the environment have to be set before the SDK is imported

import gc
import os

from dify_plugin_kit.settings import bound_timeouts
from dify_plugin_kit.start import cached_entry_points


# Objects made at the start stay. Looking for garbage among them takes a tenth of the start, and later
# of every full collection.
gc.disable()
bound_timeouts(os.environ)

# The SDK patches the process for gevent, so it comes before all modules that open sockets or start
# threads.
with cached_entry_points():
    from dify_plugin import DifyPluginEnv, Plugin

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
        # Preparing blocks everything else, so it begins once the first heartbeat has been sent.
        Timer(_PREPARATION_DELAY_SECONDS, prepare).start()
        super()._heartbeat()

    @override
    def _execute_request(
        self, session_id: str, data: Any, reader: Any, writer: Any, *rest: Any, **named: Any
    ) -> None:
        with send_errors(writer, session_id), request_errors(data):
            super()._execute_request(session_id, data, reader, writer, *rest, **named)


# The SDK reads the forms of all models at the start with this loader, whose C version takes a tenth of
# the time.
yaml.SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# Before the first line is written: the daemon ends a plugin over a line of more than 5 MiB.
bound_stdout(shorten_line)
plugin_logger_handler.setStream(sys.stdout)
plugin = _Plugin(DifyPluginEnv())
bound_depth(tcp_reader)
# In remote debugging lines leave through the connection, not through standard output.
if isinstance(plugin.request_reader, tcp_reader.TCPReaderWriter):
    bound_writer(plugin.request_reader, shorten_line)
widen_pipe(plugin.request_reader)
gc.freeze()
gc.enable()

if __name__ == "__main__":
    plugin.run()
