"""Runs Dify plugins outside of Dify: starts them, calls them, and answers their calls back into Dify."""

from dify_plugin_packager import PackageError, PluginFolder, PluginFolderError

from ._daemon.server import DaemonServer
from ._errors import (
    BackwardsError,
    CredentialsMissingError,
    DaemonServerError,
    DebuggerMissingError,
    DebuggingError,
    FileInputError,
    InstallError,
    InvokeTimeoutError,
    ParameterError,
    PluginExitedError,
    PluginHostError,
    PluginInvokeError,
    PluginKilledError,
    PluginProcessError,
    PluginStartError,
    PollingError,
    StreamRejectedError,
    TargetError,
    ToolFileError,
    UnknownNameError,
)
from ._files.local_file import LocalFile
from ._platform.agent_node import AgentRequest, StrategyRequest, initialize_parameters
from ._platform.model_calls import ModelRequest
from ._platform.models import LLMRequest
from ._platform.plugin_host import PluginHost
from ._platform.polling import PollingClock, PollingStep
from ._platform.recorded import RecordedAnswers
from ._platform.tool_node import ToolRequest
from ._plugin.declarations import ModelProvider, Strategy, ToolProvider
from ._plugin.source import FolderSource, PluginSource
from ._process.connection import BackwardsHandler, Notice, NoticeHandler
from ._process.debugger import Debugger
from ._process.plugin_process import PluginProcess
from ._process.session import BackwardsRequest, CallBack, CallOrigin, FindAnswer
from ._settings import HostSettings, PlatformRules, PollingLimits
from ._tools.tool import PythonTool, ToolParameter
from ._tools.tool_file import builtin_tools, load_tools


__all__ = [
    "AgentRequest",
    "BackwardsError",
    "BackwardsHandler",
    "BackwardsRequest",
    "CallBack",
    "CallOrigin",
    "CredentialsMissingError",
    "DaemonServer",
    "DaemonServerError",
    "Debugger",
    "DebuggerMissingError",
    "DebuggingError",
    "FileInputError",
    "FindAnswer",
    "FolderSource",
    "HostSettings",
    "InstallError",
    "InvokeTimeoutError",
    "LLMRequest",
    "LocalFile",
    "ModelProvider",
    "ModelRequest",
    "Notice",
    "NoticeHandler",
    "PackageError",
    "ParameterError",
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
    "RecordedAnswers",
    "Strategy",
    "StrategyRequest",
    "StreamRejectedError",
    "TargetError",
    "ToolFileError",
    "ToolParameter",
    "ToolProvider",
    "ToolRequest",
    "UnknownNameError",
    "builtin_tools",
    "initialize_parameters",
    "load_tools",
]
