"""Runs Dify plugins outside of Dify: starts them, calls them, and answers what they ask of Dify."""

from ._errors import (
    BackwardsError,
    DaemonServerError,
    FileInputError,
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
from ._settings import HostSettings, PlatformRules
from .daemon import DaemonServer
from .files import LocalFile
from .platform import AgentRequest, LLMRequest, PluginHost
from .plugin import (
    FolderSource,
    ModelProvider,
    PluginFolder,
    PluginSource,
    Strategy,
    ToolProvider,
)
from .process import (
    BackwardsHandler,
    BackwardsRequest,
    CallOrigin,
    Notice,
    NoticeHandler,
    PluginProcess,
)
from .tools import PythonTool, ToolParameter, builtin_tools, load_tools


__all__ = [
    "AgentRequest",
    "BackwardsError",
    "BackwardsHandler",
    "BackwardsRequest",
    "CallOrigin",
    "DaemonServer",
    "DaemonServerError",
    "FileInputError",
    "FolderSource",
    "HostSettings",
    "InstallError",
    "InvokeTimeoutError",
    "LLMRequest",
    "LocalFile",
    "ModelProvider",
    "Notice",
    "NoticeHandler",
    "PackageError",
    "PlatformRules",
    "PluginExitedError",
    "PluginFolder",
    "PluginFolderError",
    "PluginHost",
    "PluginHostError",
    "PluginInvokeError",
    "PluginKilledError",
    "PluginProcess",
    "PluginProcessError",
    "PluginSource",
    "PluginStartError",
    "PythonTool",
    "Strategy",
    "StreamRejectedError",
    "ToolFileError",
    "ToolParameter",
    "ToolProvider",
    "UnknownNameError",
    "builtin_tools",
    "load_tools",
]
