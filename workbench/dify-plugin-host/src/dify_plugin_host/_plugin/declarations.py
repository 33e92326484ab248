"""The declarations in plugin folders: model providers with their models, tools and agent strategies with their parameters."""

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dify_plugin_packager import PluginFolderError
from dify_plugin_packager.declarations import PluginFolder
from dify_plugin_packager.json_access import JsonObject, is_object, list_at, object_at, objects_at

from .offers import model_files, model_order, model_paths, parts_of


@dataclass(frozen=True, slots=True, kw_only=True)
class _Provider:
    """A provider of models or tools.

    Attributes:
        name: Its short name.
        folder: The plugin that declares it.
        credential_fields: The fields of its form of credentials, each with its `name`.
    """

    name: str
    folder: PluginFolder
    credential_fields: tuple[JsonObject, ...]

    @property
    def credential_defaults(self) -> Mapping[str, Any]:
        """The defaults of its credentials, by name."""
        return {
            field["name"]: field["default"]
            for field in self.credential_fields
            if field.get("default") is not None
        }

    @property
    def credential_variables(self) -> Mapping[str, str]:
        """The environment variable that holds each of its credentials for `dify-host`, by the credential's name."""
        names = (str(field["name"]) for field in self.credential_fields)
        return {name: credential_variable(name, self.name) for name in names}

    def credentials_in(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return those of its credentials that the environment holds, by the credential's name."""
        found = {
            name: environment.get(variable, "").strip()
            for name, variable in self.credential_variables.items()
        }
        return {name: value for name, value in found.items() if value}

    def missing_variables(self, given: Mapping[str, Any]) -> list[str]:
        """Return the variables of the credentials that its form requires, that have no default and are not given."""
        known = {**self.credential_defaults, **given}
        needed = (str(field["name"]) for field in self.credential_fields if field.get("required"))
        return [self.credential_variables[name] for name in needed if name not in known]

    @property
    def long_name(self) -> str:
        """The name by which Dify refers to it: `author/plugin/provider`."""
        return f"{self.folder.author}/{self.folder.name}/{self.name}"

    def answers_to(self, name: str) -> bool:
        """Tell whether `name` means this provider, in its short or its long form."""
        return name in {self.name, self.long_name}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProvider(_Provider):
    """A model provider.

    Attributes:
        models: The predefined LLMs, in the order of its position file.
    """

    models: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """An agent strategy.

    Attributes:
        name: Its name.
        provider: Its provider's short name.
        folder: The plugin that declares it.
        parameters: The declarations of its parameters, by name.
    """

    name: str
    provider: str
    folder: PluginFolder
    parameters: Mapping[str, JsonObject]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolProvider(_Provider):
    """A tool provider.

    Attributes:
        tools: The declarations of its tools, by name.
        declaration: The whole declaration, including those of the tools.
    """

    tools: Mapping[str, JsonObject]
    declaration: JsonObject = field(repr=False)


class Declarations:
    """The declarations in a plugin folder, each kind read on first use.

    Args:
        folder: The folder.
    """

    def __init__(self, folder: PluginFolder) -> None:
        self._folder = folder

    @functools.cached_property
    def model_providers(self) -> tuple[ModelProvider, ...]:
        """The model providers."""
        folder = self._folder
        return tuple(
            ModelProvider(
                name=_name(folder, one.get("provider"), "a model provider's 'provider'"),
                folder=folder,
                models=tuple(
                    str(content.get("model"))
                    for content in model_files(folder, object_at(one, "models", "llm"))
                ),
                credential_fields=tuple(_model_credential_fields(one)),
            )
            for one in folder.providers("models")
        )

    @functools.cached_property
    def tool_providers(self) -> tuple[ToolProvider, ...]:
        """The tool providers."""
        found = self._folder.providers("tools")
        return tuple(_tool_provider(self._folder, declaration) for declaration in found)

    @functools.cached_property
    def strategies(self) -> tuple[Strategy, ...]:
        """The agent strategies."""
        found = self._folder.providers("agent_strategies")
        return tuple(one for declaration in found for one in _strategies(self._folder, declaration))

    @property
    def providers(self) -> tuple[ModelProvider | ToolProvider, ...]:
        """The providers that have credentials: of tools, and of models."""
        return (*self.tool_providers, *self.model_providers)

    def validate(self) -> None:
        """Check that all of them can be read.

        Raises:
            PluginFolderError: If it cannot.
        """
        _ = self.providers, self.strategies


def _tool_provider(folder: PluginFolder, declaration: JsonObject) -> ToolProvider:
    tools = {
        _identity_name(folder, content, "a tool's 'identity.name'"): content
        for content in parts_of(folder, declaration, "tools")
    }
    credentials = credential_fields(declaration)
    return ToolProvider(
        name=_identity_name(folder, declaration, "a tool provider's 'identity.name'"),
        folder=folder,
        tools=tools,
        credential_fields=tuple(credentials),
        declaration={
            **declaration,
            "identity": _tool_identity(folder, declaration),
            "credentials_schema": credentials,
            "tools": list(tools.values()),
        },
    )


def _strategies(folder: PluginFolder, declaration: JsonObject) -> Iterator[Strategy]:
    provider = _identity_name(folder, declaration, "an agent provider's 'identity.name'")
    for relative in list_at(declaration, "strategies"):
        content = folder.read_yaml(str(relative))
        yield Strategy(
            name=_identity_name(folder, content, f"'identity.name' in {relative!r}"),
            provider=provider,
            folder=folder,
            parameters={str(one.get("name")): one for one in objects_at(content, "parameters")},
        )


def without_credentials(
    environment: Mapping[str, str], providers: Iterable[ModelProvider | ToolProvider]
) -> dict[str, str]:
    """Return an environment without the variables that hold credentials of providers."""
    hidden = {name for one in providers for name in one.credential_variables.values()}
    return {name: value for name, value in environment.items() if name not in hidden}


def provider_contents(folder: PluginFolder) -> dict[str, JsonObject]:
    """Return the contents of a plugin's provider files and of the files that they name, by the daemon's name of the kind.

    Of several providers of a kind the last one counts, as in the daemon.

    Raises:
        PluginFolderError: If a declaration cannot be read.
    """
    found: dict[str, JsonObject] = {}
    for content in folder.providers("models"):
        kinds = {key: each for key, each in object_at(content, "models").items() if is_object(each)}
        # In the order of the files, which the daemon leaves to Dify to change.
        paths = sorted({path for each in kinds.values() for path in model_paths(folder, each)})
        found["model"] = {
            "description": object_at(folder.manifest, "description"),
            **content,
            "models": [folder.read_yaml(path) for path in paths],
            "position": {key: model_order(folder, each) for key, each in kinds.items()} or None,
        }
    for provider in Declarations(folder).tool_providers:
        found["tool"] = provider.declaration
    for content in folder.providers("agent_strategies"):
        parts = parts_of(folder, content, "strategies")
        found["agent_strategy"] = {**content, "strategies": parts}
    return found


def _tool_identity(folder: PluginFolder, declaration: JsonObject) -> JsonObject:
    """Return the identity of a tool provider; like the daemon, take missing fields from the manifest.

    Source: `FillInDefaultValues` in `pkg/entities/plugin_entities/plugin_declaration.go` of langgenius/dify-plugin-daemon at bdb5642a.
    """
    identity = object_at(declaration, "identity")
    if not object_at(identity, "description").get("en_US"):
        identity = {**identity, "description": object_at(folder.manifest, "description")}
    return {**identity, "tags": list_at(identity, "tags") or list_at(folder.manifest, "tags")}


def credential_variable(name: str, provider: str) -> str:
    """Return the environment variable of a credential: `OPENAI_API_KEY` of both `openai_api_key` and OpenAI's `api_key`."""
    full = name if provider.lower() in name.lower() else f"{provider}_{name}"
    return re.sub(r"\W", "_", full).upper()


def _model_credential_fields(declaration: JsonObject) -> Iterator[JsonObject]:
    """Yield the credential fields of a model provider; those of its models if the provider itself has none."""
    schema = object_at(declaration, "provider_credential_schema") or object_at(
        declaration, "model_credential_schema"
    )
    for one in objects_at(schema, "credential_form_schemas"):
        # The daemon makes text of a number.
        default = None if one.get("default") is None else str(one["default"])
        yield {**one, "name": str(one.get("variable")), "default": default}


def credential_fields(declaration: JsonObject) -> list[JsonObject]:
    """Return the credential fields of a provider of anything but models, each with its name, from any form in which they may be declared."""
    for key in ("credentials_schema", "credentials_for_provider"):
        if named := object_at(declaration, key):
            return [{**content, "name": name} for name, content in named.items()]
        if listed := objects_at(declaration, key):
            return listed
    return []


def _identity_name(folder: PluginFolder, declaration: JsonObject, field: str) -> str:
    return _name(folder, object_at(declaration, "identity").get("name"), field)


def _name(folder: PluginFolder, value: Any, field: str) -> str:
    if not isinstance(value, str) or not value:
        raise PluginFolderError(folder.path, f"{field}: expected a name")
    return value
