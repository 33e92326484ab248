"""What is said when a plugin's files have changed: one sentence."""

import re
from collections.abc import Sequence
from pathlib import PurePath

from dify_plugin_host._errors import PluginHostError, PluginStartError


_SHOWN_FILES = 3
_DEPENDENCIES = frozenset({"pyproject.toml", "uv.lock", "requirements.txt"})
_PLACE = re.compile(r'File "([^"<>]+)", line (\d+)')


def describe_reload(changed: Sequence[str]) -> str:
    """Return what is said of a plugin that was started again."""
    text = f"{_files(changed)} changed: started again"
    if _DEPENDENCIES.isdisjoint(changed):
        return text
    return f"{text}, with what is installed; `uv sync` in its folder installs what it now asks for"


def describe_failure(changed: Sequence[str], error: PluginHostError) -> str:
    """Return what is said of a plugin that cannot be started again."""
    return f"{_files(changed)} changed, but {_reason(error)}; the plugin goes on as it was"


def _files(changed: Sequence[str]) -> str:
    more = len(changed) - _SHOWN_FILES
    shown = ", ".join(changed[:_SHOWN_FILES])
    return f"{shown} and {more} more" if more > 0 else shown


def _reason(error: PluginHostError) -> str:
    """Return why, in words that name the place in the plugin where there is one."""
    if not isinstance(error, PluginStartError):
        return " ".join(str(error).split())
    places = _PLACE.findall(error.stderr_tail)
    last_line = error.stderr_tail.rpartition("\n")[2].strip()
    if not places or not last_line:
        return str(error)
    path, line = places[-1]
    return f"it does not start: {last_line} ({PurePath(path).name}, line {line})"
