"""The command `agent-endpoint`, which serves the agents of a module."""

import os
import re
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Annotated, Any, cast

import typer

from agent_driver import Agent
from agent_server.command import refuse, takes_settings, version_option
from stream_text import is_object

from ._serving import EndpointSettings, serve


__all__ = ["app"]

# As clients of models name what they miss, whoever wrote them.
_SECRET_VARIABLE = re.compile(r"\b[A-Z][A-Z0-9_]*_(?:KEY|TOKEN|SECRET|PASSWORD)\b")

_MODULE = typer.Argument(
    metavar="MODULE[:NAME]",
    help="MODULE serves every agent in it under its variable's name; MODULE:NAME serves that agent or mapping.",
)

_VERSION = version_option("agent-endpoint", "gpt5-agent-endpoint")

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
"""The command."""


@app.command()
@takes_settings(EndpointSettings)
def serve_module(
    module: Annotated[str, _MODULE],
    *,
    settings: EndpointSettings,
    _version: Annotated[bool, _VERSION] = False,
) -> None:
    """Serve the agents of a module over HTTP, durably.

    Runs are kept in the user's state folder, or in the database that --database names.
    """
    serve(_find_agents(module), settings)


def _find_setting(error: Exception) -> str | None:
    """Return what is wrong with the environment that a module has found, in a sentence; None if it has failed for another reason."""
    text = str(error)
    missing = [name for name in _SECRET_VARIABLE.findall(text) if not os.environ.get(name)]
    if missing:
        return f"expected {missing[0]} in the environment"
    field = getattr(error, "field", None)
    return text if isinstance(field, str) and field in os.environ else None


def _find_agents(place: str) -> Mapping[str, Agent[Any, Any]]:
    """Return the agents of a module by their names."""
    module_name, _, name = place.partition(":")
    sys.path.insert(0, os.getcwd())  # noqa: PTH109 - as `python -m` does
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise
        refuse(f"{module_name}: expected a module that can be imported from here")
    except Exception as error:
        if (problem := _find_setting(error)) is None:
            raise
        refuse(f"{module_name}: {problem}")
    found: Any = getattr(module, name, None) if name else vars(module)
    if isinstance(found, Agent):
        return {name: cast("Agent[Any, Any]", found)}
    members: Mapping[str, Any] = found if is_object(found) else {}
    agents: dict[str, Agent[Any, Any]] = {
        key: value
        for key, value in members.items()
        if isinstance(value, Agent) and not key.startswith("_")
    }
    if not agents:
        refuse(f"{place}: expected an Agent, or a mapping of names to agents")
    return agents
