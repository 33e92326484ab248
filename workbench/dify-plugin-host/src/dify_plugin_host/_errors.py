"""Errors, by whose fault they are.

PluginHostError
├── PluginFolderError       the folder is not a plugin that can be started
├── PackageError            a plugin cannot become a package, or a file is not one
├── InstallError            a package's dependencies cannot be installed the daemon's way
├── ToolFileError           a tools file, or a function in it, cannot become a tool
├── FileInputError          a file cannot be handed over as Dify would
├── UnknownNameError        a strategy, model or tool that nobody declared was asked for
├── ParameterError          a call lacks a parameter, or has a value that cannot be sent
├── CredentialsMissingError the environment lacks credentials that a call needs
├── TargetError             a version to check against is not known, or cannot be asked
├── PluginProcessError      the plugin's process is gone; `stderr_tail` shows its last words
│   ├── PluginStartError        it ended, or stayed silent, before its first heartbeat
│   ├── PluginExitedError       it ended by itself afterwards
│   └── PluginKilledError       the host ended it, as the daemon would have done
├── PluginInvokeError       the plugin answered a call with an error
├── StreamRejectedError     the plugin sent something that the platform refuses
├── InvokeTimeoutError      a call took longer than the platform allows
├── PollingError            a model that is polled has failed, or took longer than Dify waits
├── BackwardsError          a plugin's call back into Dify failed; its text goes to the plugin
├── ScriptError             a model of a test was asked for more answers than it has
├── DebuggerMissingError    debugpy, which debugging needs, is not installed
├── DebuggingError          a running Dify cannot be reached for debugging, or refuses the plugin
└── DaemonServerError       the server cannot be run as it was asked for
"""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dify_plugin_packager import DifyPluginError


_PYDANTIC_LINK = "For further information visit"  # the last line of every error of a declaration


PluginHostError = DifyPluginError
"""The root of all errors that this package raises on purpose; the packager's errors have the same root."""


class InstallError(PluginHostError):
    """A step of the daemon's installation that failed, with its own error message."""


class ToolFileError(PluginHostError):
    """A function of a tools file that cannot become a tool, with the expectation.

    Attributes:
        path: The tools file.
        function: The function at fault; None if it is the file itself.
        parameter: The parameter at fault; None if it is the function itself.
    """

    def __init__(
        self, path: Path, problem: str, *, function: str | None = None, parameter: str | None = None
    ) -> None:
        where = [str(path)]
        if function:
            where.append(f"function {function!r}")
        if parameter:
            where.append(f"parameter {parameter!r}")
        super().__init__(f"{', '.join(where)}: {problem}")
        self.path = path
        self.function = function
        self.parameter = parameter


class FileInputError(PluginHostError):
    """A file that cannot be sent as Dify would, with the expectation.

    Attributes:
        file: The file in question, by the name that was given.
        problem: The problem with it.
    """

    def __init__(self, file: str, problem: str) -> None:
        super().__init__(f"{file}: {problem}")
        self.file = file
        self.problem = problem


class UnknownNameError(PluginHostError):
    """A name that is not declared, with those that are.

    Attributes:
        kind: The kind of thing, such as `"strategy"`.
        name: The unknown name.
        known: The known names.
    """

    def __init__(self, kind: str, name: str, known: Sequence[str]) -> None:
        expected = f"expected one of: {', '.join(known)}" if known else "none is declared"
        super().__init__(f"there is no {kind} {name!r}; {expected}")
        self.kind = kind
        self.name = name
        self.known = tuple(known)


class ParameterError(PluginHostError):
    """A parameter that a call lacks, or whose value cannot be sent, with the expectation.

    Attributes:
        parameter: The parameter's name.
        problem: The problem with it.
    """

    def __init__(self, parameter: str, problem: str) -> None:
        super().__init__(f"parameter {parameter!r}: {problem}")
        self.parameter = parameter
        self.problem = problem


class CredentialsMissingError(PluginHostError):
    """A call for which the environment lacks credentials that the provider's form requires; the text names the variables."""


class TargetError(PluginHostError):
    """A version to check a package against that is not known, or that cannot be asked.

    Attributes:
        target: The version, as it was named.
    """

    def __init__(self, target: str, problem: str) -> None:
        super().__init__(f"--against {target}: {problem}")
        self.target = target


class PluginProcessError(PluginHostError):
    """The end of a plugin's process; the text ends with the end of its stderr.

    Attributes:
        plugin: The plugin's name.
        stderr_tail: The end of the process's stderr, up to 1024 bytes; may be empty.
    """

    def __init__(
        self, plugin: str, problem: str, *, stderr_tail: str = "", setup_command: str = "uv sync"
    ) -> None:
        self.plugin = plugin
        self.stderr_tail = stderr_tail
        ending = f"; its stderr ends with: {self.last_words}" if self.last_words else ""
        is_bare = "No module named 'dify_plugin'" in stderr_tail
        made = f"; its environment is missing: run `{setup_command}` in its folder"
        hint = made if is_bare else ""
        super().__init__(f"plugin {plugin!r} {problem}{ending}{hint}")

    @property
    def last_words(self) -> str:
        """The whole message of the exception that ended the process, on one line; without an exception, stderr's last line."""
        lines = [line for line in self.stderr_tail.splitlines() if line.strip()]
        kept = [line for line in lines if not line.lstrip().startswith(_PYDANTIC_LINK)]
        # A traceback's message follows its last `File` line and the indented source lines below
        # that.
        files = [n for n, line in enumerate(kept) if line.lstrip().startswith('File "')]
        after = kept[files[-1] :] if files else []
        message = itertools.dropwhile(lambda line: line[0].isspace(), after)
        return " ".join(line.strip() for line in [*message] or kept[-1:])


class PluginStartError(PluginProcessError):
    """A plugin that sent no first heartbeat."""


class PluginExitedError(PluginProcessError):
    """A running plugin that ended by itself."""


class PluginKilledError(PluginProcessError):
    """A plugin that the host ended, for a breach that makes the daemon end it."""


class PluginInvokeError(PluginHostError):
    """The error with which a plugin answered a call.

    Attributes:
        error_type: The class name that the plugin gave, such as `"InvokeRateLimitError"`.
        message: The plugin's own text.
        details: Further fields (`traceback`, `description`), which are not part of the text; None if there are none.
    """

    def __init__(
        self, error_type: str, message: str, details: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(f"{error_type}: {message}")
        self.error_type = error_type
        self.message = message
        self.details = None if details is None else dict(details)


class StreamRejectedError(PluginHostError):
    """A streamed object that breaks a rule of the platform.

    Attributes:
        error_type: The daemon's name for it, such as `"unmarshal_error"`.
        message: The daemon's text.
    """

    def __init__(self, message: str, *, error_type: str = "unmarshal_error") -> None:
        super().__init__(f"{error_type}: {message}")
        self.error_type = error_type
        self.message = message


class InvokeTimeoutError(PluginHostError):
    """A call that took longer than the platform allows.

    Attributes:
        timeout_seconds: The limit.
    """

    def __init__(self, what: str, timeout_seconds: float) -> None:
        super().__init__(f"{what} took longer than {timeout_seconds:g} s; killed by timeout")
        self.timeout_seconds = timeout_seconds


class PollingError(PluginHostError):
    """A failure of a model that is polled, with its own message, or a wait longer than Dify's, with Dify's message."""


class BackwardsError(PluginHostError):
    """Dify's refusal of a plugin's backwards call."""


class ScriptError(PluginHostError):
    """A model of a test that was asked for more answers than it has."""


class DebuggerMissingError(PluginHostError):
    """A debugger that is not installed."""


class DebuggingError(PluginHostError):
    """A plugin that cannot be debugged in a running Dify: its daemon cannot be reached, or refuses it."""


class DaemonServerError(PluginHostError):
    """A server that cannot be run: its port is taken, or its key does not fit into a header."""
