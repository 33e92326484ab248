"""The shared parts of all servers' commands: flags, environment variables, serving."""

import importlib.metadata
import inspect
import os
import re
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import cache, wraps
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from ._command.listening import listen, refuse
from .settings import ServerSettings


if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from .executor import Executor


__all__ = ["listen", "read_settings", "refuse", "serve", "takes_settings", "version_option"]

# Our wording for pydantic's errors about numbers; the settings word all others themselves.
_EXPECTED: Final = {
    "int_parsing": "expected a whole number",
    "int_parsing_size": "expected a whole number with fewer digits",
    "int_from_float": "expected a whole number",
    "float_parsing": "expected a number",
    "finite_number": "expected a number",
    "bool_parsing": "expected true or false",
    "greater_than": "expected more than {gt}",
    "greater_than_equal": "expected at least {ge}",
    "less_than_equal": "expected at most {le}",
    "literal_error": "expected {expected}",
    "missing": "expected it to be set",
}
_ATTRIBUTE: Final = re.compile(r"^ {4}(\w+): (.+(?:\n {8}\S.*)*)", re.MULTILINE)


def takes_settings[Settings: ServerSettings](
    kind: type[Settings], *, renamed: Mapping[str, str] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorate a typer function that takes `settings`, so that the command has a flag for each setting instead.

    A flag is `--name-with-hyphens`; a setting without a flag is read from the environment variable `<PREFIX>_NAME`, where the prefix is the
    `env_prefix` of the settings' `model_config`. Help texts come from the class's docstring. A wrong setting ends the command with one
    sentence and exit code 2.

    Args:
        kind: The class of the settings.
        renamed: Earlier names of settings, in capitals and without the prefix, and their current names. An environment that still sets
            an old name is refused, because the setting would otherwise be ignored silently.

    Example:
        >>> app = typer.Typer()
        >>> @app.command()
        ... @takes_settings(ServerSettings)
        ... def show(settings: ServerSettings) -> None:
        ...     print(settings.port)
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(function)
        own = [one for name, one in signature.parameters.items() if name != "settings"]
        flags = [_build_flag(kind, name, field) for name, field in kind.model_fields.items()]

        @wraps(function)
        def command(**options: Any) -> None:
            given = {name: options.pop(name) for name in kind.model_fields}
            function(settings=read_settings(kind, given, renamed=renamed), **options)

        # typer reads the flags from these two.
        command.__signature__ = signature.replace(parameters=[*own, *flags])  # pyright: ignore[reportAttributeAccessIssue] - where inspect looks
        command.__annotations__ = {one.name: one.annotation for one in (*own, *flags)}
        return command

    return decorate


def version_option(program: str, distribution: str) -> Any:
    """Return the option `--version` of a command, which prints a distribution's version and ends the command.

    Example:
        >>> app = typer.Typer()
        >>> @app.command()
        ... def show(
        ...     *, _version: Annotated[bool, version_option("show", "gpt5-agent-server")] = False
        ... ) -> None:
        ...     print("shown")
    """

    def show(is_asked: bool) -> None:  # noqa: FBT001 - so a callback gets its value
        if is_asked:
            typer.echo(f"{program} {importlib.metadata.version(distribution)}")
            raise typer.Exit

    return typer.Option(
        "--version", callback=show, is_eager=True, help="Show the version and exit."
    )


def read_settings[Settings: ServerSettings](
    kind: type[Settings], given: Mapping[str, Any], *, renamed: Mapping[str, str] | None = None
) -> Settings:
    """Return the settings from flags and environment; end the command if one is wrong.

    Args:
        kind: The settings.
        given: The values of the flags, by the names of the fields; None for a flag that was not given.
        renamed: As for `takes_settings`.

    Raises:
        Exit: If a setting is wrong, after a sentence for each.
    """
    prefix = kind.model_config.get("env_prefix", "")
    flags = {name: value for name, value in given.items() if value is not None}
    old = [name for name in renamed or {} if prefix + name in os.environ]
    if renamed and old:
        refuse(*(f"{prefix}{name}: is now called {prefix}{renamed[name]}" for name in old))
    try:
        return kind.model_validate(flags)
    except ValidationError as error:
        problems: list[str] = []
        for one in error.errors(include_url=False, include_input=False):
            field = str(one["loc"][0])
            where = _flag(field) if field in flags else f"{prefix}{field.upper()}"
            words = _EXPECTED.get(one["type"])
            own = one["msg"].removeprefix("Value error, ")
            problems.append(f"{where}: {words.format(**one.get('ctx', {})) if words else own}")
        refuse(*problems)


def serve(
    executor: "Executor",
    settings: ServerSettings,
    *,
    routes: "Sequence[BaseRoute]" = (),
    listener: socket.socket | None = None,
) -> None:
    """Serve an agent system until the process is asked to stop, and print the address that it listens on.

    Args:
        executor: The agent system.
        settings: Its address, keys and limits.
        routes: Additional routes of the executor.
        listener: What listens at the address already, from `listen`; otherwise it does so here, before the database is opened: a server that
            cannot listen must not claim runs.

    Raises:
        Exit: If the address or the database cannot be used, or the server's name is taken: code 2, after one sentence.
    """
    with ExitStack() as stack:
        listening = stack.enter_context(listen(settings)) if listener is None else listener
        # Who listens need not wait for this import, which takes half a second.
        from ._command import serving  # noqa: PLC0415

        serving.serve(executor, settings, routes=routes, listener=listening)


def _build_flag(kind: type[ServerSettings], name: str, field: FieldInfo) -> inspect.Parameter:
    meaning = _describe(kind).get(name, "")
    variable = f"{kind.model_config.get('env_prefix', '')}{name.upper()}"
    default = f" [{field.default}]" if isinstance(field.default, int | float | str) else ""
    help_ = f"{meaning} ({variable}){default}"
    is_switch = field.annotation is bool
    flag = f"{_flag(name)}/--no-{name.replace('_', '-')}" if is_switch else _flag(name)
    option = typer.Option(flag, help=help_, show_default=False)
    values: Any = bool | None if is_switch else str | None
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[values, option]
    )


@cache
def _describe(kind: type[ServerSettings]) -> Mapping[str, str]:
    """Return the description of each setting, from the docstrings of a class and its bases."""
    meanings: dict[str, str] = {}
    # Bases first, so that a subclass can describe a setting anew.
    for one in reversed(kind.__mro__):
        text = inspect.cleandoc(one.__doc__ or "").partition("Attributes:\n")[2]
        found = {match[1]: " ".join(match[2].split()) for match in _ATTRIBUTE.finditer(text)}
        meanings |= found if issubclass(one, ServerSettings) else {}
    return meanings


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
