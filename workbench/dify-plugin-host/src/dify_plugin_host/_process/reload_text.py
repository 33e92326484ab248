"""The sentence about a change of a plugin's files."""

import re
from collections.abc import Sequence
from pathlib import Path

from dify_plugin_host._errors import PluginHostError, PluginStartError


_SHOWN_FILES = 3
_DEPENDENCIES = frozenset({"pyproject.toml", "uv.lock", "requirements.txt"})
_PLACE = re.compile(r'File "([^"<>]+)", line (\d+)')


def describe_reload(changed: Sequence[str], setup_command: str) -> str:
    """Return the sentence about a plugin that was started again; the command installs what it asks for."""
    text = f"{_files(changed)} changed: started again"
    if _DEPENDENCIES.isdisjoint(changed):
        return text
    return f"{text} with the packages already installed; `{setup_command}` in its folder installs those it now asks for"


def describe_failure(changed: Sequence[str], error: PluginHostError, folder: Path) -> str:
    """Return the sentence about a plugin that cannot be started again from its folder."""
    return f"{_files(changed)} changed, but {_reason(error, folder)}; the plugin keeps running unchanged"


def _files(changed: Sequence[str]) -> str:
    more = len(changed) - _SHOWN_FILES
    shown = ", ".join(changed[:_SHOWN_FILES])
    return f"{shown} and {more} more" if more > 0 else shown


def _reason(error: PluginHostError, folder: Path) -> str:
    """Return the reason, with the file and line in the plugin if there is one."""
    if not isinstance(error, PluginStartError):
        return " ".join(str(error).removeprefix(f"{folder}: ").split())
    places = [
        f"{path.relative_to(folder)}, line {line}"
        for path, line in (
            (folder / name, line) for name, line in _PLACE.findall(error.stderr_tail)
        )
        if path.is_relative_to(folder) and not path.is_relative_to(folder / ".venv")
    ]
    if not places:
        return str(error)
    return f"it does not start: {error.last_words} ({places[-1]})"
