"""The tools of plugins that `dify-host chat` offers to a strategy, with credentials from environment variables."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dify_plugin_host._platform.plugin_tools import tool_entities
from dify_plugin_host._plugin.declarations import ToolProvider
from dify_plugin_host._tools.tool import PythonTool
from dify_plugin_host._tools.tool_file import builtin_tools, load_tools
from dify_plugin_packager.json_access import JsonObject

from .progress import NoticeGiven


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOffers:
    """The tools of some providers for a strategy.

    Attributes:
        entities: The tools, as Dify hands them to a strategy.
        credentials: The credentials of each provider, by its long name.
        left_out: Notices about tools that cannot be offered.
    """

    entities: tuple[JsonObject, ...]
    credentials: Mapping[str, JsonObject] = field(repr=False)
    left_out: tuple[NoticeGiven, ...]


def python_tools(paths: Iterable[Path] | None) -> tuple[PythonTool, ...]:
    """Return the built-in tools and those of the files; of two with the same name, the later.

    Raises:
        ToolFileError: If a file, or a function in it, cannot become tools.
    """
    tools = {tool.name: tool for tool in builtin_tools()}
    for path in paths or ():
        tools |= {tool.name: tool for tool in load_tools(path)}
    return tuple(tools.values())


def find_offers(providers: Iterable[ToolProvider], environment: Mapping[str, str]) -> ToolOffers:
    """Return the tools that can be called, with a notice about each that lacks a required credential or setting."""
    entities: list[JsonObject] = []
    credentials: dict[str, JsonObject] = {}
    left_out: list[NoticeGiven] = []
    for provider in providers:
        given = provider.credentials_in(environment)
        if missing := provider.missing_variables(given):
            left_out.append(
                _notice(provider, f"the tools of {provider.name!r}", "in the environment", missing)
            )
            continue
        credentials[provider.long_name] = given
        for entity in tool_entities(provider):
            if unset := list(_unset(entity)):
                left_out.append(
                    _notice(
                        provider,
                        f"the tool {entity['identity']['name']!r}",
                        "set by an app's builder",
                        unset,
                    )
                )
            else:
                entities.append(entity)
    return ToolOffers(entities=tuple(entities), credentials=credentials, left_out=tuple(left_out))


def _unset(entity: JsonObject) -> Iterator[str]:
    """Yield the settings that an app's builder would have to make."""
    for parameter in entity["parameters"]:
        is_set = parameter["name"] in entity["runtime_parameters"]
        if parameter["form"] == "form" and parameter["required"] and not is_set:
            yield parameter["name"]


def _notice(provider: ToolProvider, what: str, where: str, missing: list[str]) -> NoticeGiven:
    text = f"{what} cannot be offered: expected {', '.join(missing)} {where}"
    return NoticeGiven(plugin=provider.folder.name, level="WARNING", text=text)
