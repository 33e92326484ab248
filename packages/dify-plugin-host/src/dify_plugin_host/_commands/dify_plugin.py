"""The command `dify-plugin`: the part of Dify's own command line that the plugin SDK's tests call.

It packages and runs plugins with this host. Exit codes: 0 done, 1 failed, 2 bad usage.
"""

import asyncio
import importlib.metadata
import json
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from dify_plugin_host._errors import PluginHostError
from dify_plugin_packager.commands import escape_hidden, new_program
from dify_plugin_packager.json_access import JsonObject


app = new_program(
    "dify-plugin",
    "dify-plugin-host",
    "Package and run Dify plugins as Dify's own command line does.",
)
plugin = typer.Typer(no_args_is_help=True, help="Package and run plugins.")
app.add_typer(plugin, name="plugin")


@app.command()
def version() -> None:
    """Print the version."""
    typer.echo(importlib.metadata.version("dify-plugin-host"))


@plugin.command()
def package(
    folder: Annotated[Path, typer.Argument(help="The plugin's folder.")],
    *,
    output_path: Annotated[
        Path | None, typer.Option("--output_path", "-o", help="The file to write.")
    ] = None,
) -> None:
    """Write a plugin's package."""
    from dify_plugin_packager.packaging import build_package
    from dify_plugin_packager.rules import find_refusals

    try:
        built = build_package(folder, output_path or Path(), judge=find_refusals)
    except PluginHostError as error:
        sentence = " ".join(str(error).split())
        typer.echo(escape_hidden(f"dify-plugin: error: {sentence}"), err=True)
        raise typer.Exit(1) from None
    typer.echo(f"plugin packaged successfully, output path: {built.path}")


@plugin.command()
def run(
    file: Annotated[Path, typer.Argument(help="The package.")],
    *,
    mode: Annotated[  # noqa: ARG001 - there is one, and callers name it
        Literal["stdio"], typer.Option("--mode", "-m", help="How requests come in.")
    ] = "stdio",
    response_format: Annotated[  # noqa: ARG001 - there is one, and callers name it
        Literal["json"], typer.Option("--response-format", "-r", help="How answers go out.")
    ] = "json",
) -> None:
    """Run a package for one client on stdin and stdout, one JSON object per line."""
    from .runner import run_package

    try:
        run_package(file, _write)
    except PluginHostError as error:
        _write({"invoke_id": "", "type": "error", "response": {"error": str(error)}})
        raise typer.Exit(1) from None
    except asyncio.CancelledError:  # pragma: no cover - the tests see it from outside
        raise typer.Exit from None  # Clients end it by a signal.


def run_dify_plugin() -> None:
    """Run the command."""
    app(prog_name="dify-plugin")


def _write(message: JsonObject) -> None:
    sys.stdout.write(json.dumps(message, ensure_ascii=False) + "\n")
    sys.stdout.flush()
