"""Reader of a Python file whose functions become tools: names, hints and docstrings hold all that a declaration needs."""

import importlib.util
import inspect
import re
import sys
import types
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic import TypeAdapter

from dify_plugin_host._errors import ToolFileError
from dify_plugin_packager.json_access import JsonObject

from . import builtin
from .docstring import parse_docstring
from .tool import ParameterType, PythonTool, ToolParameter


_EXPECTED_HINT = (
    "str, int, float, bool, bytes, Literal of strings, list, dict, or one of these | None"
)
_PLAIN_TYPES: dict[Any, ParameterType] = {
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    bytes: "file",
    list[bytes]: "files",
}
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")  # the rule of the Responses API


def load_tools(path: Path | str) -> tuple[PythonTool, ...]:
    """Turn every public function that a Python file defines into a tool.

    The function's name becomes the tool's, its docstring the description; the docstring's Google-style `Args:` describe the
    parameters. Hints may be `str`, `int`, `float`, `bool`, a `Literal` of strings, `list`, `dict`, `bytes` for a file, `list[bytes]` for
    several, or one of these `| None`. A parameter with a default need not be given.

    Raises:
        ToolFileError: If the file cannot be imported, or a function in it cannot become a tool.
    """
    file = Path(path)
    return read_tools(_import(file), file)


def builtin_tools() -> tuple[PythonTool, ...]:
    """Return the tools that need no tools file: a clock, a calculator, and one that fails."""
    return read_tools(builtin, Path(str(builtin.__file__)))


def read_tools(module: types.ModuleType, path: Path) -> tuple[PythonTool, ...]:
    """Turn every public function that a module defines into a tool; `path` is named in errors.

    Raises:
        ToolFileError: If there is none, or one cannot become a tool.
    """
    tools = tuple(
        _Function(function, path).to_tool()
        for name, function in vars(module).items()
        if inspect.isfunction(function)
        and function.__module__ == module.__name__
        and not name.startswith("_")
    )
    if not tools:
        raise ToolFileError(path, "expected at least one public function")
    return tools


def to_tool(function: Callable[..., Any]) -> PythonTool:
    """Turn a function into a tool; one without a docstring is described by its name.

    Raises:
        ToolFileError: If it cannot become one.
    """
    return _Function(function, Path(inspect.getfile(function)), doc=function.__name__).to_tool()


def _import(path: Path) -> types.ModuleType:
    if not path.is_file():
        raise ToolFileError(path, "no such file; expected a Python file with functions")
    name = f"dify_host_tools_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ToolFileError(path, "expected a Python file, with a name that ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # Dataclasses and postponed hints look up their module.
    # As for a script, so that a tools file can import its neighbours.
    sys.path.insert(0, str(path.parent.absolute()))
    try:
        spec.loader.exec_module(module)
    # A script may end with `sys.exit()`, which must not end the host.
    except (Exception, SystemExit) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise ToolFileError(path, f"cannot be imported: {reason}") from error
    finally:
        sys.path.remove(str(path.parent.absolute()))
    return module


class _Function:
    """A function that becomes a tool."""

    def __init__(self, function: Callable[..., Any], path: Path, *, doc: str = "") -> None:
        self._function = function
        self._doc = inspect.getdoc(function) or doc
        self._path = path
        self._name = function.__name__

    def to_tool(self) -> PythonTool:
        if not _TOOL_NAME.fullmatch(self._name):
            raise self._error("its name: expected up to 64 ASCII letters, digits and underscores")
        if not self._doc:
            raise self._error("expected a docstring; it tells the model what the tool does")
        description, arguments = parse_docstring(self._doc)
        return PythonTool(
            name=self._name,
            description=description,
            parameters=tuple(self._parameters(arguments)),
            function=self._function,
        )

    def _parameters(self, descriptions: dict[str, str]) -> Iterator[ToolParameter]:
        hints = self._hints()
        for name, parameter in inspect.signature(self._function).parameters.items():
            if parameter.kind not in {parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY}:
                raise self._error("expected a parameter that can be passed by name", name)
            if name not in hints:
                raise self._error(f"expected a type hint: {_EXPECTED_HINT}", name)
            yield self._parameter(parameter, hints[name], descriptions.get(name, ""))

    def _hints(self) -> dict[str, Any]:
        try:
            return typing.get_type_hints(self._function)
        except Exception as error:
            raise self._error(f"its type hints cannot be read: {error}") from error

    def _parameter(
        self, parameter: inspect.Parameter, hint: Any, description: str
    ) -> ToolParameter:
        plain, has_default = _without_none(hint), parameter.default is not parameter.empty
        kind = _parameter_type(plain)
        if kind is None:
            shown = getattr(hint, "__name__", None) or str(hint)
            problem = f"expected a type hint of {_EXPECTED_HINT}; got {shown}"
            raise self._error(problem, parameter.name)
        return ToolParameter(
            name=parameter.name,
            hint=hint,
            type=kind,
            description=description,
            required=not has_default and hint is plain,
            has_default=has_default,
            default=_plain(parameter.default),
            options=get_args(plain) if kind == "select" else (),
            schema=_schema(plain, description) if kind in {"array", "object"} else None,
        )

    def _error(self, problem: str, parameter: str | None = None) -> ToolFileError:
        return ToolFileError(self._path, problem, function=self._name, parameter=parameter)


def _without_none(hint: Any) -> Any:
    """Return a hint such as `str | None` without `None`, and any other as it is."""
    if get_origin(hint) not in {typing.Union, types.UnionType}:
        return hint
    rest = [part for part in get_args(hint) if part is not type(None)]
    return rest[0] if len(rest) == 1 and len(rest) < len(get_args(hint)) else hint


def _parameter_type(hint: Any) -> ParameterType | None:
    if hint in _PLAIN_TYPES:
        return _PLAIN_TYPES[hint]
    origin = get_origin(hint) or hint
    if origin is Literal:
        return "select" if all(isinstance(value, str) for value in get_args(hint)) else None
    if origin in {list, dict} and all(_is_plain(part) for part in get_args(hint)):
        return "array" if origin is list else "object"
    return None


def _is_plain(hint: Any) -> bool:
    plain = _without_none(hint)
    return plain is Any or _parameter_type(plain) not in {None, "file", "files"}


def _schema(hint: Any, description: str) -> JsonObject:
    schema = TypeAdapter(hint).json_schema()
    return {**schema, "description": description}


def _plain(value: Any) -> Any:
    """Return a default that a declaration can hold; None for any other, and if there is none."""
    return value if type(value) in {str, int, float, bool} else None
