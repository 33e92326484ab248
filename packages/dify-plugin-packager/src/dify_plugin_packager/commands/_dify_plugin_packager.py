"""The command `dify-plugin-packager`.

Exit codes: 0 done, 1 failed, 2 bad usage, 130 interrupted.
"""

from typing import Annotated

import typer

from ._exit_codes import exit_codes
from ._options import add_command, version_option
from ._package import PackageOptions, package_plugins


_PROGRAM = "dify-plugin-packager"
_VERSION = version_option(_PROGRAM, _PROGRAM)

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback()
def _describe(*, _version: Annotated[bool, _VERSION] = False) -> None:  # pyright: ignore[reportUnusedFunction] - its docstring is the help, and one command stays a command
    """Package Dify plugins."""


@add_command(app)
def package(options: PackageOptions) -> None:
    """Make packages that Dify can install.

    Each holds a plugin and wheels of the workspace packages that it needs; outside of a workspace, the files that Dify's own packager takes.
    Prints the path, the size in bytes and the unique identifier of each.
    """
    with exit_codes(_PROGRAM):
        package_plugins(options)


def run_dify_plugin_packager() -> None:
    """Run the command."""
    app(prog_name=_PROGRAM)
