"""What the YAML files of tools and of agent strategies have in common.

Source: `entities/tool.py` and `entities/agent.py` of dify-plugin 0.10.2 and `pkg/entities/plugin_entities/` of
langgenius/dify-plugin-daemon at bdb5642a, read 2026-11.
"""

from collections.abc import Iterable
from typing import Annotated, Literal, Protocol

from pydantic import Field, StringConstraints

from ._manifest_rules import IdentityName, PathText, Rules, Tag, Translated


type Text = Annotated[str, StringConstraints(min_length=1)]
type ParameterName = Annotated[str, StringConstraints(min_length=1, max_length=1023)]
type Scope = Annotated[str, StringConstraints(max_length=1024)]


class ProviderIdentity(Rules):
    """Who a provider is."""

    author: Text
    name: IdentityName
    label: Translated
    description: Translated
    icon: PathText
    icon_dark: PathText | None = None
    tags: list[Tag] = Field(default=[])


class Identity(Rules):
    """Who a tool or a strategy is."""

    author: Text
    name: IdentityName
    label: Translated


class Option(Rules):
    """One of the values to choose from."""

    value: Text
    label: Translated


class AutoGenerate(Rules):
    """How a value can be written for the user."""

    type: Literal["prompt_instruction"]


class Template(Rules):
    """Whether a value may hold variables."""

    enabled: bool


class _Python(Rules):
    source: PathText


class Extra(Rules):
    """Where the code is."""

    python: _Python


class _Named(Protocol):
    name: str


def require_unique_names(parameters: Iterable[_Named]) -> None:
    """Refuse two parameters of one name.

    Raises:
        ValueError: If there are two.
    """
    names = [parameter.name for parameter in parameters]
    if len(names) != len(set(names)):
        raise ValueError("expected every parameter once")
