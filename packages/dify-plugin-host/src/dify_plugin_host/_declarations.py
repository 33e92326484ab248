"""What plugin folders declare: model providers with their models, agent strategies with their parameters."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ._errors import PluginFolderError
from ._folder import PluginFolder
from ._json import JsonObject, list_at, object_at, objects_at


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProvider:
    """Describe a model provider.

    Attributes:
        name: Its short name.
        folder: The plugin that declares it.
        models: The predefined LLMs, in the order of its position file.
        credential_defaults: The defaults of its credential schema.
    """

    name: str
    folder: PluginFolder
    models: tuple[str, ...]
    credential_defaults: Mapping[str, str]

    @property
    def long_name(self) -> str:
        """The name by which Dify refers to it: `author/plugin/provider`."""
        return f"{self.folder.author}/{self.folder.name}/{self.name}"

    def answers_to(self, name: str) -> bool:
        """Tell whether `name` means this provider, in its short or its long form."""
        return name in {self.name, self.long_name}


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """Describe an agent strategy.

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


def model_providers(folder: PluginFolder) -> Iterator[ModelProvider]:
    """Iterate over the model providers that a plugin declares.

    Raises:
        PluginFolderError: If a declaration cannot be read.
    """
    for declaration in folder.providers("models"):
        schema = object_at(declaration, "provider_credential_schema")
        yield ModelProvider(
            name=_name(folder, declaration.get("provider"), "a model provider's 'provider'"),
            folder=folder,
            models=tuple(_models(folder, declaration)),
            credential_defaults={
                str(field.get("variable")): str(field["default"])
                for field in objects_at(schema, "credential_form_schemas")
                if field.get("default") is not None
            },
        )


def strategies(folder: PluginFolder) -> Iterator[Strategy]:
    """Iterate over the agent strategies that a plugin declares.

    Raises:
        PluginFolderError: If a declaration cannot be read.
    """
    for declaration in folder.providers("agent_strategies"):
        provider = _identity_name(folder, declaration, "an agent provider's 'identity.name'")
        for relative in list_at(declaration, "strategies"):
            content = folder.read_yaml(str(relative))
            yield Strategy(
                name=_identity_name(folder, content, f"'identity.name' in {relative!r}"),
                provider=provider,
                folder=folder,
                parameters={
                    str(parameter.get("name")): parameter
                    for parameter in objects_at(content, "parameters")
                },
            )


def _models(folder: PluginFolder, declaration: JsonObject) -> list[str]:
    """Return the predefined LLMs: those of the position file first, the others by name."""
    llm = object_at(object_at(declaration, "models"), "llm")
    position = llm.get("position")
    declared = {
        str(folder.read_yaml(str(path.relative_to(folder.path))).get("model"))
        for pattern in list_at(llm, "predefined")
        for path in folder.path.glob(str(pattern))
        if not path.name.startswith("_")
    }
    order = folder.read_names(str(position)) if position else []
    first = [name for name in order if name in declared]
    return [*first, *sorted(declared.difference(first))]


def _identity_name(folder: PluginFolder, declaration: JsonObject, field: str) -> str:
    return _name(folder, object_at(declaration, "identity").get("name"), field)


def _name(folder: PluginFolder, value: Any, field: str) -> str:
    if not isinstance(value, str) or not value:
        raise PluginFolderError(folder.path, f"expected a name as {field}")
    return value
