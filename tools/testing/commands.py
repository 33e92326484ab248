"""Commands of this environment, run in the tests' own process: to start one costs a second."""

import contextlib
import io
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest


def run_dify_host(folder: Path, state: Path, *arguments: object) -> str:
    """Run `dify-host` in a folder, with `state` as the one for what programs keep; return what it prints, once it has ended well."""
    [command] = entry_points(group="console_scripts", name="dify-host")
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(io.StringIO()) as printed,
    ):
        patch.chdir(folder)
        patch.setenv("XDG_STATE_HOME", str(state))
        patch.setenv("COLUMNS", "200")
        patch.setattr(sys, "argv", ["dify-host", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            command.load()()
    if ended.value.code:
        pytest.fail(printed.getvalue())
    return printed.getvalue()
