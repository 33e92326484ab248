"""Runs Dify plugins on a desk: the daemon's side of the plugin protocol, and Dify's."""

from dify_plugin_host._connection import BackwardsHandler, Notice, NoticeHandler
from dify_plugin_host._errors import (
    BackwardsError,
    InvokeTimeoutError,
    PluginExitedError,
    PluginFolderError,
    PluginHostError,
    PluginInvokeError,
    PluginKilledError,
    PluginProcessError,
    PluginStartError,
    StreamRejectedError,
    ToolFileError,
    UnknownNameError,
)
from dify_plugin_host._folder import PluginFolder
from dify_plugin_host._process import PluginProcess
from dify_plugin_host._session import BackwardsRequest
from dify_plugin_host._settings import HostSettings, Strictness


__all__ = [
    "BackwardsError",
    "BackwardsHandler",
    "BackwardsRequest",
    "HostSettings",
    "InvokeTimeoutError",
    "Notice",
    "NoticeHandler",
    "PluginExitedError",
    "PluginFolder",
    "PluginFolderError",
    "PluginHostError",
    "PluginInvokeError",
    "PluginKilledError",
    "PluginProcess",
    "PluginProcessError",
    "PluginStartError",
    "StreamRejectedError",
    "Strictness",
    "ToolFileError",
    "UnknownNameError",
]
