"""The chosen tools: how the model sees them, and how they are called."""

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self, cast

from dify_plugin.core.runtime import Session
from dify_plugin.entities.model.message import PromptMessageTool
from dify_plugin.entities.tool import ToolInvokeMessage, ToolProviderType
from pydantic import ValidationError

from agent_tooling import ToolingError, ToolParameter, llm_json_schema, unique_tool_names


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool of the `tools` parameter.

    Attributes:
        name: The name that the model calls it by, no two the same.
        provider: The provider, such as `author/plugin/provider`.
        provider_type: The kind of the provider.
        tool_name: The provider's own name of the tool.
        credential_id: Which of the provider's credentials to use; None for the default ones.
        parameters: What it takes.
        runtime_parameters: What the app's builder has set.
        prompt: How the model sees it.
    """

    name: str
    provider: str
    provider_type: ToolProviderType
    tool_name: str
    credential_id: str | None
    parameters: tuple[ToolParameter, ...]
    runtime_parameters: Mapping[str, Any]
    prompt: PromptMessageTool

    @classmethod
    def from_raw(cls, raw: Mapping[str, Any], *, name: str) -> Self:
        """Read a tool as Dify dumps it.

        Raises:
            ToolingError: If a parameter cannot be read.
            KeyError: If its identity, or the provider or the name in it, is missing.
            TypeError: If the identity is no mapping.
            ValueError: If the type of its provider is unknown.
        """
        parameters = tuple(ToolParameter.from_raw(item) for item in raw.get("parameters") or ())
        description = (raw.get("description") or {}).get("llm") or ""
        return cls(
            name=name,
            provider=str(raw["identity"]["provider"]),
            provider_type=ToolProviderType(raw.get("provider_type") or "builtin"),
            tool_name=str(raw["identity"]["name"]),
            credential_id=raw.get("credential_id") or None,
            parameters=parameters,
            runtime_parameters=dict(raw.get("runtime_parameters") or {}),
            prompt=PromptMessageTool(
                name=name,
                description=description,
                parameters=llm_json_schema(parameters, portable=True),
            ),
        )

    def invoke(
        self, session: Session, arguments: Mapping[str, Any]
    ) -> Generator[ToolInvokeMessage]:
        """Call the tool and iterate over its messages."""
        return session.tool.invoke(
            self.provider_type,
            self.provider,
            self.tool_name,
            dict(arguments),
            credential_id=self.credential_id,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolbox:
    """The tools of a run.

    Attributes:
        tools: Those that can be used, by the name that the model calls them by.
        left_out: A line for each that cannot.
    """

    tools: Mapping[str, Tool]
    left_out: tuple[str, ...]

    @classmethod
    def from_raw(cls, raws: Iterable[Any]) -> Self:
        """Read the tools one by one: one that cannot be read never stands in the way of the others."""
        readable: list[Mapping[str, Any]] = []
        left_out: list[str] = []
        for raw in raws:
            problem = _find_problem(raw)
            if problem is None:
                readable.append(raw)
            else:
                left_out.append(problem)
        names = unique_tool_names(readable)
        tools = (Tool.from_raw(raw, name=name) for raw, name in zip(readable, names, strict=True))
        return cls(tools={tool.name: tool for tool in tools}, left_out=tuple(left_out))


def _find_problem(raw: object) -> str | None:
    """Return why a tool cannot be used, or None."""
    try:
        [name] = unique_tool_names([raw])
        Tool.from_raw(cast("Mapping[str, Any]", raw), name=name)
    except (
        ToolingError,
        ValidationError,
        AttributeError,
        KeyError,
        TypeError,
        ValueError,
    ) as error:
        return f"{_name_of(raw)}: {type(error).__name__}: {' '.join(str(error).split())}"
    return None


def _name_of(raw: object) -> str:
    match raw:
        case {"identity": {"name": str(name)}}:
            return name
        case _:
            return "a tool without a name"
