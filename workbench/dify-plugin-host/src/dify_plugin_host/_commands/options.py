"""The options of each command: a field for each flag, with its type, its limits and its help."""

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
        "--requirements",
        help="Install packages from their requirements.txt if they have one, like a daemon with a mirror.",
    ),
]
_InstallAsDaemon = Annotated[
    bool,
    typer.Option(
        "--install-as-daemon",
        help="Install packages with the environment that the daemon gives uv, without this machine's settings for reaching its index.",
    ),
]
_Reload = Annotated[
    bool,
    typer.Option(
        "--reload", help="Start a plugin again, between calls, once its files have changed."
    ),
]
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
    """A question, and the choice of what answers it."""

    question: Annotated[
        str | None,
        typer.Argument(
            help="The question. With --reload it may be left out: then each line of stdin is one."
        ),
    ] = None
    strategy: Annotated[
        str | None, typer.Option(help="The agent strategy's name; a wrong one lists all.")
    ] = None
    model: Annotated[str | None, typer.Option(help="The model's name.")] = None
    effort: Annotated[
        str | None, typer.Option(help="The model's reasoning effort, such as low.")
    ] = None
    max_iterations: Annotated[
        int | None, typer.Option(min=1, help="How often a run may call the model (rounds).")
    ] = None
    allowed_tools: Annotated[
        list[str] | None,
        typer.Option(help="A tool that the run may call; can be given several times."),
    ] = None
    answer_schema: Annotated[
        str | None, typer.Option(help="The JSON schema that the answer has to match, as JSON.")
    ] = None
    approval_rules: Annotated[
        str | None,
        typer.Option(
            help="The calls that need your approval, as JSON; each further line of stdin is a reply."
        ),
    ] = None
    tool_search: Annotated[
        bool | None, typer.Option(help="Whether the model searches if there are many tools.")
    ] = None
    fallback_model: Annotated[
        str | None, typer.Option(help="The model that takes over if the first one fails.")
    ] = None
    fail_on_model_failure: Annotated[
        bool | None,
        typer.Option(help="Whether a run fails with its model even if results are there by then."),
    ] = None
    max_total_tokens: Annotated[
        int | None, typer.Option(min=1, help="How many tokens a run may use.")
    ] = None
    max_cost: Annotated[
        float | None,
        typer.Option(min=0, help="How much money a run may cost, in the currency of the prices."),
    ] = None
    max_seconds: Annotated[
        float | None, typer.Option(min=0, help="How many seconds a run may take.")
    ] = None
    max_tool_calls: Annotated[
        int | None, typer.Option(min=1, help="How many tool calls a run may make.")
    ] = None
    instruction: Annotated[str | None, typer.Option(help="The agent's instruction.")] = None
    reload: _Reload = False
    hide_thoughts: Annotated[bool, typer.Option("--hide-thoughts", help="Show no thoughts.")] = (
        False
    )
    as_json: _Events = False
    tools: _Tools = None
    file: Annotated[
        list[Path] | None,
        typer.Option(help="A file that goes with the question; can be given several times."),
    ] = None
    save_files: Annotated[
        Path | None, typer.Option(help="A folder to save the files of the answer to.")
    ] = None
    run_log: Annotated[
        Path | None, typer.Option(help="A folder to write each run to, as JSON lines.")
    ] = None
    view: Annotated[
        bool,
        typer.Option(
            "--view", help="Show the run on a page as it happens, and log it; the page stays."
        ),
    ] = False
    direct: Annotated[
        bool,
        typer.Option("--direct", help="Ask the model itself, without an agent and its tools."),
    ] = False
    plugins: _Plugins = None
    packages: Annotated[
        Path | None, typer.Option(help="A folder of packages to run instead of plugin folders.")
    ] = None
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
    """A run to look at, and the plugins and tools to run it again."""

    run: Annotated[
        str | None,
        typer.Argument(help="The run, or a part of its name that is unique; by default all."),
    ] = None
    run_log: _Runs = None
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 0
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open a browser.")] = False
    tools: _Tools = None
    plugins: _Plugins = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOptions:
    """A package, and the rules to check it by."""

    file: Annotated[
        Path | None,
        typer.Argument(help="The package; by default the one in dist/ that was written last."),
    ] = None
    quick: Annotated[
        bool, typer.Option("--quick", help="Check only the files: install, start and call nothing.")
    ] = False
    marketplace: Annotated[
        bool,
        typer.Option(
            "--marketplace",
            help="Check by the rules of Dify's marketplace as well; exit code 3 if only these refuse the package.",
        ),
    ] = False
    strict: Annotated[bool, typer.Option("--strict", help="Fail on advice as well.")] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per check.")] = (
        False
    )
    against: Annotated[
        list[str] | None,
        typer.Option(
            help="A version to check against: of Dify, such as 1.10, or all; of the plugin SDK, such as sdk:0.9.0; or the path of Dify's command line, for the daemon that it was built with. Can be given several times."
        ),
    ] = None
    report: Annotated[
        list[Path] | None,
        typer.Option(
            help="Where to write a graded report: a file that ends with .json or .html. Can be given several times."
        ),
    ] = None
    soak: Annotated[
        bool,
        typer.Option(
            "--soak",
            help="Run the installed plugin for a minute as well, idle and called: its CPU time, threads, memory and open files.",
        ),
    ] = False
    soak_seconds: Annotated[
        float, typer.Option(min=1, help="With --soak: about how many seconds it takes at most.")
    ] = 60
    soak_calls: Annotated[
        int, typer.Option(min=4, help="With --soak: how many calls are made at most.")
    ] = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """The plugins to serve, and the settings of the server."""

    sources: Annotated[
        list[Path] | None,
        typer.Argument(help="Plugin folders or packages; by default the folders in plugins/."),
    ] = None
    plugins: Annotated[
        Path | None, typer.Option(help="A folder whose plugin folders are served as well.")
    ] = None
    packages: Annotated[
        Path | None, typer.Option(help="A folder whose packages are served as well.")
    ] = None
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = (
        5002
    )
    api_key: Annotated[
        str | None,
        typer.Option(
            help="The key that callers must send; DIFY_HOST_API_KEY or a random one by default."
        ),
    ] = None
    tenant: Annotated[
        str | None,
        typer.Option(
            help="The id of the only tenant that has the plugins, a UUID; by default any tenant has them."
        ),
    ] = None
    requirements: _Requirements = False
    install_as_daemon: _InstallAsDaemon = False
    tools: _Tools = None
    simulator: Annotated[
        bool,
        typer.Option(
            "--simulator",
            help="Run a simulated model server, which needs no key, and show its credentials.",
        ),
    ] = False
    reload: _Reload = False
    as_daemon: Annotated[
        bool,
        typer.Option(
            "--as-daemon",
            help="Behave exactly like the daemon, even where this host is kinder, such as when a plugin dies.",
        ),
    ] = False
    verbose: Annotated[
        bool,
        typer.Option("--verbose", help="Show everything that plugins log or write to stderr."),
    ] = False
    as_json: _Events = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOptions:
    """A call of a plugin."""

    plugin: Annotated[Path, typer.Argument(help="The plugin's folder or package.")]
    name: Annotated[
        str | None,
        typer.Argument(
            help="The tool, model or strategy; without it, what can be called is listed."
        ),
    ] = None
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[KEY=VALUE]...",
            help="Its parameters: name=text, name:=JSON or name=@FILE; one that is given several times is a list.",
        ),
    ] = None
    validate: Annotated[
        bool,
        typer.Option(
            "--validate", help="Check the credentials of the provider, or of the model, instead."
        ),
    ] = False
    provider: Annotated[
        str | None, typer.Option(help="The provider, where several have that name.")
    ] = None
    model_type: Annotated[
        str | None,
        typer.Option(help="The type of a model that users name, such as text-embedding."),
    ] = None
    beside: Annotated[
        list[Path] | None,
        typer.Option(
            "--with",
            help="A plugin whose models and tools it may call back; can be given several times.",
        ),
    ] = None
    tools: _Tools = None
    simulator: Annotated[
        bool,
        typer.Option(
            "--simulator", help="Run a simulated model server, which needs no key, for models."
        ),
    ] = False
    save_files: Annotated[
        Path | None, typer.Option(help="A folder to save the files of the answer to.")
    ] = None
    verbose: Annotated[
        bool,
        typer.Option("--verbose", help="Show everything that plugins log or write to stderr."),
    ] = False
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one message per line, as JSON.")
    ] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NewOptions:
    """A plugin to begin."""

    name: Annotated[
        Path,
        typer.Argument(help="The folder to make; its name becomes the plugin's name."),
    ]
    kind: Annotated[
        Literal["tool", "model", "agent", "endpoint", "datasource", "trigger"],
        typer.Option(help="What the plugin offers to Dify."),
    ] = "tool"
    author: Annotated[
        str | None,
        typer.Option(
            help="The plugin's author, your user or organisation on GitHub; by default your name in git's settings."
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DebugOptions(CallOptions):
    """A plugin to debug, and the call to make; without a name it is served."""

    name: Annotated[
        str | None,
        typer.Argument(
            help="The tool, model or strategy to call; without it, the plugin is served."
        ),
    ] = None
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The debugger's port; 0 takes a free one.")
    ] = 5678
    dify: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="A running Dify to debug the plugin in, beside one that is installed there; REMOTE_INSTALL_KEY holds the key that Dify shows with this address.",
        ),
    ] = None

    @property
    def for_calls(self) -> list[str]:
        """The flags and arguments that are set and have no meaning in a running Dify."""
        names = ("beside", "tools", "simulator", "save_files", "as_json", "validate")
        flags = {"beside": "--with", "as_json": "--json"}
        unfit = [name for name in (*names, "provider", "model_type") if getattr(self, name)]
        shown = [flags.get(name, f"--{name.replace('_', '-')}") for name in unfit]
        return [*(["NAME"] if self.name else []), *shown]
