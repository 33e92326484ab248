"""Commands whose options are the fields of a dataclass: each flag is written once, with its type, its limits and, in the docstring, its help."""

import copy
import dataclasses
import importlib.metadata
import inspect
import re
from collections.abc import Callable
from typing import Annotated, Any, cast, get_args, get_origin

import typer


_ENTRY = re.compile(r"^    (\w+): (.+(?:\n {5,}.+)*)", re.MULTILINE)


def new_program(name: str, distribution: str, text: str) -> typer.Typer:
    """Return a program without commands; its help is a text, and its option `--version` prints a distribution's version."""

    def show(is_asked: bool) -> None:  # noqa: FBT001 - so a callback gets its value
        if is_asked:
            typer.echo(f"{name} {importlib.metadata.version(distribution)}")
            raise typer.Exit

    version = typer.Option(
        "--version", callback=show, is_eager=True, help="Show the version and exit."
    )
    app = typer.Typer(
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        help=text,
    )

    # With it a program of one command stays one of commands.
    @app.callback()
    def take_version(*, _version: Annotated[bool, version] = False) -> None:  # pyright: ignore[reportUnusedFunction] - typer calls it
        pass

    return app


def add_command[T](app: typer.Typer) -> Callable[[Callable[[T], None]], Callable[[T], None]]:
    """Return a decorator that makes a function a command of `app`.

    The function takes one argument, a dataclass, whose fields become the flags. Their types, annotated with `typer.Option`
    or `typer.Argument` where a type says too little, tell typer all that it needs; the help of each is its entry under
    `Attributes:`. The function's docstring is the command's help.
    """

    def add(run: Callable[[T], None]) -> Callable[[T], None]:
        (options,) = (kind for name, kind in run.__annotations__.items() if name != "return")
        app.command(run.__name__)(_with_flags(run, cast("type[Any]", options)))
        return run

    return add


def _with_flags(run: Callable[[Any], None], options: type[Any]) -> Callable[..., None]:
    """Return a function with a parameter for each field of `options`, which hands `run` such an object."""

    def command(**values: Any) -> None:
        run(options(**values))

    command.__doc__ = run.__doc__
    documented = (inspect.cleandoc(one.__doc__ or "") for one in reversed(options.__mro__))
    helps = dict(entry for text in documented for entry in _ENTRY.findall(text))
    parameters = [_parameter(one, helps.get(one.name, "")) for one in dataclasses.fields(options)]
    # typer reads both: the plain types from the annotations, all else from the signature.
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    setattr(command, "__signature__", inspect.Signature(parameters))  # noqa: B010 - functions declare no such attribute
    return command


def _parameter(field: dataclasses.Field[Any], text: str) -> inspect.Parameter:
    kind, given = (
        get_args(field.type) if get_origin(field.type) is Annotated else (field.type, None)
    )
    known = copy.copy(given or typer.Option())
    known.help = known.help or " ".join(text.split())
    if (
        kind is bool and known.default is ...
    ):  # without a flag's name typer would add one for its opposite
        known.param_decls = (f"--{field.name.replace('_', '-')}",)
    is_required = field.default is dataclasses.MISSING
    return inspect.Parameter(
        field.name,
        inspect.Parameter.KEYWORD_ONLY,
        annotation=Annotated[(kind, known)],
        default=inspect.Parameter.empty if is_required else field.default,
    )
