"""The command `dify-host call`: one call of a tool, a model or a strategy, or of the check of credentials."""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any, TextIO

from dify_plugin_host._errors import (
    CredentialsMissingError,
    FileInputError,
    ParameterError,
    PluginHostError,
    PluginStartError,
    UnknownNameError,
)
from dify_plugin_host._platform.model_server import ModelServer, open_wanted, without_server
from dify_plugin_host._platform.plugin_host import PluginHost
from dify_plugin_host._plugin.declarations import (
    Declarations,
    ModelProvider,
    ToolProvider,
    without_credentials,
)
from dify_plugin_host._process.connection import Notice
from dify_plugin_host._process.debugger import Debugger
from dify_plugin_host._process.session import CallOrigin
from dify_plugin_host._settings import HostSettings
from dify_plugin_packager.declarations import PluginFolder
from stream_text import KnownSecrets
from stream_text.signals import cancelled_by_signals

from .arguments import parse_arguments
from .call_screen import CallScreen
from .call_target import call, find_target, usage_lines
from .files import Files
from .find_plugins import install_settings, open_source
from .limits import with_daemon_limits, with_file_settings
from .options import CallOptions
from .screen import is_quiet, printable, shell_path
from .tool_offers import python_tools


class CallError(PluginHostError):
    """A call that failed, with the reason, without the credentials that it was made with."""


def run_call(options: CallOptions, *, out: TextIO) -> None:
    """Make the call that the options describe and show its messages on `out`; without a name, show what can be called.

    Raises:
        PluginHostError: If it cannot be made, or fails.
    """
    if options.name is None and not options.validate:
        lines = list(usage_lines(_open(options.plugin)))
        if not lines:
            raise UnknownNameError("tool, model or strategy in", str(options.plugin), ())
        shown = shell_path(options.plugin)
        out.writelines(f"dify-host call {shown} {line}\n" for line in lines)
        return
    with open_call(options, out=out) as prepared:
        asyncio.run(_make(prepared))


async def _make(prepared: "Call") -> None:
    with cancelled_by_signals():
        try:
            async with prepared.host:
                await prepared.make()
        except PluginStartError as error:
            # Its message is the exception alone, without the file and the line.
            print(printable(error.stderr_tail), file=sys.stderr)  # noqa: T201 - stdout has the messages
            raise


@contextlib.contextmanager
def open_call(
    options: CallOptions, *, out: TextIO, debugger: Debugger | None = None
) -> Generator["Call"]:
    """Prepare a call, with the simulator beside it if the options ask for it.

    Args:
        options: The call.
        out: The stream to print to.
        debugger: The debugger that the plugin waits for.

    Raises:
        PluginHostError: If the call cannot be made.
    """
    with open_wanted(os.environ, simulator=options.simulator) as server:
        yield Call(options, server, out=out, debugger=debugger)


class Call:
    """A call that is ready to be made, as often as somebody likes.

    Args:
        options: The call.
        server: The server for models, whose credentials go to the provider's fields of the same names; None for none.
        out: The stream to print to.
        debugger: The debugger that the plugin waits for.

    Attributes:
        host: The plugin with those beside it; it has to run when the call is made.

    Raises:
        CredentialsMissingError: If the environment lacks required credentials.
        UnknownNameError: If there is no tool, model, strategy or provider of the name.
        PluginHostError: If an argument or a plugin cannot be read.
    """

    def __init__(
        self,
        options: CallOptions,
        server: ModelServer | None,
        *,
        out: TextIO,
        debugger: Debugger | None = None,
    ) -> None:
        self._options = options
        self._out = out
        self._arguments = parse_arguments(options.arguments or ())
        folder = _open(options.plugin)
        self._target = find_target(folder, options) if options.name else None
        self._provider = self._find_provider(folder)
        shared: Mapping[str, str] = server.credentials if server else {}
        self._credentials = _credentials(self._provider, shared)
        others = [_open(path) for path in options.beside or ()]
        providers = [one for each in (folder, *others) for one in Declarations(each).providers]
        sent = {one.long_name: one.credentials_in(os.environ) for one in providers}
        # Where the environment has none, those of the host are sent.
        self._origin = CallOrigin(
            credentials={name: given for name, given in sent.items() if given}
        )
        values = (value for given in sent.values() for value in given.values())
        self._secrets = KnownSecrets((*self._credentials.values(), *values))
        is_model = isinstance(self._provider, ModelProvider)
        self.host = PluginHost(
            folder,
            *others,
            credentials=self._credentials if is_model else shared,
            tools=python_tools(options.tools),
            settings=_settings(os.environ),
            environment=without_credentials(without_server(os.environ), providers),
            on_notice=self._take_notice,
            debugger=debugger,
        )

    async def make(self) -> None:
        """Make the call and show its messages.

        Raises:
            FileInputError: If a file cannot be handed over.
            ParameterError: If an argument is missing or of a wrong type.
            UnknownNameError: If there is no parameter of an argument's name.
            CallError: If the call fails.
        """
        try:
            await (self._validate() if self._options.validate else self._show())
        except (FileInputError, ParameterError, UnknownNameError):
            raise
        except PluginHostError as error:
            raise CallError(self._secrets.redact(str(error))) from error

    async def _validate(self) -> None:
        assert self._provider  # noqa: S101 - there is none only for a strategy
        provider = self._provider
        model = self._target if self._target and self._target.model_type else None
        await self.host.validate_credentials(
            self._credentials,
            provider=provider.long_name,
            model=model.name if model else None,
            model_type=model.model_type if model else "llm",
        )
        text = f"provider {provider.name!r} accepts the credentials"
        if self._options.as_json:
            text = json.dumps({"type": "validated", "provider": provider.name})
        self._out.write(text + "\n")

    async def _show(self) -> None:
        assert self._target  # noqa: S101 - without a name there is only a check of credentials
        screen = CallScreen(
            self._out,
            files=Files(find=self.host.find_file, folder=self._options.save_files),
            secrets=self._secrets,
            as_json=self._options.as_json,
        )
        messages = call(self.host, self._target, self._arguments, self._credentials, self._origin)
        try:
            async with contextlib.aclosing(messages):
                async for message in messages:
                    screen.show(message)
        finally:
            screen.end_text()

    def _find_provider(self, folder: PluginFolder) -> ModelProvider | ToolProvider | None:
        """Return the provider whose credentials the call needs; None for a strategy."""
        providers = Declarations(folder).providers
        if self._target and self._target.kind == "agent_strategies":
            if self._options.validate:
                raise ParameterError(
                    "--validate", "expected a tool or a model: strategies have no credentials"
                )
            return None
        name = self._target.provider if self._target else self._options.provider
        for provider in providers:
            if name is None or provider.answers_to(name):
                return provider
        raise UnknownNameError(
            "provider of tools or models",
            name or "of any name",
            [provider.name for provider in providers],
        )

    def _take_notice(self, notice: Notice) -> None:
        """Print a plugin's message outside of the call, or the traceback of a failed call, on stderr."""
        if not is_quiet(notice) or self._options.verbose:
            text = self._secrets.redact(f"{notice.plugin}: {notice.level}: {notice.text}")
            print(printable(text), file=sys.stderr, flush=True)  # noqa: T201 - stdout has the messages


def _open(path: Path) -> PluginFolder:
    return open_source(path, install_settings(requirements=False, is_bare=False)).folder


def _settings(environment: Mapping[str, str]) -> HostSettings:
    return with_daemon_limits(with_file_settings(HostSettings(), environment), environment)


def _credentials(
    provider: ModelProvider | ToolProvider | None, shared: Mapping[str, str]
) -> dict[str, Any]:
    """Return the credentials of the provider: those of its variables, over those of the model server that its form knows.

    Raises:
        CredentialsMissingError: If one that its form requires is in neither.
    """
    if provider is None:
        return {}
    known = {name: shared[name] for name in provider.credential_variables if name in shared}
    given = {**known, **provider.credentials_in(os.environ)}
    if missing := provider.missing_variables(given):
        text = f"expected {', '.join(missing)} in the environment, the credentials of provider {provider.name!r}"
        raise CredentialsMissingError(text)
    return given
