"""Tools that a model may call, made from a Python function, a JSON schema or a platform's declaration."""

import inspect
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Final,
    Generic,
    Protocol,
    Self,
    TypedDict,
    TypeVar,
    Unpack,
    cast,
    overload,
)

from stream_text import MAX_TOOL_NAME, is_object

from ._approval.rules import ApprovalOption, ApprovalRules
from ._arguments import RefusedArguments, ToolArguments, parse_tool_arguments
from ._context import Context
from ._dify import (
    STRATEGY_OBSERVATIONS,
    DeclaredParameters,
    ObservationPolicy,
    ToolFiles,
    read_messages,
    unique_tool_names,
)
from ._errors import DeclarationError
from ._inspection import function_name, is_async_function, returns_short_value
from ._json_text import JsonSchema
from ._results.output import OutputReader, ToolOutput, read_output, to_content
from ._schemas.parameters import SchemaParameters
from ._sentences import parse_error_text, validation_error_text


if TYPE_CHECKING:
    # The standard library has type variables with a default, by which `Tool` is `Tool[Any]`, from 3.13 on.
    from typing_extensions import TypeVar as _TypeVar

    Deps_contra = _TypeVar("Deps_contra", contravariant=True, default=Any)
else:
    Deps_contra = TypeVar("Deps_contra", contravariant=True)

_NAME: Final = re.compile(rf"[a-zA-Z0-9_-]{{1,{MAX_TOOL_NAME}}}")


class _Checks(Protocol):
    """A checker of a model's arguments, which also turns them into the values of a call. Each source of tools has its own kind."""

    @property
    def schema(self) -> JsonSchema: ...
    def bind(self, tool_name: str, args: dict[str, Any]) -> ToolArguments: ...
    def to_values(self, args: Mapping[str, Any]) -> dict[str, Any]: ...


class ToolOptions(TypedDict, total=False):
    """Options for the calls of a tool.

    The settings of a run decide about those that are left out (`agent_driver`); if they do not, there is no limit, no
    retry and no approval.

    Attributes:
        timeout: Seconds that one try of a call may take, over 0; `math.inf` for no limit.
        retries: How often a call that failed or timed out is tried again, at least 0. A call that ended in a
            `ToolError` is not tried again: the model reads why, and decides.
        approval: When a person has to approve a call: `never`, `once` in a run or `always`; or a mapping of conditions
            under which it is always, as in `when` of `ApprovalRules.parse`: `{"euros": {"above": 100}}`.
    """

    timeout: float | None
    retries: int | None
    approval: ApprovalOption | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tool(Generic[Deps_contra]):  # noqa: UP046 - type parameters have no default in Python 3.12
    """A tool that a model may call. The type parameter is the type of the dependencies that its function gets in a `Context`.

    A driver gives `name`, `description` and `parameters` to the model, passes the text of a call's arguments to `bind`,
    and the accepted arguments to `invoke` or, if `is_async`, to `ainvoke`. None of the three raises for faults of the
    model or the tool.

    Attributes:
        name: The name that the model calls it by: 1 to 64 characters of `a-zA-Z0-9_-`.
        description: Its description for the model.
        parameters: JSON schema of its arguments, as the model sees it.
        function: The function, which is called with the arguments by name.
        hidden: Values for parameters of the function that the model can neither see nor set; they override all others.
        is_pinned: Whether its results stay word for word when a long run is compacted.
        timeout: Seconds that one try of a call may take; None if the run decides. See `ToolOptions`.
        retries: How often a failed call is tried again; None if the run decides.
        approval: When a person has to approve a call; None if the run decides.
        deps_type: The type that the function's `Context` is annotated with; None if it takes no context.
        is_external: Whether its calls are made by whoever resumes the run that its `approval` has stopped, and its function only returns what came
            of them. The limits for what a person is asked about do not apply to them, except in an agent that is called as a tool, and none of
            them is answered from an earlier one with the same arguments.

    Raises:
        DeclarationError: If some API would not take the name, `parameters` is not the JSON schema of an object, one of
            them is hidden, or an option is out of its range.

    Source: docs/contracts/agent-tooling.md, F1 to F11, F16 and F17.
    """

    name: str
    description: str
    parameters: JsonSchema
    function: Callable[..., Any]
    hidden: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    is_pinned: bool = False
    timeout: float | None = None
    retries: int | None = None
    approval: ApprovalOption | None = None
    deps_type: Any = None
    is_external: bool = False
    _context: str | None = field(default=None, repr=False)
    _checks: _Checks | None = field(default=None, repr=False)
    _reader: OutputReader = field(default=to_content, repr=False)

    def __post_init__(self) -> None:
        """Refuse a tool that an API would not take or nobody could call."""
        _validate_names(self.name, self.description, self.function)
        _validate_options(self.timeout, self.retries)
        _ = self.approval_rules  # Raises here if they are wrong, not in the middle of a run.
        checks = self._checks
        # After `replace(tool, parameters=...)` the checks are still those of the old parameters.
        if checks is None or checks.schema is not self.parameters:
            checks = SchemaParameters.from_schema(self.parameters)
            object.__setattr__(self, "parameters", checks.schema)
            object.__setattr__(self, "_checks", checks)
        hidden = _read_hidden(self.hidden)
        for name in hidden:
            if name in self.parameters.get("properties", ()):
                raise DeclarationError(f"parameter {name!r}", "hidden or shown", found="both")
        # A copy, so that changing the caller's mapping does not change the tool.
        object.__setattr__(self, "hidden", hidden)

    @classmethod
    def from_function(
        cls,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        hidden: Mapping[str, Any] | None = None,
        **options: Unpack[ToolOptions],
    ) -> Self:
        """Make a tool from a typed function, with or without `async`, that returns its result or yields it in pieces.

        The types say which arguments a model may give, and pydantic checks them strictly: the schema and the check
        agree. The model reads the description of a parameter in `Annotated[..., Field(description=...)]` or in the
        docstring (in Google's, NumPy's or reST's style). A first parameter annotated with `Context[...]` gets the
        context of the call, and the model does not see it.

        Args:
            function: The function. Each parameter has a type, and can be passed by name.
            name: The tool's name, if not the function's.
            description: The tool's description, if not the docstring's.
            hidden: Values for parameters that do not concern the model, by name: a connection, a key, the current user.
            options: How its calls are made: `timeout`, `retries` and `approval` of `ToolOptions`.

        Raises:
            DeclarationError: If a parameter cannot be described to the model: it has no type, or one that cannot be found, checked or written as JSON
                schema, or it is `*args`, `**kwargs` or positional-only. Also if a hidden value has no parameter.
        """
        from ._functions.parameters import FunctionParameters  # noqa: PLC0415 - imports pydantic

        given = _read_hidden(hidden)
        checks = FunctionParameters.from_function(function, given)
        return cls(
            name=name or function_name(function),
            description=checks.description if description is None else description,
            parameters=checks.schema,
            function=function,
            hidden=given,
            deps_type=checks.deps_type,
            _context=checks.context,
            _checks=checks,
            **options,
        )

    @classmethod
    def from_schema(
        cls,
        name: str,
        description: str,
        json_schema: Mapping[str, Any],
        function: Callable[..., Any],
        *,
        hidden: Mapping[str, Any] | None = None,
        **options: Unpack[ToolOptions],
    ) -> Self:
        """Make a tool from a JSON schema, such as an MCP server's, and a function that takes the arguments by name.

        With the extra `schema` (jsonschema) everything in the schema is checked. Without it, only missing names,
        unknown names and simple types on the outermost level are. A schema that does not say whether it takes other
        names takes none.

        Args:
            name: The tool's name.
            description: Its description for the model.
            json_schema: Schema of an object.
            function: The function, called with the arguments by name as the model wrote them: `def forward(**arguments)` takes all.
            hidden: Values for further parameters, which are taken out of the outermost level of the schema.
            options: How its calls are made: `timeout`, `retries` and `approval` of `ToolOptions`.

        Raises:
            DeclarationError: If some API would not take the name; or if the schema is not one of an object, refers to
                something outside itself or to nothing, or names a hidden parameter where it cannot be taken out.
        """
        given = _read_hidden(hidden)
        checks = SchemaParameters.from_schema(json_schema, hidden=given)
        return cls(
            name=name,
            description=description,
            parameters=checks.schema,
            function=function,
            hidden=given,
            _checks=checks,
            **options,
        )

    @classmethod
    def from_declaration(  # noqa: PLR0913 - a declared tool has these settings
        cls,
        raw: object,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        policy: ObservationPolicy = STRATEGY_OBSERVATIONS,
        reader: OutputReader | None = None,
        files: ToolFiles | None = None,
    ) -> Self:
        """Make a tool from a platform's declaration, and a function that returns or yields the platform's tool messages.

        The arguments are checked by `bind_arguments`; those that `bind` returns include the values that the app's builder has set.

        Args:
            raw: A mapping or an object with `identity`, `description`, `parameters` and `runtime_parameters`.
            function: The function, called with all arguments by name.
            name: The name that the model calls it by, if not its own.
            policy: The wording in which its messages are reported to the model.
            reader: Turns its messages into what the model reads and what is for others, instead of that wording.
            files: The files at hand, a mapping to which more may be added. For a parameter that takes files and has no
                value set, the model writes their names; each call looks them up, and the tool gets what the function
                under that name returns. Without the mapping, such parameters stay hidden.

        Raises:
            DeclarationError: If it cannot be read.
        """
        checks = DeclaredParameters.from_raw(raw, files)
        return cls(
            name=name or unique_tool_names([raw])[0],
            description=checks.description,
            parameters=checks.schema,
            function=function,
            _checks=checks,
            _reader=reader or (lambda messages: read_messages(messages, policy)),
        )

    def with_parameters(self, json_schema: Mapping[str, Any], *, is_checked: bool = False) -> Self:
        """Return the same tool with other parameters, which its function takes by name.

        Args:
            json_schema: Schema of an object, as for `from_schema`.
            is_checked: Whether a tool was made with it before, by any process: then it is not checked again, which for a large one takes seconds.

        Raises:
            DeclarationError: If `from_schema` would not take it; where it was checked, only if it is not the schema of an object.
        """
        checks = SchemaParameters.from_schema(json_schema, is_checked=is_checked)
        return replace(self, parameters=checks.schema, _checks=checks)

    @property
    def is_async(self) -> bool:
        """Whether its result has to be awaited, by `ainvoke` instead of `invoke`."""
        return is_async_function(self.function)

    @property
    def may_be_long(self) -> bool:
        """Whether a result could be longer than a model reads at once.

        True unless the function is annotated to return a number, a boolean or None.
        """
        return not returns_short_value(self.function)

    @property
    def approval_rules(self) -> ApprovalRules | None:
        """Its `approval` as a rule beside those of a run; None if the run decides.

        Raises:
            DeclarationError: If it is not valid; the error names it.
        """
        if self.approval is None:
            return None
        field = f"approval of {self.name}"
        return ApprovalRules.from_option(self.approval, tool=self.name, field=field)

    @property
    def _checker(self) -> _Checks:
        return self._checks or SchemaParameters.from_schema(self.parameters)

    @property
    def takes_files(self) -> bool:
        """Whether the model may choose files at hand for it."""
        checks = self._checks
        return isinstance(checks, DeclaredParameters) and checks.takes_files

    def with_hidden(self, **values: Any) -> Self:
        """Return the same tool with other values for some of its hidden parameters, such as the user of another run.

        Raises:
            DeclarationError: If a parameter is not hidden.
        """
        for name in values:
            if name not in self.hidden:
                raise DeclarationError(
                    f"parameter {name!r} of {self.name}", "hidden", found="one that is not"
                )
        return replace(self, hidden={**self.hidden, **values})

    def bind(self, arguments: object) -> ToolArguments:
        """Check the text of a call's arguments, and never raise.

        Returns:
            The arguments as plain JSON for `invoke`, a `FailureMemory` and a log, or, in `error`, the full sentence for the model. Hidden values of
            functions and schemas are not among them.
        """
        parsed = parse_tool_arguments(arguments)
        if isinstance(parsed, RefusedArguments):
            return RefusedArguments(error=parse_error_text(parsed.error))
        # An open schema would let these pass. The model gets the same error as for unknown names.
        unknown = sorted(parsed.args.keys() & self.hidden.keys())
        if unknown:
            return RefusedArguments(error=validation_error_text(f"unknown parameters {unknown}"))
        return self._checker.bind(self.name, parsed.args)

    def shown_arguments(self, args: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the arguments that a model may see of those that `bind` has accepted.

        Those that the app's builder has set for a declared tool are left out.
        """
        if not isinstance(self._checks, DeclaredParameters):
            return args
        shown = self.parameters["properties"]
        return {name: value for name, value in args.items() if name in shown}

    def invoke(
        self,
        args: Mapping[str, Any],
        *,
        context: Context[Deps_contra] | None = None,
        is_over: Callable[[], bool] | None = None,
        wait: Callable[[Coroutine[Any, Any, None]], object] | None = None,
    ) -> ToolOutput:
        """Call the tool in this thread and return its output. Exceptions become failures; only other kinds of `BaseException` are raised.

        Args:
            args: The arguments that `bind` has accepted.
            context: The context for a function that takes one.
            is_over: Returns whether nobody waits any more; called after each piece of a result that comes in pieces,
                and before a result is awaited. If so, the function is closed and its pieces are dropped.
            wait: Waits for a coroutine, such as `asyncio.run`; without it, a result that has to be awaited is a failure.
        """
        pieces: list[object] = []
        try:
            returned = self.function(**self._to_values(args, context))
            if wait is not None and _is_awaited(returned) and not (is_over and is_over()):
                wait(_acollect(returned, pieces))
            else:
                _refuse_async(returned, self.name)
                _collect(returned, pieces, is_over)
        except Exception as error:  # noqa: BLE001 - whatever a tool does, the run goes on
            return read_output(pieces, self._reader, error)
        else:
            return read_output(pieces, self._reader)
        finally:
            pieces.clear()  # The traceback of an error would keep them in memory.

    async def ainvoke(
        self, args: Mapping[str, Any], *, context: Context[Deps_contra] | None = None
    ) -> ToolOutput:
        """Call the tool, await it if it is async, and return its output. Exceptions become failures; only other kinds of `BaseException` are raised.

        A tool without `async` runs in this thread and blocks the event loop: call its `invoke` in another thread.

        Args:
            args: The arguments that `bind` has accepted.
            context: The context for a function that takes one.
        """
        pieces: list[object] = []
        try:
            await _acollect(self.function(**self._to_values(args, context)), pieces)
        except Exception as error:  # noqa: BLE001 - whatever a tool does, the run goes on
            return read_output(pieces, self._reader, error)
        else:
            return read_output(pieces, self._reader)
        finally:
            pieces.clear()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself, without checks and without hidden values."""
        return self.function(*args, **kwargs)

    def _to_values(
        self, args: Mapping[str, Any], context: Context[Deps_contra] | None
    ) -> dict[str, Any]:
        given = {}
        if self._context is not None:
            if context is None:
                raise TypeError(f"the tool {self.name} takes a context: expected one, got none")
            given = {self._context: context}
        # Hidden values override the model's, so they come after them.
        return {**self._checker.to_values(args), **self.hidden, **given}


class _Decorator(Protocol):
    """A decorator that makes tools from functions."""

    @overload
    def __call__[D](self, function: Callable[Concatenate[Context[D], ...], Any], /) -> Tool[D]: ...
    @overload
    def __call__(  # pyright: ignore[reportOverlappingOverload] - a function without a context
        self, function: Callable[..., Any], /
    ) -> Tool[object]: ...


@overload
def tool[D](function: Callable[Concatenate[Context[D], ...], Any], /) -> Tool[D]: ...
@overload
def tool(  # pyright: ignore[reportOverlappingOverload] - a function without a context
    function: Callable[..., Any], /
) -> Tool[object]: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    hidden: Mapping[str, Any] | None = None,
    **options: Unpack[ToolOptions],
) -> _Decorator: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    hidden: Mapping[str, Any] | None = None,
    **options: Unpack[ToolOptions],
) -> Any:
    """Decorate a function to make a tool from it: `@tool`, or `@tool(name=..., timeout=..., approval=...)`.

    The arguments are those of `Tool.from_function`.

    Raises:
        DeclarationError: If a parameter cannot be described to the model, or an option is out of its range.
    """

    def decorate(function: Callable[..., Any]) -> Tool[Any]:
        return Tool.from_function(
            function, name=name, description=description, hidden=hidden, **options
        )

    return decorate if function is None else decorate(function)


def _validate_names(name: object, description: object, function: object) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise DeclarationError(
            "tool name",
            f"1 to {MAX_TOOL_NAME} letters, digits, underscores or hyphens",
            found=repr(name),
        )
    if not isinstance(description, str):
        raise DeclarationError("tool description", "text", description)
    if not callable(function):
        raise DeclarationError("tool function", "something that can be called", function)


def _validate_options(timeout: Any, retries: Any) -> None:
    is_number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if timeout is not None and not (is_number and timeout > 0):
        raise DeclarationError("timeout", "a number of seconds over 0", found=repr(timeout))
    is_whole = isinstance(retries, int) and not isinstance(retries, bool)
    if retries is not None and not (is_whole and retries >= 0):
        raise DeclarationError("retries", "a whole number from 0 on", found=repr(retries))


def _read_hidden(hidden: object) -> dict[str, Any]:
    given: object = {} if hidden is None else hidden
    if not is_object(given):
        raise DeclarationError("hidden", "values by the names of their parameters", hidden)
    for name in given:
        if not isinstance(name, str):
            raise DeclarationError("name of a hidden parameter", "text", name)
    return dict(given)


def _is_awaited(returned: object) -> bool:
    return inspect.isawaitable(returned) or isinstance(returned, AsyncIterator)


def _refuse_async(returned: object, name: str) -> None:
    if _is_awaited(returned):
        if isinstance(returned, Coroutine):
            returned.close()  # Else Python warns that it was never awaited.
        raise TypeError(f"the tool {name} is async: await ainvoke()")


async def _acollect(returned: object, pieces: list[object]) -> None:
    """Add the result of a function to `pieces`, awaited if it has to be."""
    if inspect.isawaitable(returned):
        returned = await returned
    if isinstance(returned, AsyncIterator):
        async for piece in cast("AsyncIterator[object]", returned):
            pieces.append(piece)  # noqa: PERF401 - what was there before a failure counts
    else:
        _collect(returned, pieces)


def _collect(
    returned: object, pieces: list[object], is_over: Callable[[], bool] | None = None
) -> None:
    """Add the result of a function to `pieces`, one by one if it comes in pieces; drop all once `is_over`."""
    if not isinstance(returned, Iterator):
        pieces.append(returned)
        return
    for piece in cast("Iterator[object]", returned):
        pieces.append(piece)
        # Closed at once, so that the tool releases what it holds open.
        if is_over is not None and is_over():
            pieces.clear()
            if isinstance(returned, Generator):
                returned.close()
            return
