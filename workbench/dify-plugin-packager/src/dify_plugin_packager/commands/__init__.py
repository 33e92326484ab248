"""The command `dify-plugin-packager`, and its parts for other commands with the same options."""

from ._dify_plugin_packager import run_dify_plugin_packager
from ._exit_codes import exit_codes
from ._find_plugins import find_folders, find_plugins_folder
from ._options import add_command, new_program
from ._package import PackageOptions, package_plugins
from ._printable import escape_hidden


__all__ = [
    "PackageOptions",
    "add_command",
    "escape_hidden",
    "exit_codes",
    "find_folders",
    "find_plugins_folder",
    "new_program",
    "package_plugins",
    "run_dify_plugin_packager",
]
