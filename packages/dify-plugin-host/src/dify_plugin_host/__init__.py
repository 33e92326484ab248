"""Runs Dify plugins outside of Dify: starts them, calls them, and answers what they ask of Dify."""

from dify_plugin_packager import PackageError, PluginFolder, PluginFolderError

from ._errors import (
    BackwardsError,
    DaemonServerError,
    FileInputError,
    InstallError,
    InvokeTimeoutError,
    PluginExitedError,
    PluginHostError,
    PluginInvokeError,
    PluginKilledError,
    PluginProcessError,
    PluginStartError,
    PollingError,
    StreamRejectedError,
    ToolFileError,
    UnknownNameError,
)
from ._settings import HostSettings, PlatformRules, PollingLimits
from .daemon import DaemonServer
from .files import LocalFile
from .platform import (
    AgentRequest,
    LLMRequest,
    PluginHost,
    PollingClock,
    PollingStep,
    initialize_parameters,
)
from .plugin import (
    FolderSource,
    ModelProvider,
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
    "PollingClock",
    "PollingError",
    "PollingLimits",
    "PollingStep",
    "PythonTool",
    "Strategy",
    "StreamRejectedError",
    "ToolFileError",
    "ToolParameter",
    "ToolProvider",
    "UnknownNameError",
    "builtin_tools",
    "initialize_parameters",
    "load_tools",
]
