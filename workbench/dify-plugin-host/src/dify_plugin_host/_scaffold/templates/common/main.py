"""The plugin's entry point, which Dify's plugin daemon runs as `python -m main`."""

from dify_plugin import DifyPluginEnv, Plugin


plugin = Plugin(DifyPluginEnv())

if __name__ == "__main__":
    plugin.run()
