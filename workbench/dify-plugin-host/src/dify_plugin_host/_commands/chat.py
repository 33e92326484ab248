"""The command `dify-host chat`: a question, answered by a model plugin and an agent strategy plugin together."""

import asyncio
import contextlib
import dataclasses
import functools
import json
import os
import time
import uuid
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO, cast

from rich.console import Console

from dify_plugin_host._errors import (
    FileInputError,
    PluginHostError,
    PluginInvokeError,
    UnknownNameError,
)
from dify_plugin_host._files.local_file import LocalFile
from dify_plugin_host._platform.agent_node import AgentRequest, find_file_parameter
from dify_plugin_host._platform.model_server import ModelServer, open_server
from dify_plugin_host._platform.plugin_host import PluginHost
from dify_plugin_host._platform.recorded import RecordedAnswers
from dify_plugin_host._plugin.declarations import Declarations, ModelProvider, without_credentials
from dify_plugin_host._plugin.source import PluginSource
from dify_plugin_host._process.connection import Notice
from dify_plugin_host._process.session import CallOrigin
from dify_plugin_host._settings import HostSettings
from dify_plugin_packager.commands import find_plugins_folder
from dify_plugin_packager.declarations import PluginFolder, PluginKind
from dify_plugin_packager.json_access import JsonObject
from stream_text.signals import cancelled_by_signals

from .direct import ask_model
from .files import Files, name_option, read_files
from .find_plugins import choose_plugins, install_packages, install_settings, read_plugins
from .limits import with_file_settings
from .options import ChatOptions
from .progress import NoticeGiven, Progress, RunEvent, RunFailed, RunFinished, RunStarted
from .questions import Questions, is_terminal
from .screen import Screen, is_quiet
from .tool_offers import ToolOffers, find_offers, python_tools


_DEFAULT_STRATEGY = "gpt5_function_calling"
_DEFAULT_MODEL = "gpt-5.2"
RUN_LOG = "GPT5_AGENT_RUN_LOG"
"""The environment variable with the folder to which our strategies log their runs."""

_APPROVAL = "approval"  # The stop reason of a run that waits for a person's approval.

type Show = Callable[[RunEvent], None]


class ChatError(PluginHostError):
    """A run that failed, with the reason in one sentence."""


def run_chat(options: ChatOptions, *, out: TextIO) -> None:
    """Answer the question on `out`.

    Raises:
        PluginHostError: If the run fails.
    """
    show = _json_lines(out) if options.as_json else _screen(out, options)
    try:
        with _open_chat(options, show, controls=options.controls) as chat:
            asyncio.run(chat.run())
    except PluginHostError as error:
        show(RunFailed(message=str(error)))
        raise


async def answer_again(
    options: ChatOptions,
    history: Sequence[JsonObject],
    recorded: RecordedAnswers,
    *,
    controls: Mapping[str, object],
    about: JsonObject,
) -> None:
    """Answer a question once more, without output: the log shows the run.

    Args:
        options: As for a chat.
        controls: The parameters of the strategy, in place of those in the options.
        history: The prompt messages of earlier turns.
        recorded: The recorded answers that come before those of the model and the tools.
        about: Further facts about the run for the log.

    Raises:
        PluginHostError: If the run fails.
    """
    opening = _open_chat(options, lambda _: None, controls=controls, about=about, recorded=recorded)
    with opening as chat:
        await chat.answer_once(options.question or "", history)


@contextlib.contextmanager
def _open_chat(
    options: ChatOptions,
    show: Show,
    *,
    controls: Mapping[str, object],
    about: JsonObject | None = None,
    recorded: RecordedAnswers | None = None,
) -> Generator["_Chat"]:
    """Open a chat with its plugins, files and server; its errors are explained for a person at a command line."""
    tools = () if options.direct else python_tools(options.tools)
    files = read_files(options.file or ())
    settings = with_file_settings(HostSettings(), os.environ)
    plugins = _plugins(options)
    folders = [one if isinstance(one, PluginFolder) else one.folder for one in plugins]
    providers = [provider for folder in folders for provider in Declarations(folder).providers]
    with open_server(os.environ) as server:
        credentials = dict(server.credentials)
        for provider in providers:
            if isinstance(provider, ModelProvider):
                credentials |= provider.credentials_in(os.environ)
        environment = without_credentials(server.environment, providers)
        open_host = functools.partial(
            PluginHost,
            *plugins,
            credentials=credentials,
            environment={**environment, **_log_setting(options, controls, about)},
            tools=tools,
            settings=settings,
            answers=recorded.find if recorded else None,
        )
        chat = _Chat(options, controls, server, files, show, open_host=open_host)
        try:
            yield chat
        except PluginHostError as error:
            raise chat.explain(error) from error


def _log_setting(
    options: ChatOptions, controls: Mapping[str, object], about: JsonObject | None
) -> dict[str, str]:
    """Return the variables that make our strategies log their runs; none without the option, so that the caller's own stay."""
    if options.run_log is None:
        return {}
    facts = {"program": "dify-host", "strategy": options.strategy, "parameters": controls}
    return {
        RUN_LOG: str(options.run_log.absolute()),
        f"{RUN_LOG}_ABOUT": json.dumps({**facts, **(about or {})}),
    }


def _plugins(options: ChatOptions) -> list[PluginFolder | PluginSource]:
    kinds: tuple[PluginKind, ...] = (
        ("models",) if options.direct else ("models", "agent_strategies")
    )
    if options.packages is None:
        otherwise = "--plugins takes another one"
        folder = options.plugins or find_plugins_folder(Path.cwd(), otherwise=otherwise)
        found = read_plugins(folder)
    else:
        folder = options.packages
        with Console(stderr=True).status("installing the packages"):
            settings = install_settings(
                requirements=options.requirements, is_bare=options.install_as_daemon
            )
            found = install_packages(folder, settings=settings)
    chosen = choose_plugins(folder, found, kinds)
    return [source if options.reload else source.folder for source in chosen]


def _json_lines(out: TextIO) -> Show:
    def show(event: RunEvent) -> None:
        line: dict[str, Any] = {"event": event.event, **dataclasses.asdict(event)}
        out.write(json.dumps(line, ensure_ascii=False) + "\n")
        out.flush()

    return show


def _screen(out: TextIO, options: ChatOptions) -> Show:
    console = Console(file=out)
    return Screen(console, show_thoughts=not options.hide_thoughts).show


class _Chat:
    """A chat of one run, or of several in turn."""

    def __init__(  # noqa: PLR0913 - a run has these settings
        self,
        options: ChatOptions,
        controls: Mapping[str, object],
        server: ModelServer,
        files: tuple[LocalFile, ...],
        show: Show,
        *,
        open_host: Callable[..., PluginHost],
    ) -> None:
        self._options = options
        self._controls = controls
        self._server = server
        self._files = files
        self._show = show
        self._host = open_host(on_notice=self._take_notice, on_model_error=self._take_model_error)
        self._questions = Questions(options.question)
        self._model_error: PluginHostError | None = None

    async def run(self) -> None:
        """Start the plugins and answer the questions."""
        self._request("")  # A wrong name is reported before anything is started.
        self._show_all(iter(self._offers().left_out))
        with cancelled_by_signals(), Console(stderr=True).status("starting the plugins") as status:
            async with self._host:
                status.stop()
                if self._options.question is None or (self._options.reload and is_terminal()):
                    await self._answer_all()
                else:
                    await self._talk(self._options.question)

    async def answer_once(self, question: str, history: Sequence[JsonObject]) -> None:
        """Start the plugins and answer one question outside of any conversation."""
        async with self._host:
            await self._answer(question, history)

    async def _answer_all(self) -> None:
        """Answer questions until there are no more; a failure does not end the chat."""
        while question := await self._questions.read():
            try:
                await self._talk(question)
            except PluginHostError as error:
                self._show(RunFailed(message=str(self.explain(error))))
            if is_terminal():
                Console(stderr=True).print("Enter asks again; another question, or Ctrl-D to end:")

    async def _talk(self, question: str) -> None:
        """Answer a question in a conversation of its own; if the strategy asks for approval, the next line of stdin is the reply."""
        conversation_id = str(uuid.uuid4())
        history: tuple[JsonObject, ...] = ()
        message: str | None = question
        while message is not None:
            finished = await self._answer(message, history, conversation_id)
            if finished.metadata.get("stop_reason") != _APPROVAL:
                return
            history = (*history, _message("user", message), _message("assistant", finished.answer))
            message = await self._read_decision()

    async def _read_decision(self) -> str | None:
        """Return a person's reply about calls that wait; an empty line denies them, None is the end of stdin."""
        if is_terminal():
            Console(stderr=True).print("Your answer; Enter denies, Ctrl-D leaves it open:")
        line = await self._questions.read_answer()
        return line if line is None else line or "no"

    async def _answer(
        self, question: str, history: Sequence[JsonObject], conversation_id: str | None = None
    ) -> RunFinished:
        """Answer a question after the earlier turns, and return the end of the run."""
        # The next failure must not be explained by the model error of an earlier turn.
        self._model_error = None
        # First, because the request is made of what the plugins declare now.
        await self._host.refresh()
        request = self._request(question)
        origin = dataclasses.replace(request.origin, conversation_id=conversation_id)
        request = dataclasses.replace(request, history=history, origin=origin)
        offered = self._offers().entities
        self._show(
            RunStarted(
                strategy=request.strategy or None,
                model=request.model,
                server=self._server.description,
                tools=(
                    *(tool.name for tool in self._host.tools),
                    *(str(tool["identity"]["name"]) for tool in offered),
                ),
                files=tuple(file.name for file in self._files),
            )
        )
        return await self._follow(request)

    async def _follow(self, request: AgentRequest) -> RunFinished:
        started = time.monotonic()
        progress = Progress(files=Files(find=self._host.find_file, folder=self._options.save_files))
        run = ask_model if self._options.direct else PluginHost.run
        async with contextlib.aclosing(run(self._host, request)) as messages:
            async for message in messages:
                self._show_all(progress.feed(message))
        *rest, finished = progress.finish(seconds=round(time.monotonic() - started, 3))
        self._show_all(iter((*rest, finished)))
        return cast("RunFinished", finished)

    def _show_all(self, events: Iterator[RunEvent]) -> None:
        for event in events:
            self._show(event)

    def _offers(self) -> ToolOffers:
        providers = () if self._options.direct else self._host.tool_providers
        return find_offers(providers, os.environ)

    def _request(self, question: str) -> AgentRequest:
        """Fill in the defaults.

        Raises:
            UnknownNameError: If there is no such strategy.
            FileInputError: If the strategy takes no files, or not as many.
        """
        options, models = self._options, self._host.model_providers[0].models
        request = AgentRequest(
            query=question,
            strategy="",
            model=options.model or _preferred(_DEFAULT_MODEL, models),
            completion_params={"reasoning_effort": options.effort} if options.effort else {},
            files=self._files,
        )
        if options.instruction is not None or options.direct:
            request = dataclasses.replace(request, instruction=options.instruction or "")
        return request if options.direct else self._for_strategy(request)

    def _for_strategy(self, request: AgentRequest) -> AgentRequest:
        options = self._options
        strategies = {strategy.name: strategy for strategy in self._host.strategies}
        name = options.strategy or _preferred(_DEFAULT_STRATEGY, tuple(strategies))
        if name not in strategies:
            raise UnknownNameError("strategy", name, tuple(strategies))
        if self._files:
            find_file_parameter(strategies[name], self._files)
        parameters: dict[str, Any] = {
            "maximum_iterations": options.max_iterations,
            **self._controls,
        }
        parameters = {key: value for key, value in parameters.items() if value is not None}
        if options.hide_thoughts and "emit_intermediate_thoughts" in strategies[name].parameters:
            parameters["emit_intermediate_thoughts"] = False
        offers = self._offers()
        # Without offers a strategy gets the host's own tools anyway.
        if offers.entities:
            tools = [*(tool.to_entity() for tool in self._host.tools), *offers.entities]
            parameters = {"tools": tools, **parameters}
        origin = CallOrigin(app_id="chat", credentials=offers.credentials)
        return dataclasses.replace(request, strategy=name, parameters=parameters, origin=origin)

    def _take_notice(self, notice: Notice) -> None:
        """Show a plugin's complaint."""
        if notice.kind != "failed_call" and not is_quiet(notice):
            self._show(NoticeGiven(plugin=notice.plugin, level=notice.level, text=notice.text))

    def _take_model_error(self, error: PluginHostError) -> None:
        """Keep the reason of a failed model call, of which the strategy gets only a text."""
        self._model_error = error

    def explain(self, error: PluginHostError) -> PluginHostError:
        """Return an error that explains a failure to a person at a command line."""
        if isinstance(error, FileInputError) and error.file in {file.name for file in self._files}:
            return name_option(error)
        if not isinstance(error, PluginInvokeError):
            return error
        # The strategy's own error may only say that the model failed; the model's error says why.
        cause = error if self._options.direct else self._model_error
        if not isinstance(cause, PluginInvokeError):
            return ChatError(f"the run failed: {error.message}")
        server = self._server.description
        match cause.error_type:
            case "InvokeAuthorizationError":
                problem = f"{server} refused the key; expected a valid one in OPENAI_API_KEY"
            case "InvokeConnectionError":
                problem = f"no answer from {server}; expected a Responses API at OPENAI_BASE_URL"
            case "InvokeServerUnavailableError" | "InvokeBadRequestError" if (
                self._server.url_setting
            ):
                where = f"{server} was asked, as named by {self._server.url_setting}"
                problem = f"the model call failed: {cause.message} ({where})"
            case _:
                problem = f"the model call failed: {cause.message}"
        return ChatError(problem)


def _message(role: str, content: str) -> JsonObject:
    """Return a prompt message of an earlier turn."""
    return {"role": role, "content": content, "name": ""}


def _preferred(name: str, known: tuple[str, ...]) -> str:
    return name if name in known or not known else known[0]
