"""The built-in tools, ready to be offered."""

from pathlib import Path

from . import _builtin_tools
from ._tool import PythonTool
from ._tool_file import read_tools


def builtin_tools() -> tuple[PythonTool, ...]:
    """Return the tools that are at hand without a tools file: a clock, a calculator, one that fails."""
    return read_tools(_builtin_tools, Path(str(_builtin_tools.__file__)))
