"""Python functions that serve as tools."""

from ._tool import PROVIDER, PythonTool, ToolParameter
from ._tool_file import builtin_tools, load_tools


__all__ = [
    "PROVIDER",
    "PythonTool",
    "ToolParameter",
    "builtin_tools",
    "load_tools",
]
