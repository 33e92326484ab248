"""The command `dify-host`.

Exit codes: 0 answered, 1 the run failed, 2 bad usage, 3 only the marketplace refuses a package, 130 interrupted, 143 terminated. Each command imports what it needs when it
runs, so that none waits for what another needs.
"""

import asyncio
import contextlib
import os
import sys
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dify_plugin_host._errors import (
    DaemonServerError,
    FileInputError,
    PackageError,
    PluginFolderError,
    PluginHostError,
    ToolFileError,
    UnknownNameError,
)
from dify_plugin_host.platform import ServerAddressError


if TYPE_CHECKING:
    from dify_plugin_host.packaging import InstallSettings, Package

_USAGE_ERRORS = (
    DaemonServerError,
    FileInputError,
    PackageError,
    PluginFolderError,
    ServerAddressError,
    ToolFileError,
    UnknownNameError,
)

_REJECTED = 3

_ToolFiles = Annotated[
    list[Path] | None,
    typer.Option(help="A Python file whose functions become tools; can be given several times."),
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

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Run, serve, package and check Dify plugins outside of Dify.",
)


@app.command()
def chat(  # noqa: PLR0913 - every option is one
    question: Annotated[
        str | None,
        typer.Argument(
            help="What to ask. With --reload it may be left out: then each line of stdin is asked."
        ),
    ] = None,
    *,
    strategy: Annotated[
        str | None, typer.Option(help="The agent strategy's name; a wrong one lists all.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="The model's name.")] = None,
    effort: Annotated[
        str | None, typer.Option(help="The model's reasoning effort, such as low.")
    ] = None,
    max_iterations: Annotated[
        int | None, typer.Option(min=1, help="How often a run may call the model (rounds).")
    ] = None,
    allowed_tools: Annotated[
        list[str] | None,
        typer.Option(help="A tool that the run may call; can be given several times."),
    ] = None,
    answer_schema: Annotated[
        str | None, typer.Option(help="The JSON schema that the answer has to fulfil, as JSON.")
    ] = None,
    approval_rules: Annotated[
        str | None,
        typer.Option(
            help="The calls that you are asked about, as JSON; each next line of stdin is an answer."
        ),
    ] = None,
    tool_search: Annotated[
        bool | None, typer.Option(help="Whether the model searches where tools are many.")
    ] = None,
    fallback_model: Annotated[
        str | None, typer.Option(help="The model that takes over where the first one fails.")
    ] = None,
    fail_on_model_failure: Annotated[
        bool | None,
        typer.Option(help="Whether a run fails with its model whatever is known by then."),
    ] = None,
    max_total_tokens: Annotated[
        int | None, typer.Option(min=1, help="How many tokens a run may use.")
    ] = None,
    max_cost: Annotated[
        float | None,
        typer.Option(min=0, help="How much money a run may cost, in the currency of the prices."),
    ] = None,
    max_seconds: Annotated[
        float | None, typer.Option(min=0, help="How many seconds a run may take.")
    ] = None,
    max_tool_calls: Annotated[
        int | None, typer.Option(min=1, help="How many tool calls a run may make.")
    ] = None,
    instruction: Annotated[str | None, typer.Option(help="The agent's instruction.")] = None,
    reload: _Reload = False,
    hide_thoughts: Annotated[
        bool, typer.Option("--hide-thoughts", help="Show no thoughts.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON event per line.")] = False,
    tools: _ToolFiles = None,
    file: Annotated[
        list[Path] | None,
        typer.Option(help="A file that goes with the question; can be given several times."),
    ] = None,
    save_files: Annotated[
        Path | None, typer.Option(help="A folder to save the files of the answer to.")
    ] = None,
    run_log: Annotated[
        Path | None, typer.Option(help="A folder to write each run to, as JSON lines.")
    ] = None,
    view: Annotated[
        bool,
        typer.Option(
            "--view", help="Show the run on a page as it happens, and log it; the page stays."
        ),
    ] = False,
    direct: Annotated[
        bool,
        typer.Option("--direct", help="Ask the model itself, without an agent and its tools."),
    ] = False,
    plugins: Annotated[
        Path | None, typer.Option(help="The folder with the plugins; plugins/ by default.")
    ] = None,
    packages: Annotated[
        Path | None, typer.Option(help="A folder of packages to run instead of plugin folders.")
    ] = None,
    requirements: _Requirements = False,
    install_as_daemon: _InstallAsDaemon = False,
) -> None:
    """Ask a question and watch the agent answer it.

    OpenAI, or the compatible server at OPENAI_BASE_URL, answers when OPENAI_API_KEY or OPENAI_BASE_URL is set; otherwise a
    built-in simulator does.
    """
    from ._chat import ChatOptions, run_chat
    from ._runs import find_folder, shown_live

    if plugins and packages:
        raise typer.BadParameter(
            "expected either this or --plugins, not both", param_hint="--packages"
        )
    controls: dict[str, object] = {
        "allowed_tools": "\n".join(allowed_tools) if allowed_tools else None,
        "answer_schema": answer_schema,
        "approval_rules": approval_rules,
        "tool_search": tool_search,
        "fallback_model": fallback_model,
        "fail_on_model_failure": fail_on_model_failure,
        "max_total_tokens": max_total_tokens,
        "max_cost": max_cost,
        "max_seconds": max_seconds,
        "max_tool_calls": max_tool_calls,
    }
    for_agents = {"--strategy": strategy, "--tools": tools, "--max-iterations": max_iterations}
    for_agents |= {"--run-log": run_log, "--view": view or None}
    for_agents |= {f"--{name.replace('_', '-')}": value for name, value in controls.items()}
    if direct and (unfit := [name for name, value in for_agents.items() if value is not None]):
        raise typer.BadParameter("expected either this or --direct, not both", param_hint=unfit[0])
    options = ChatOptions(
        question=_validated_question(question, reload=reload),
        plugins=plugins,
        packages=packages,
        installing=_install_settings(requirements=requirements, as_daemon=install_as_daemon),
        strategy=strategy,
        model=model,
        effort=effort,
        maximum_iterations=max_iterations,
        controls=controls,
        instruction=instruction,
        tools=tuple(tools or ()),
        files=tuple(file or ()),
        save_files=save_files,
        run_log=find_folder(run_log, os.environ) if view else run_log,
        direct=direct,
        hide_thoughts=hide_thoughts,
        reload=reload,
        as_json=json,
    )
    out = sys.stdout
    # What a tool prints must not end up between the events.
    page = shown_live(options) if view else contextlib.nullcontext()
    with _exit_codes(), contextlib.redirect_stdout(sys.stderr), page:
        run_chat(options, out=out)


_Runs = Annotated[
    Path | None,
    typer.Option(
        "--run-log",
        help="The folder of the runs; that of GPT5_AGENT_RUN_LOG by default, else runs/.",
    ),
]


@app.command()
def runs(run_log: _Runs = None) -> None:
    """List the runs that were logged, the newest first."""
    from ._runs import find_folder, show_runs

    with _exit_codes():
        show_runs(find_folder(run_log, os.environ), sys.stdout)


@app.command()
def view(  # noqa: PLR0913 - every option is one
    run: Annotated[
        str | None,
        typer.Argument(help="The run, or a part of its name that no other has; by default all."),
    ] = None,
    *,
    run_log: _Runs = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 0,
    no_open: Annotated[bool, typer.Option("--no-open", help="Open no browser.")] = False,
    tools: _ToolFiles = None,
    plugins: Annotated[
        Path | None, typer.Option(help="The folder with the plugins; plugins/ by default.")
    ] = None,
) -> None:
    """Show logged runs on a page of this machine until interrupted.

    Prints its address, which has a key. A run can be run again from there, with the plugins and tools of here, by whoever answers a chat: the
    server that OPENAI_API_KEY or OPENAI_BASE_URL names, else the simulator.
    """
    from ._chat import ChatOptions
    from ._runs import find_folder, find_name, view_runs

    with _exit_codes():
        folder = find_folder(run_log, os.environ)
        options = ChatOptions(question=None, plugins=plugins, tools=tuple(tools or ()))
        view_runs(folder, find_name(folder, run), options=options, port=port, opens=not no_open)


@app.command()
def package(  # noqa: PLR0913 - every option is one
    plugins: Annotated[
        list[str] | None,
        typer.Argument(
            help="Plugin folders, or names of folders in plugins/; by default all of plugins/. With --offline packages as well."
        ),
    ] = None,
    *,
    output: Annotated[Path, typer.Option(help="Where to write the packages.")] = Path("dist"),
    variant: Annotated[
        str | None,
        typer.Option(
            help="Make a variant, as [tool.dify-host.variants] in a plugin's pyproject.toml describes it; by default of all plugins that have it."
        ),
    ] = None,
    offline: Annotated[
        bool,
        typer.Option("--offline", help="Put every wheel inside, so that no index is needed."),
    ] = False,
    platform: Annotated[
        list[str] | None,
        typer.Option(
            help="With --offline: linux_x86_64 or linux_aarch64, or both by giving it twice; this machine's by default."
        ),
    ] = None,
    max_size: Annotated[
        int,
        typer.Option(
            min=1, help="With --offline: how many MB (1024 x 1024 bytes) a package may hold."
        ),
    ] = 50,
) -> None:
    """Make packages that Dify can install.

    Each holds a plugin and wheels of the workspace packages that it needs; outside of a workspace, what Dify's own packager takes.
    Prints the path, the size in bytes and the unique identifier of each.
    """
    from dify_plugin_host.checks import find_refusals
    from dify_plugin_host.packaging import build_package, with_variant

    from ._find_plugins import find_folders
    from ._offline import package_offline, read_platforms

    if offline:
        with _exit_codes():
            chosen = read_platforms(platform or ())
            package_offline(
                plugins or (), output, platforms=chosen, max_size_mb=max_size, variant=variant
            )
        return
    if platform:
        raise typer.BadParameter("expected --offline with it", param_hint="--platform")
    with _exit_codes():
        folders = find_folders(plugins or (), start=Path.cwd())
        if variant is not None and not plugins:
            folders = with_variant(folders, variant)
        for folder in folders:
            built = build_package(folder, output, variant=variant, judge=find_refusals)
            typer.echo(f"{built.path}  {built.size_bytes}  {built.identifier}")
            if built.left_out:
                typer.echo(f"{folder.name}: {_left_out(built)}", err=True)
            if built.unsaid:
                typer.echo(f"{folder.name}: {_unsaid(built)}", err=True)


@app.command()
def check(
    file: Annotated[Path, typer.Argument(help="The package.")],
    *,
    quick: Annotated[
        bool, typer.Option("--quick", help="Check the files only: install, start and call nothing.")
    ] = False,
    marketplace: Annotated[
        bool,
        typer.Option(
            "--marketplace",
            help="Check by the rules of Dify's marketplace as well; exit code 3 if it alone refuses.",
        ),
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Let advice fail as well.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object per check.")] = False,
) -> None:
    """Check a package as Dify would.

    Reads it by the rules of Dify, its daemon and the plugin SDK, installs it in an empty folder, once from uv.lock and once from
    requirements.txt, starts it and makes a call. Fails if the platform refuses the package or if it would break when used.
    """
    from dify_plugin_host.checks import check_package

    from ._check_table import show_results

    with _exit_codes():
        start = Path.cwd()
        results = check_package(file, quick=quick, start=start, for_marketplace=marketplace)
        counts = show_results(results, sys.stdout, as_json=json)
        if counts["refused"] or counts["broken"] or (strict and counts["advice"]):
            raise typer.Exit(1)
        if counts["rejected"]:
            raise typer.Exit(_REJECTED)


@app.command()
def serve(  # noqa: PLR0913 - every option is one
    sources: Annotated[
        list[Path] | None,
        typer.Argument(help="Plugin folders or packages; by default the folders in plugins/."),
    ] = None,
    *,
    plugins: Annotated[
        Path | None, typer.Option(help="A folder whose plugin folders are served as well.")
    ] = None,
    packages: Annotated[
        Path | None, typer.Option(help="A folder whose packages are served as well.")
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")
    ] = 5002,
    api_key: Annotated[
        str | None,
        typer.Option(
            help="The key that callers must send; DIFY_HOST_API_KEY or a random one by default."
        ),
    ] = None,
    requirements: _Requirements = False,
    install_as_daemon: _InstallAsDaemon = False,
    tools: _ToolFiles = None,
    simulator: Annotated[
        bool,
        typer.Option(
            "--simulator",
            help="Run a simulated model server, which needs no key, and show its credentials.",
        ),
    ] = False,
    reload: _Reload = False,
    as_daemon: Annotated[
        bool,
        typer.Option(
            "--as-daemon",
            help="Behave like the daemon also where this host is kinder, as to a plugin that dies.",
        ),
    ] = False,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", help="Show all that plugins log, and what they write to stderr."),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON event per line.")] = False,
) -> None:
    """Serve plugins by the daemon's HTTP API.

    Listens on 127.0.0.1 until interrupted, and offers the plugin daemon's dispatch API.
    """
    from ._serve import ServeOptions, run_serve

    options = ServeOptions(
        sources=tuple(sources or ()),
        plugins=plugins,
        packages=packages,
        installing=_install_settings(
            requirements=requirements, as_daemon=install_as_daemon or as_daemon
        ),
        port=port,
        api_key=api_key,
        tools=tuple(tools or ()),
        simulator=simulator,
        reload=reload,
        as_daemon=as_daemon,
        verbose=verbose,
        as_json=json,
    )
    out = sys.stdout
    with _exit_codes(), contextlib.redirect_stdout(sys.stderr):
        run_serve(options, out=out)


def _left_out(built: "Package") -> str:
    """Say what stayed behind, and whether Dify's own packager would have taken it."""
    differs = "; the checksum is not that of Dify's own packager" if built.is_as_is else ""
    return f"left out: {', '.join(built.left_out)}{differs}"


def _unsaid(built: "Package") -> str:
    """Say what the manifest lacks, and where it would come from."""
    where = "[tool.dify-plugins] of the workspace's pyproject.toml"
    return f"without {' and '.join(built.unsaid)}, which a marketplace asks for: see {where}"


def run_dify_host() -> None:
    """Run the command."""
    app(prog_name="dify-host")


def _install_settings(*, requirements: bool, as_daemon: bool) -> "InstallSettings":
    from dify_plugin_host.packaging import InstallSettings

    route = "requirements.txt" if requirements else "uv.lock"
    return InstallSettings.from_environment(os.environ, route=route, is_bare=as_daemon)


def _validated_question(question: str | None, *, reload: bool) -> str | None:
    if question is None and reload:
        return None
    if question is None:
        raise typer.BadParameter("Missing argument", param_hint="QUESTION")
    try:
        question.encode("utf-8")
    except UnicodeEncodeError:
        raise typer.BadParameter("expected UTF-8 text", param_hint="QUESTION") from None
    if not question.strip():
        raise typer.BadParameter("expected some text", param_hint="QUESTION")
    return question


@contextlib.contextmanager
def _exit_codes() -> Generator[None]:
    """Turn what goes wrong into one line and an exit code."""
    out = sys.stdout
    try:
        yield
    except OSError as error:  # pragma: no cover - the tests see it from outside
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())  # Nothing more to flush into.
        if not isinstance(error, BrokenPipeError):
            typer.echo(f"dify-host: error: {error}", err=True)
        raise typer.Exit(1) from None
    except PluginHostError as error:
        typer.echo(f"dify-host: error: {' '.join(str(error).split())}", err=True)
        raise typer.Exit(2 if isinstance(error, _USAGE_ERRORS) else 1) from None
    except KeyboardInterrupt:  # pragma: no cover - the tests see it from outside
        raise typer.Exit(130) from None
    except asyncio.CancelledError:  # pragma: no cover - the tests see it from outside
        raise typer.Exit(143) from None
