"""The options of each command: a field for each flag, with its type and its limits; the docstring has its help."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer


_Tools = Annotated[
    list[Path] | None,
    typer.Option(help="A Python file whose functions become tools; can be given several times."),
]
_Plugins = Annotated[
    Path | None, typer.Option(help="The folder with the plugins; plugins/ by default.")
]
_Requirements = Annotated[
    bool,
    typer.Option(
        help="Install packages from their requirements.txt if they have one, like a daemon with a mirror."
    ),
]
_InstallAsDaemon = Annotated[
    bool,
    typer.Option(
        help="Install packages with the environment that the daemon gives uv, without this machine's settings for reaching its index."
    ),
]
_Reload = Annotated[
    bool, typer.Option(help="Restart a plugin between calls once its files have changed.")
]
_Port = Annotated[int, typer.Option(min=0, max=65535)]
_ARGUMENT, _FROM_0, _FROM_1 = typer.Argument(), typer.Option(min=0), typer.Option(min=1)
_Events = Annotated[bool, typer.Option("--json", help="Print one JSON event per line.")]
_Runs = Annotated[
    Path | None,
    typer.Option(
        "--run-log",
        help="The folder of the runs; by default the one in GPT5_AGENT_RUN_LOG, else runs/.",
    ),
]

# Options that become parameters of the strategy, under the same names.
_CONTROLS = (
    "allowed_tools",
    "answer_schema",
    "approval_rules",
    "tool_search",
    "fallback_model",
    "fail_on_model_failure",
    "max_total_tokens",
    "max_cost",
    "max_seconds",
    "max_tool_calls",
)
# Further options that only an agent has a use for.
_AGENTS = ("strategy", "tools", "max_iterations", "run_log", "view")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOptions:
    """A question, and the choice of what answers it.

    Attributes:
        question: The question. Optional with --reload: then each line of stdin is one.
        strategy: The agent strategy's name; a wrong one lists all.
        model: The model's name.
        effort: The model's reasoning effort, such as low.
        max_iterations: How many times a run may call the model (rounds).
        allowed_tools: A tool that the run may call; can be given several times.
        answer_schema: The JSON schema that the answer has to match, as JSON.
        approval_rules: The calls that need your approval, as JSON; each further line of stdin is a reply.
        tool_search: Whether the model searches if there are many tools.
        fallback_model: The model that takes over if the first one fails.
        fail_on_model_failure: Whether a run fails with its model even if results are there by then.
        max_total_tokens: How many tokens a run may use.
        max_cost: How much money a run may cost, in the currency of the prices.
        max_seconds: How many seconds a run may take.
        max_tool_calls: How many tool calls a run may make.
        instruction: The agent's instruction.
        hide_thoughts: Hide the model's thoughts.
        file: A file to send with the question; can be given several times.
        save_files: A folder to save the files of the answer to.
        run_log: A folder to write each run to, as JSON lines.
        view: Show the run on a page as it happens, and log it; the page stays.
        direct: Ask the model itself, without an agent and its tools.
        packages: A folder of packages to run instead of plugin folders.
    """

    question: Annotated[str | None, _ARGUMENT] = None
    strategy: str | None = None
    model: str | None = None
    effort: str | None = None
    max_iterations: Annotated[int | None, _FROM_1] = None
    allowed_tools: list[str] | None = None
    answer_schema: str | None = None
    approval_rules: str | None = None
    tool_search: bool | None = None
    fallback_model: str | None = None
    fail_on_model_failure: bool | None = None
    max_total_tokens: Annotated[int | None, _FROM_1] = None
    max_cost: Annotated[float | None, _FROM_0] = None
    max_seconds: Annotated[float | None, _FROM_0] = None
    max_tool_calls: Annotated[int | None, _FROM_1] = None
    instruction: str | None = None
    reload: _Reload = False
    hide_thoughts: bool = False
    as_json: _Events = False
    tools: _Tools = None
    file: list[Path] | None = None
    save_files: Path | None = None
    run_log: Path | None = None
    view: bool = False
    direct: bool = False
    plugins: _Plugins = None
    packages: Path | None = None
    requirements: _Requirements = False
    install_as_daemon: _InstallAsDaemon = False

    @property
    def controls(self) -> dict[str, object]:
        """The strategy's parameters among the options, by their names; only those that are set."""
        given: dict[str, object] = {name: getattr(self, name) for name in _CONTROLS}
        given["allowed_tools"] = "\n".join(self.allowed_tools) if self.allowed_tools else None
        return {name: value for name, value in given.items() if value is not None}

    @property
    def for_agents(self) -> list[str]:
        """The flags that are set and have no meaning without an agent."""
        given = [name for name in _AGENTS if getattr(self, name) not in (None, False)]
        return [f"--{name.replace('_', '-')}" for name in [*given, *self.controls]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsOptions:
    """The runs to list."""

    run_log: _Runs = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewOptions:
    """A run to look at, and the plugins and tools to run it again.

    Attributes:
        run: The run, or a part of its name that is unique; by default all.
        port: The port; 0 takes a free one.
        no_open: Do not open a browser.
    """

    run: Annotated[str | None, _ARGUMENT] = None
    run_log: _Runs = None
    port: _Port = 0
    no_open: bool = False
    tools: _Tools = None
    plugins: _Plugins = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOptions:
    """A package, and the rules to check it by.

    Attributes:
        file: The package; by default the one in dist/ that was written last.
        quick: Check only the files: install, start and call nothing.
        marketplace: Check by the rules of Dify's marketplace as well; exit code 3 if only these refuse the package.
        strict: Fail on advice as well.
        as_json: Print one JSON object per check.
        against: A version to check against: of Dify, such as 1.10, or all; of the plugin SDK, such as sdk:0.9.0; or the path of Dify's
            command line, for the daemon that it was built with. Can be given several times.
        report: Where to write a graded report: a file that ends with .json or .html. Can be given several times.
        soak: Run the installed plugin for a minute as well, idle and called: its CPU time, threads, memory and open files.
        soak_seconds: With --soak: roughly how many seconds it may take.
        soak_calls: With --soak: how many calls it may make.
    """

    file: Annotated[Path | None, _ARGUMENT] = None
    quick: bool = False
    marketplace: bool = False
    strict: bool = False
    as_json: Annotated[bool, typer.Option("--json")] = False
    against: list[str] | None = None
    report: list[Path] | None = None
    soak: bool = False
    soak_seconds: Annotated[float, _FROM_1] = 60
    soak_calls: Annotated[int, typer.Option(min=4)] = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """The plugins to serve, and the settings of the server.

    Attributes:
        sources: Plugin folders or packages; by default the folders in plugins/.
        plugins: A folder whose plugin folders are served as well.
        packages: A folder whose packages are served as well.
        port: The port; 0 takes a free one.
        api_key: The key that callers must send; DIFY_HOST_API_KEY or a random one by default.
        tenant: The id of the only tenant that has the plugins, a UUID; by default any tenant has them.
        simulator: Run a simulated model server, which needs no key, and show its credentials.
        as_daemon: Behave exactly like the daemon, even where this host is more lenient, such as when a plugin dies.
        verbose: Show everything that plugins log or write to stderr.
    """

    sources: Annotated[list[Path] | None, _ARGUMENT] = None
    plugins: Path | None = None
    packages: Path | None = None
    port: _Port = 5002
    api_key: str | None = None
    tenant: str | None = None
    requirements: _Requirements = False
    install_as_daemon: _InstallAsDaemon = False
    tools: _Tools = None
    simulator: bool = False
    reload: _Reload = False
    as_daemon: bool = False
    verbose: bool = False
    as_json: _Events = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOptions:
    """A call of a plugin.

    Attributes:
        plugin: The plugin's folder or package.
        name: The tool, model or strategy; without it, everything that can be called is listed.
        arguments: Its parameters: name=text, name:=JSON or name=@FILE; one given several times becomes a list.
        validate: Check the credentials of the provider, or of the model, instead.
        provider: The provider, if several offer that name.
        model_type: The type of a model that users name, such as text-embedding.
        beside: A plugin whose models and tools it may call back; can be given several times.
        simulator: Run a simulated model server, which needs no key, for models.
        save_files: A folder to save the files of the answer to.
        verbose: Show everything that plugins log or write to stderr.
        as_json: Print one message per line, as JSON.
    """

    plugin: Annotated[Path, _ARGUMENT]
    name: Annotated[str | None, _ARGUMENT] = None
    arguments: Annotated[list[str] | None, typer.Argument(metavar="[KEY=VALUE]...")] = None
    validate: bool = False
    provider: str | None = None
    model_type: str | None = None
    beside: Annotated[list[Path] | None, typer.Option("--with")] = None
    tools: _Tools = None
    simulator: bool = False
    save_files: Path | None = None
    verbose: bool = False
    as_json: Annotated[bool, typer.Option("--json")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NewOptions:
    """A plugin to create.

    Attributes:
        name: The folder to make; its name becomes the plugin's name.
        kind: What the plugin offers to Dify.
        author: The plugin's author, your user or organisation on GitHub; by default your name in git's settings.
    """

    name: Annotated[Path, _ARGUMENT]
    kind: Literal["tool", "model", "agent", "endpoint", "datasource", "trigger"] = "tool"
    author: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DebugOptions(CallOptions):
    """A plugin to debug, and the call to make; without a name it is served.

    Attributes:
        name: The tool, model or strategy to call; without it, the plugin is served.
        port: The debugger's port; 0 takes a free one.
        dify: A running Dify to debug the plugin in, beside one that is installed there; REMOTE_INSTALL_KEY holds the key that Dify shows
            with this address.
    """

    name: Annotated[str | None, _ARGUMENT] = None
    port: _Port = 5678
    dify: Annotated[str | None, typer.Option(metavar="HOST:PORT")] = None

    @property
    def for_calls(self) -> list[str]:
        """The flags and arguments that are set and have no meaning in a running Dify."""
        names = ("beside", "tools", "simulator", "save_files", "as_json", "validate")
        flags = {"beside": "--with", "as_json": "--json"}
        unfit = [name for name in (*names, "provider", "model_type") if getattr(self, name)]
        shown = [flags.get(name, f"--{name.replace('_', '-')}") for name in unfit]
        return [*(["NAME"] if self.name else []), *shown]
