"""The error message and the exit code of a command that fails."""

import asyncio
import contextlib
import os
import sys
from collections.abc import Generator

import typer

from dify_plugin_packager._errors import DifyPluginError, PackageError, PluginFolderError

from ._printable import escape_hidden


@contextlib.contextmanager
def exit_codes(program: str, *usage_errors: type[DifyPluginError]) -> Generator[None]:
    """Turn an error into one line and an exit code: 1 failed, 2 bad usage, 130 interrupted, 143 terminated.

    Args:
        program: The name at the beginning of the line.
        usage_errors: Errors that mean bad usage, besides those of folders and packages.
    """
    out = sys.stdout
    try:
        yield
    except OSError as error:  # pragma: no cover - the host's tests see it from outside
        # At exit Python flushes stdout once more, which would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
        if not isinstance(error, BrokenPipeError):
            typer.echo(escape_hidden(f"{program}: error: {error}"), err=True)
        raise typer.Exit(1) from None
    except DifyPluginError as error:
        sentence = " ".join(str(error).split())
        typer.echo(escape_hidden(f"{program}: error: {sentence}"), err=True)
        is_usage = isinstance(error, (PackageError, PluginFolderError, *usage_errors))
        raise typer.Exit(2 if is_usage else 1) from None
    except KeyboardInterrupt:  # pragma: no cover - the host's tests see it from outside
        raise typer.Exit(130) from None
    except asyncio.CancelledError:  # pragma: no cover - the host's tests see it from outside
        raise typer.Exit(143) from None
