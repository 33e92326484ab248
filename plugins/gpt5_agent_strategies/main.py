"""Start the plugin. The daemon runs this as `python -m main` in the plugin's folder."""

# The SDK patches the process for gevent, so it comes before everything that opens sockets or starts threads.
from dify_plugin import DifyPluginEnv, Plugin  # isort: skip

import os
from typing import Any, override

from agent_adapter import bound_output, read_seconds, request_errors


class _Plugin(Plugin):
    """The SDK's plugin, whose own errors say no more of a request than ours."""

    @override
    def _execute_request(self, session_id: str, data: Any, *rest: Any, **named: Any) -> None:
        with request_errors(data):
            super()._execute_request(session_id, data, *rest, **named)


bound_output()
plugin = _Plugin(
    DifyPluginEnv(
        MAX_REQUEST_TIMEOUT=read_seconds(os.environ, "MAX_REQUEST_TIMEOUT", default=900),
        MAX_INVOCATION_TIMEOUT=read_seconds(os.environ, "MAX_INVOCATION_TIMEOUT", default=900),
    )
)

if __name__ == "__main__":
    plugin.run()
