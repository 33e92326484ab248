"""Start the plugin. The daemon runs this as `python -m main` in the plugin's folder."""

# The SDK patches the process for gevent, so it comes before everything that opens sockets or starts threads.
from dify_plugin import DifyPluginEnv, Plugin  # isort: skip

import os

from agent_adapter import bound_output, read_seconds


bound_output()
plugin = Plugin(
    DifyPluginEnv(
        MAX_REQUEST_TIMEOUT=read_seconds(os.environ, "MAX_REQUEST_TIMEOUT", default=900),
        MAX_INVOCATION_TIMEOUT=read_seconds(os.environ, "MAX_INVOCATION_TIMEOUT", default=900),
    )
)

if __name__ == "__main__":
    plugin.run()
