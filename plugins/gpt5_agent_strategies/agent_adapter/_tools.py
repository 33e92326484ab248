"""The chosen tools: their form for the model, and calling them."""

from collections import Counter
from collections.abc import Generator, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, Self

from dify_plugin.core.runtime import Session
from dify_plugin.entities.model.message import PromptMessageTool
from dify_plugin.entities.tool import ToolInvokeMessage, ToolProviderType

from agent_tooling import Tool, ToolingError, unique_tool_names
from stream_text import read_member

from ._files_at_hand import FilesAtHand
from ._open_answers import OpenAnswers
from ._parameters import Parameters
from ._settings import Settings
from ._tool_answers import read_answer


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolIdentity:
    """The identity of a tool in Dify.

    Attributes:
        provider: The provider, such as `author/plugin/provider`.
        provider_type: The kind of the provider.
        tool_name: The provider's own name for the tool.
        credential_id: Which of the provider's credentials to use; None for the default ones.
    """

    provider: str
    provider_type: ToolProviderType
    tool_name: str
    credential_id: str | None

    @classmethod
    def from_raw(cls, raw: Mapping[str, Any]) -> Self:
        """Read the identity of a tool as Dify dumps it.

        Raises:
            KeyError: If its identity, or the provider or the name in it, is missing.
            TypeError: If the identity is not a mapping.
            ValueError: If the type of its provider is unknown.
        """
        return cls(
            provider=str(raw["identity"]["provider"]),
            provider_type=ToolProviderType(raw.get("provider_type") or "builtin"),
            tool_name=str(raw["identity"]["name"]),
            credential_id=raw.get("credential_id") or None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolbox:
    """The tools of a run.

    Attributes:
        tools: The usable tools, by the names by which the model calls them.
        identities: Dify's identity of each tool.
        fixed: The identity, the parameters, and the values that each tool gets without the model, which may include secrets.
        left_out: A line for each tool that cannot be used.
        answers: The answers that are being read.
    """

    tools: Mapping[str, Tool]
    identities: Mapping[str, ToolIdentity]
    fixed: Mapping[str, Any] = field(repr=False)
    left_out: tuple[str, ...]
    answers: OpenAnswers

    @classmethod
    def from_raw(
        cls, parameters: Parameters, session: Session, settings: Settings, at_hand: FilesAtHand
    ) -> Self:
        """Read the tools one by one; leave out those that cannot be read.

        Args:
            parameters: The parameters, with the tools as Dify dumps them, and the model, which may read images and files of tools.
            session: The session to call the tools through.
            settings: The settings: how long a tool may be silent, and the folder for its images.
            at_hand: The files at hand, which are offered if one of the tools takes files.
        """
        readable: list[Mapping[str, Any]] = []
        left_out: list[str] = []
        # First of all, because only tools that can be used need distinct names.
        for raw in parameters.tools:
            problem = _find_problem(raw)
            if problem is None:
                readable.append(raw)
            else:
                left_out.append(problem)
        answers = OpenAnswers()
        tools: dict[str, Tool] = {}
        identities: dict[str, ToolIdentity] = {}
        fixed: dict[str, Any] = {}
        for raw, name in zip(readable, unique_tool_names(readable), strict=True):
            identities[name] = identity = ToolIdentity.from_raw(raw)
            invoke = partial(_invoke, identity, session, settings.tool_seconds, answers)
            reader = partial(
                read_answer,
                files_root=settings.files_root,
                model=parameters.model,
                at_hand=at_hand,
            )
            tools[name] = Tool.from_declaration(
                raw, invoke, name=name, reader=reader, files=at_hand
            )
            fixed[name] = [asdict(identity), tools[name].parameters, _find_fixed(raw)]
        # Only known now, but before any file is put at hand: the model gets names only if a tool takes
        # files.
        at_hand.are_offered = any(tool.takes_files for tool in tools.values())
        return cls(
            tools=tools,
            identities=identities,
            fixed=fixed,
            left_out=tuple(left_out),
            answers=answers,
        )

    @property
    def own_names(self) -> dict[str, str]:
        """Dify's name of each tool."""
        return {name: identity.tool_name for name, identity in self.identities.items()}

    @property
    def shown_names(self) -> dict[str, str]:
        """The name of each tool for a person: Dify's own, with the model's name added if several tools share it."""
        own_names = self.own_names
        counts = Counter(own_names.values())
        return {
            name: own if counts[own] == 1 else f"{own} ({name})" for name, own in own_names.items()
        }

    def find_prompts(self, tool_search: int | None) -> list[PromptMessageTool]:
        """Return the tools in the model's form; none if there are so many that it searches them.

        The driver then offers search functions instead.
        """
        if tool_search is not None and len(self.tools) >= tool_search:
            return []
        return [to_prompt_tool(tool) for tool in self.tools.values()]


def to_prompt_tool(tool: Tool | PromptMessageTool) -> PromptMessageTool:
    """Return a tool in the model's form: a tool of the node, or one of the run's own functions."""
    if isinstance(tool, PromptMessageTool):
        return tool
    return PromptMessageTool(
        name=tool.name, description=tool.description, parameters=tool.parameters
    )


def _invoke(
    identity: ToolIdentity,
    session: Session,
    seconds: int,
    answers: OpenAnswers,
    /,
    **arguments: Any,
) -> Generator[ToolInvokeMessage]:
    """Call the tool and iterate over its messages, as long as it is silent for no more than `seconds`."""
    # Model calls share the session and set a longer limit there.
    session.max_invocation_timeout = seconds
    answer = session.tool.invoke(
        identity.provider_type,
        identity.provider,
        identity.tool_name,
        arguments,
        credential_id=identity.credential_id,
    )
    return answers.read(answer)


def _find_fixed(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that a tool gets without the model: those set in its form, and its parameters' defaults."""
    declared = raw.get("parameters") or ()
    defaults = {read_member(one, "name"): read_member(one, "default") for one in declared}
    given = {**defaults, **(raw.get("runtime_parameters") or {})}
    return {name: value for name, value in given.items() if value is not None}


def _find_problem(raw: Any) -> str | None:
    """Return why a tool cannot be used, or None."""
    try:
        ToolIdentity.from_raw(raw)
        # Only the declaration is tried; `print` stands for a function that is never called.
        Tool.from_declaration(raw, print)
    except (ToolingError, AttributeError, KeyError, TypeError, ValueError) as error:
        return f"{_name_of(raw)}: {type(error).__name__}: {' '.join(str(error).split())}"
    return None


def _name_of(raw: object) -> str:
    match raw:
        case {"identity": {"name": str(name)}}:
            return name
        case _:
            return "a tool without a name"
