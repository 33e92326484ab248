"""The command `dify-plugin-packager`.

Exit codes: 0 done, 1 failed, 2 bad usage, 130 interrupted.
"""

from ._exit_codes import exit_codes
from ._options import add_command, new_program
from ._package import PackageOptions, package_plugins


_PROGRAM = "dify-plugin-packager"

app = new_program(_PROGRAM, _PROGRAM, "Package Dify plugins.")


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
