"""The parameters of a tool that is declared by Dify."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from agent_tooling._arguments import RefusedArguments, ToolArguments
from agent_tooling._errors import DeclarationError
from agent_tooling._json_text import JsonSchema
from stream_text import is_list, is_object, read_member

from .arguments import bind_arguments
from .blobs import merge_blob_chunks
from .observations import ObservationPolicy, observation_text
from .parameters import FILE_TYPES, ToolParameter, to_parameters
from .schema import llm_json_schema
from .sentences import unknown_file_text


type ToolFiles = Mapping[str, Callable[[], Any]]
"""The files at hand, by the names that a model chooses them by. A value is called to get what a tool takes, when a tool takes it.

Files may be added with each call, but never removed.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredParameters:
    """The parameters of one of Dify's tools.

    Attributes:
        description: The description that the model reads.
        schema: JSON schema of the arguments that a model may supply, in a form that every model API takes.
        parameters: All parameters.
        runtime_parameters: The values that the app's builder has set.
        files: The files at hand, including those that are added later.
    """

    description: str
    schema: JsonSchema
    parameters: tuple[ToolParameter, ...]
    runtime_parameters: Mapping[str, Any] = field(repr=False)
    files: ToolFiles = field(default_factory=dict[str, Any], repr=False)

    @classmethod
    def from_raw(cls, raw: object, files: ToolFiles | None = None) -> Self:
        """Read a tool from Dify's dump of it or from its object.

        Parameters that take files, and that have no value set, take names of files at hand instead; without `files` they stay hidden.

        Raises:
            DeclarationError: If it cannot be read.
        """
        declared = read_member(raw, "parameters") or ()
        configured: object = read_member(raw, "runtime_parameters") or {}
        description = _read_description(read_member(raw, "description"))
        if not is_object(configured):
            raise DeclarationError("runtime_parameters", "values by name", configured)
        values = dict(configured)
        parameters = to_parameters(declared)
        if files is not None:
            parameters = tuple(
                parameter if values.get(parameter.name) else _to_choice(parameter)
                for parameter in parameters
            )
            for parameter in parameters:
                # An empty value, such as an empty text, would be taken for a file's name.
                if isinstance(parameter, _FileChoice):
                    values.pop(parameter.name, None)
        return cls(
            description=description,
            schema=llm_json_schema(parameters, portable=True),
            parameters=parameters,
            runtime_parameters=values,
            files={} if files is None else files,
        )

    @property
    def takes_files(self) -> bool:
        """Whether one of the parameters takes names of files at hand."""
        return any(isinstance(parameter, _FileChoice) for parameter in self.parameters)

    def bind(self, tool_name: str, args: dict[str, Any]) -> ToolArguments:
        """Check a model's arguments, including names of files, and add the configured values."""
        bound = bind_arguments(tool_name, self.parameters, args, self.runtime_parameters)
        for parameter, names in self._iter_chosen(bound.args):
            for name in names:
                if name not in self.files:
                    error = unknown_file_text(parameter.name, name, self.files)
                    return RefusedArguments(error=error)
        return bound

    def to_values(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values for a call: the arguments, with files in place of their names."""
        values = dict(args)
        for parameter, names in self._iter_chosen(args):
            chosen = [self.files[name]() for name in names]
            values[parameter.name] = chosen if parameter.multiple else chosen[0]
        return values

    def _iter_chosen(self, args: Mapping[str, Any]) -> Iterator[tuple[ToolParameter, list[str]]]:
        """Yield the parameters that take files, each with the names that were chosen for it."""
        for parameter in self.parameters:
            if isinstance(parameter, _FileChoice) and parameter.name in args:
                chosen = args[parameter.name]
                yield parameter, chosen if parameter.multiple else [chosen]


@dataclass(frozen=True, slots=True, kw_only=True)
class _FileChoice(ToolParameter):
    """A parameter that takes files by their names.

    The schema does not list the names: files are added in each round, and tools that change would make every request begin anew for the prompt cache.
    """


def _to_choice(parameter: ToolParameter) -> ToolParameter:
    if parameter.type not in FILE_TYPES or parameter.form != "llm":
        return parameter
    expected = "the name of a file" if parameter.type == "file" else "names of files"
    return _FileChoice(
        name=parameter.name,
        # Without options a select takes any text, and `bind` checks the names.
        type="select",
        required=parameter.required,
        llm_description=f"{parameter.llm_description} ({expected} at hand, as told in the conversation)".strip(),
        multiple=parameter.type != "file",
    )


def _read_description(raw: object) -> str:
    """Return a tool's description for the model; empty if none is declared."""
    text = read_member(raw, "llm")
    if text is None and (isinstance(raw, Mapping | None) or hasattr(raw, "llm")):
        return ""
    if not isinstance(text, str):
        raise DeclarationError(
            "description", "an object with a text as `llm`", raw if text is None else text
        )
    return text


def read_messages(returned: Sequence[object], policy: ObservationPolicy) -> str:
    """Return the text of a tool's messages for the model, whether they came one by one or as a single list.

    Raises:
        BlobError: If the chunks of a file do not add up.
    """
    # A function that returns a list of messages is one piece; a generator yields them one by one.
    messages = returned[0] if len(returned) == 1 and is_list(returned[0]) else returned
    return observation_text(merge_blob_chunks(messages), policy=policy)
