"""The command `new`: a plugin to begin with."""

import os
import re
import unicodedata
from pathlib import Path
from typing import TextIO

import typer

from dify_plugin_host._scaffold.plugin import write_plugin
from dify_plugin_packager.packaging import run_program
from dify_plugin_packager.rules import (
    find_author_problem,
    find_marketplace_author_problem,
    find_name_problem,
)

from .options import NewOptions
from .screen import shell_path


_ANYBODY = "my-name"
_LONGEST_AUTHOR = 64


def run_new(options: NewOptions, out: TextIO) -> None:
    """Write a plugin, and print what to do with it.

    Raises:
        BadParameter: If Dify would not take the name or the author, or the folder holds something already.
    """
    folder = options.name.absolute()
    if problem := find_name_problem(folder.name):
        raise typer.BadParameter(problem, param_hint="NAME")
    if folder.exists() and (
        not folder.is_dir() or any(one.name != ".git" for one in folder.iterdir())
    ):
        expected = "expected a folder that is empty or not there"
        raise typer.BadParameter(f"{expected}, got {options.name}", param_hint="NAME")
    author = options.author or _author_in_git()
    if problem := _find_author_problem(author):
        raise typer.BadParameter(problem, param_hint="--author")
    files = write_plugin(folder, kind=options.kind, name=folder.name, author=author)
    out.write(
        f"{options.name}: {len(files)} files, by {author}. CONTRIBUTING.md lists what to change. Next:\n"
        f"  cd {shell_path(options.name)}\n"
        "  uv sync                          installs the plugin SDK\n"
        "  pytest                           starts the plugin and calls it\n"
        "  dify-host package                makes the package\n"
        "  dify-host check                  checks it as Dify would\n"
    )


def _find_author_problem(author: str) -> str | None:
    return find_author_problem(author) or find_marketplace_author_problem(author)


def _author_in_git() -> str:
    """Return the user's name in git's settings in the form of an author; `my-name` if there is none."""
    try:
        done = run_program(
            "git", "config", "--get", "user.name", cwd=Path.cwd(), environment=os.environ
        )
    except OSError:
        return _ANYBODY
    plain = unicodedata.normalize("NFKD", done.stdout).encode("ascii", "ignore").decode()
    author = "-".join(re.findall(r"[a-z0-9_]+", plain.lower()))[:_LONGEST_AUTHOR]
    return _ANYBODY if _find_author_problem(author) else author
