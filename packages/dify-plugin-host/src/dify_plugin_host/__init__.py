"""Runs Dify plugins on a desk: the daemon's side of the plugin protocol, and Dify's."""

from dify_plugin_host._builtin import builtin_tools
from dify_plugin_host._connection import BackwardsHandler, Notice, NoticeHandler
from dify_plugin_host._declarations import ModelProvider, Strategy
from dify_plugin_host._desk import AgentRequest, Desk
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
from dify_plugin_host._models import LLMRequest
from dify_plugin_host._process import PluginProcess
from dify_plugin_host._session import BackwardsRequest
from dify_plugin_host._settings import HostSettings, Strictness
from dify_plugin_host._tool import PythonTool, ToolParameter
from dify_plugin_host._toolfile import load_tools


__all__ = [
    "AgentRequest",
    "BackwardsError",
    "BackwardsHandler",
    "BackwardsRequest",
    "Desk",
    "HostSettings",
    "InvokeTimeoutError",
    "LLMRequest",
    "ModelProvider",
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
    "PythonTool",
    "Strategy",
    "StreamRejectedError",
    "Strictness",
    "ToolFileError",
    "ToolParameter",
    "UnknownNameError",
    "builtin_tools",
    "load_tools",
]
