"""A plugin's process: started, talked to over its pipes, and ended."""

from ._blobs import BlobAssembler
from ._child import Child
from ._connection import BackwardsHandler, Notice, NoticeHandler
from ._plugin_process import PluginProcess, ignore_notice, require_object
from ._session import BackwardsRequest, CallOrigin


__all__ = [
    "BackwardsHandler",
    "BackwardsRequest",
    "BlobAssembler",
    "CallOrigin",
    "Child",
    "Notice",
    "NoticeHandler",
    "PluginProcess",
    "ignore_notice",
    "require_object",
]
