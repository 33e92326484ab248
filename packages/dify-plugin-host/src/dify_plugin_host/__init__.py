"""Runs Dify plugins on a desk: the daemon's side of the plugin protocol, and Dify's."""

from ._builtin import builtin_tools
from ._connection import BackwardsHandler, Notice, NoticeHandler
from ._daemon import DaemonServer
from ._declarations import ModelProvider, Strategy, ToolProvider
from ._desk import AgentRequest, Desk
from ._errors import (
    BackwardsError,
    DaemonServerError,
    InstallError,
    InvokeTimeoutError,
    PackageError,
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
from ._folder import PluginFolder
from ._models import LLMRequest
from ._process import PluginProcess
from ._session import BackwardsRequest, CallOrigin
from ._settings import HostSettings, Strictness
from ._tool import PythonTool, ToolParameter
from ._toolfile import load_tools


__all__ = [
    "AgentRequest",
    "BackwardsError",
    "BackwardsHandler",
    "BackwardsRequest",
    "CallOrigin",
    "DaemonServer",
    "DaemonServerError",
    "Desk",
    "HostSettings",
    "InstallError",
    "InvokeTimeoutError",
    "LLMRequest",
    "ModelProvider",
    "Notice",
    "NoticeHandler",
    "PackageError",
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
    "ToolProvider",
    "UnknownNameError",
    "builtin_tools",
    "load_tools",
]
