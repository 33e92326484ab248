"""The command `dify-host`.

Exit codes: 0 answered, 1 the run failed, 2 bad usage, 3 only the marketplace refuses a package, 130 interrupted, 143
terminated. Each command does its imports when it runs, so that none waits for those of another.
"""

import contextlib
import itertools
import os
import sys
from dataclasses import replace
from pathlib import Path

import typer

from dify_plugin_host._errors import (
    CredentialsMissingError,
    DaemonServerError,
    DebuggerMissingError,
    FileInputError,
    ParameterError,
    TargetError,
    ToolFileError,
    UnknownNameError,
)
from dify_plugin_host._platform.model_server import ServerAddressError
from dify_plugin_packager.commands import (
    PackageOptions,
    add_command,
    exit_codes,
    new_program,
    package_plugins,
)

from .options import (
    CallOptions,
    ChatOptions,
    CheckOptions,
    DebugOptions,
    NewOptions,
    RunsOptions,
    ServeOptions,
    ViewOptions,
)


_PROGRAM = "dify-host"
_USAGE_ERRORS = (
    CredentialsMissingError,
    DaemonServerError,
    DebuggerMissingError,
    FileInputError,
    ParameterError,
    ServerAddressError,
    TargetError,
    ToolFileError,
    UnknownNameError,
)
_REJECTED = 3

app = new_program(
    _PROGRAM, "dify-plugin-host", "Run, serve, package and check Dify plugins outside of Dify."
)


@add_command(app)
def chat(options: ChatOptions) -> None:
    """Ask a question and watch the agent answer it.

    OpenAI, or the compatible server at OPENAI_BASE_URL, answers when OPENAI_API_KEY or OPENAI_BASE_URL is set; otherwise a
    built-in simulator does.
    """
    from .chat import run_chat
    from .runs import find_folder, shown_live

    if options.plugins and options.packages:
        raise typer.BadParameter(
            "expected either this or --plugins, not both", param_hint="--packages"
        )
    if options.direct and (unfit := options.for_agents):
        raise typer.BadParameter("expected either this or --direct, not both", param_hint=unfit[0])
    _validate_question(options.question, reload=options.reload)
    if options.view:
        options = replace(options, run_log=find_folder(options.run_log, os.environ))
    out = sys.stdout
    # The output of a tool's print() must not end up between the events.
    page = shown_live(options) if options.view else contextlib.nullcontext()
    with _exit_codes(), contextlib.redirect_stdout(sys.stderr), page:
        run_chat(options, out=out)


@add_command(app)
def runs(options: RunsOptions) -> None:
    """List the runs that were logged, the newest first."""
    from .runs import find_folder, show_runs

    with _exit_codes():
        show_runs(find_folder(options.run_log, os.environ), sys.stdout)


@add_command(app)
def view(options: ViewOptions) -> None:
    """Show logged runs on a local page until interrupted.

    Prints the page's address, which contains a key. From the page a run can be run again, with the plugins and tools of this folder. The model
    is the one of a chat: the server that OPENAI_API_KEY or OPENAI_BASE_URL names, else the simulator.
    """
    from .runs import find_folder, find_name, view_runs

    with _exit_codes():
        folder = find_folder(options.run_log, os.environ)
        chat = ChatOptions(plugins=options.plugins, tools=options.tools)
        name = find_name(folder, options.run)
        view_runs(folder, name, options=chat, port=options.port, opens=not options.no_open)


@add_command(app)
def package(options: PackageOptions) -> None:
    """Make packages that Dify can install.

    Each holds a plugin and wheels of the workspace packages that it needs; outside of a workspace, the files that Dify's own packager takes.
    Prints the path, the size in bytes and the unique identifier of each.
    """
    from dify_plugin_packager.rules import find_refusals

    with _exit_codes():
        package_plugins(options, find_refusals)


@add_command(app)
def check(options: CheckOptions) -> None:
    """Check a package as Dify would.

    Reads it by the rules of Dify, its daemon and the plugin SDK, installs it in an empty folder, once from uv.lock and once from
    requirements.txt, starts it and makes a call. Fails if the platform refuses the package or if it would break when used.
    """
    from dify_plugin_host._checks.check import check_package
    from dify_plugin_host._checks.report import build_report
    from dify_plugin_host._checks.soak import SoakSettings
    from dify_plugin_host._checks.targets import parse_targets

    from .check_table import show_results
    from .report_page import is_report_name, write_report

    for report in options.report or ():
        if not is_report_name(report):
            expected = f"expected a file that ends with .json or .html, got {str(report)!r}"
            raise typer.BadParameter(expected, param_hint="--report")
    file = options.file or _last_package()
    if options.soak and options.quick:
        raise typer.BadParameter(
            "expected either this or --quick, which starts nothing", param_hint="--soak"
        )
    soaking = SoakSettings(seconds=options.soak_seconds, calls=options.soak_calls)
    with _exit_codes():
        checking = check_package(
            file,
            quick=options.quick,
            start=Path.cwd(),
            against=parse_targets(options.against or ()),
            for_marketplace=options.marketplace,
            soaking=soaking if options.soak else None,
        )
        shown, kept = itertools.tee(checking)
        counts = show_results(shown, sys.stdout, as_json=options.as_json)
        if options.report:
            made = build_report(file, [*kept])
            for report in options.report:
                write_report(made, report)
        if counts["refused"] or counts["broken"] or (options.strict and counts["advice"]):
            raise typer.Exit(1)
        if counts["rejected"]:
            raise typer.Exit(_REJECTED)


@add_command(app)
def serve(options: ServeOptions) -> None:
    """Serve plugins over the daemon's HTTP API.

    Listens on 127.0.0.1 until interrupted, and offers the plugin daemon's dispatch API.
    """
    from .serve import run_serve

    out = sys.stdout
    with _exit_codes(), contextlib.redirect_stdout(sys.stderr):
        run_serve(options, out=out)


@add_command(app)
def call(options: CallOptions) -> None:
    """Call a tool, a model or a strategy of a plugin once, or check its credentials.

    Credentials come from environment variables, such as DEMO_API_KEY for the credential api_key of the provider demo. For models those of
    OPENAI_API_KEY and OPENAI_BASE_URL are sent as well, where the provider's form has them.
    """
    from .call import run_call

    out = sys.stdout
    with _exit_codes(), contextlib.redirect_stdout(sys.stderr):
        run_call(options, out=out)


@add_command(app)
def new(options: NewOptions) -> None:
    """Create a plugin that works.

    Writes a folder with the plugin, its tests, its documents and a workflow for GitHub, and prints what to do next.
    """
    from .new import run_new

    with _exit_codes():
        run_new(options, sys.stdout)


@add_command(app)
def debug(options: DebugOptions) -> None:
    """Start a plugin that waits for a debugger, then call or serve it.

    The debugger's port, on 127.0.0.1 only, is printed; docs/dify-plugin-host/debug.md shows how editors attach to it.
    With a name, the call that `dify-host call` makes is made then, in a terminal once more for each Enter; without one,
    the plugin is served as by `dify-host serve`, on a free port. With --dify it is called from a running Dify, and
    waits for no debugger.
    """
    from .debug import run_debug

    if options.dify and (unfit := options.for_calls):
        raise typer.BadParameter("expected either this or --dify, not both", param_hint=unfit[0])
    out = sys.stdout
    with _exit_codes(), contextlib.redirect_stdout(sys.stderr):
        run_debug(options, out=out)


def run_dify_host() -> None:
    """Run the command."""
    app(prog_name=_PROGRAM)


def _last_package() -> Path:
    """Return the package in dist/ that was written last.

    Raises:
        BadParameter: If there is none.
    """
    found = sorted(Path("dist").glob("*.difypkg"), key=lambda path: path.stat().st_mtime)
    if not found:
        raise typer.BadParameter("expected a package; there is none in dist/", param_hint="FILE")
    return found[-1]


def _exit_codes() -> contextlib.AbstractContextManager[None]:
    return exit_codes(_PROGRAM, *_USAGE_ERRORS)


def _validate_question(question: str | None, *, reload: bool) -> None:
    """Validate a question, which is optional only with `--reload`.

    Raises:
        BadParameter: If it is missing, blank or not UTF-8.
    """
    if question is None:
        if not reload:
            raise typer.BadParameter("Missing argument", param_hint="QUESTION")
        return
    try:
        question.encode("utf-8")
    except UnicodeEncodeError:
        raise typer.BadParameter("expected UTF-8 text", param_hint="QUESTION") from None
    if not question.strip():
        raise typer.BadParameter("expected some text", param_hint="QUESTION")
