"""The commands `dify-host` and `dify-plugin`."""

from ._dify_host import run_dify_host
from ._dify_plugin import run_dify_plugin


__all__ = ["run_dify_host", "run_dify_plugin"]
