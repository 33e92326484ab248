"""Start the plugin. The daemon runs this as `python -m main` in the plugin's folder."""

# ruff: noqa: E402  garbage collection and the environment have to be set before the SDK is imported

import gc
import os

from dify_plugin_kit.settings import bound_timeouts
from dify_plugin_kit.start import cached_entry_points


# Objects made at the start stay: to look for garbage among them takes a tenth of the start, and later of every full collection.
gc.disable()
bound_timeouts(os.environ)

# The SDK patches the process for gevent, so it is imported before anything opens sockets or starts threads.
with cached_entry_points():
    from dify_plugin import DifyPluginEnv, Plugin

import sys
from typing import Any, override

from dify_plugin.config.logger_format import plugin_logger_handler
from dify_plugin.core.server.stdio import request_reader as stdio_reader
from dify_plugin.core.server.tcp import request_reader as tcp_reader

from agent_adapter import request_errors, shorten_line
from dify_plugin_kit.request_errors import send_errors
from dify_plugin_kit.stdin import bound_depth
from dify_plugin_kit.stdout import bound_stdout, bound_writer


class _Plugin(Plugin):
    """The SDK's plugin, with errors that quote nothing of a request and name no paths of the server."""

    @override
    def _execute_request(
        self, session_id: str, data: Any, reader: Any, writer: Any, *rest: Any, **named: Any
    ) -> None:
        with send_errors(writer, session_id), request_errors(data):
            super()._execute_request(session_id, data, reader, writer, *rest, **named)


bound_stdout(shorten_line)
plugin_logger_handler.setStream(sys.stdout)
plugin = _Plugin(DifyPluginEnv())
# The provider's first name, for callers that still use it.
strategies = plugin.registration.agent_strategies_mapping
strategies["gpt5_agent"] = strategies["gpt5_agent_strategies"]
bound_depth(stdio_reader)
bound_depth(tcp_reader)
if isinstance(plugin.request_reader, tcp_reader.TCPReaderWriter):
    bound_writer(plugin.request_reader, shorten_line)

gc.freeze()
gc.enable()

if __name__ == "__main__":
    plugin.run()
