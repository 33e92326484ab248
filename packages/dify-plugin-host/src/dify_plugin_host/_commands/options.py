"""What each command is asked for: a field for each flag, with its type, its limits and its help."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

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
        help="Install packages from their requirements.txt where they have one, as a daemon with a mirror does.",
    ),
]
_InstallAsDaemon = Annotated[
    bool,
    typer.Option(
        "--install-as-daemon",
        help="Install packages with what the daemon hands to uv and nothing of how this machine reaches its index.",
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
        help="The folder of the runs; that of GPT5_AGENT_RUN_LOG by default, else runs/.",
    ),
]

# What a strategy may be told besides its question: parameters of the same names.
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
# What else is for an agent alone.
_AGENTS = ("strategy", "tools", "max_iterations", "run_log", "view")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOptions:
    """A question, and what answers it."""

    question: Annotated[
        str | None,
        typer.Argument(
            help="What to ask. With --reload it may be left out: then each line of stdin is asked."
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
        str | None, typer.Option(help="The JSON schema that the answer has to fulfil, as JSON.")
    ] = None
    approval_rules: Annotated[
        str | None,
        typer.Option(
            help="The calls that you are asked about, as JSON; each next line of stdin is an answer."
        ),
    ] = None
    tool_search: Annotated[
        bool | None, typer.Option(help="Whether the model searches where tools are many.")
    ] = None
    fallback_model: Annotated[
        str | None, typer.Option(help="The model that takes over where the first one fails.")
    ] = None
    fail_on_model_failure: Annotated[
        bool | None,
        typer.Option(help="Whether a run fails with its model whatever is known by then."),
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
        """The parameters of the strategy that were given, by their names."""
        given: dict[str, object] = {name: getattr(self, name) for name in _CONTROLS}
        given["allowed_tools"] = "\n".join(self.allowed_tools) if self.allowed_tools else None
        return {name: value for name, value in given.items() if value is not None}

    @property
    def for_agents(self) -> list[str]:
        """The flags that were given and mean nothing without an agent."""
        given = [name for name in _AGENTS if getattr(self, name) not in (None, False)]
        return [f"--{name.replace('_', '-')}" for name in [*given, *self.controls]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsOptions:
    """The runs to list."""

    run_log: _Runs = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewOptions:
    """A run to look at, and what runs it again."""

    run: Annotated[
        str | None,
        typer.Argument(help="The run, or a part of its name that no other has; by default all."),
    ] = None
    run_log: _Runs = None
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 0
    no_open: Annotated[bool, typer.Option("--no-open", help="Open no browser.")] = False
    tools: _Tools = None
    plugins: _Plugins = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOptions:
    """A package, and by which rules it is checked."""

    file: Annotated[Path, typer.Argument(help="The package.")]
    quick: Annotated[
        bool, typer.Option("--quick", help="Check the files only: install, start and call nothing.")
    ] = False
    marketplace: Annotated[
        bool,
        typer.Option(
            "--marketplace",
            help="Check by the rules of Dify's marketplace as well; exit code 3 if it alone refuses.",
        ),
    ] = False
    strict: Annotated[bool, typer.Option("--strict", help="Let advice fail as well.")] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per check.")] = (
        False
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """Plugins, and how they are served."""

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
            help="Behave like the daemon also where this host is kinder, as to a plugin that dies.",
        ),
    ] = False
    verbose: Annotated[
        bool,
        typer.Option("--verbose", help="Show all that plugins log, and what they write to stderr."),
    ] = False
    as_json: _Events = False
