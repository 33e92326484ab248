"""Sample calls to copy into a shell: one of a model, a tool and a strategy that a server offers."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dify_plugin_host._platform.plugin_host import PluginHost
from dify_plugin_host._plugin.declarations import ModelProvider, credential_variable
from dify_plugin_host._plugin.offers import offers
from dify_plugin_host._plugin.samples import MODEL_CALLS, sample_credentials, sample_parameters
from dify_plugin_packager.json_access import JsonObject, object_at, objects_at
from dify_plugin_packager.plugin import PluginFolder


API_KEY = "DIFY_HOST_API_KEY"
"""The environment variable that may hold the key."""

ROUTES = {
    "llm": "llm/invoke",
    "text-embedding": "text_embedding/invoke",
    "rerank": "rerank/invoke",
    "moderation": "moderation/invoke",
    "tts": "tts/invoke",
    "speech2text": "speech2text/invoke",
    "tools": "tool/invoke",
    "agent_strategies": "agent_strategy/invoke",
}
"""The route of each kind of model or other part; kinds that are missing have none."""

_VARIABLE = re.compile(r"@@(\w+)@@")


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleCall:
    """A call of a plugin.

    Attributes:
        plugin_id: The plugin, `author/name`.
        path: The path below `dispatch/`.
        body: The body; a text such as `@@NAME@@` stands for the shell variable of that name.
    """

    plugin_id: str
    path: str
    body: JsonObject

    def to_shell(self, base_url: str, tenant: str) -> list[str]:
        """Return the lines to copy, for a tenant."""
        text = json.dumps(self.body)
        needed = ", ".join(dict.fromkeys(_VARIABLE.findall(text)))
        # The variable stands outside of the single quotes, where the shell replaces it.
        quoted = _VARIABLE.sub(r"""'"$\1"'""", shlex.quote(text))
        return [
            *([f"# set {needed} first"] if needed else []),
            f"curl -N --noproxy '*' {base_url}/plugin/{tenant}/dispatch/{self.path} \\",
            f"  -H 'X-Api-Key: '\"${API_KEY}\" -H 'X-Plugin-ID: {self.plugin_id}' \\",
            f"  -H 'Content-Type: application/json' -d {quoted}",
        ]


class SampleCalls:
    """Sample calls of a host's plugins.

    Args:
        host: The plugins.
        given: The host's credentials for models, which are shown as they are; `@@NAME@@` stands for a shell variable.
    """

    def __init__(self, host: PluginHost, given: Mapping[str, str]) -> None:
        self._host = host
        self._given = given

    def __iter__(self) -> Iterator[SampleCall]:
        """Iterate over one call of each kind for which one can be made up."""
        for find in self._models, self._tools, self._strategies:
            if call := next(find(), None):
                yield call

    def _models(self) -> Iterator[SampleCall]:
        for folder in self._folders():
            for offer in offers(folder):
                if offer.model_type not in MODEL_CALLS:
                    continue
                model = offer.names[0] if offer.names else "@@MODEL@@"
                data = {
                    "provider": offer.provider,
                    "model_type": offer.model_type,
                    "model": model,
                    "credentials": self._credentials(folder, offer.provider),
                    **MODEL_CALLS[offer.model_type],
                }
                yield _call(folder, offer.model_type, data)

    def _tools(self) -> Iterator[SampleCall]:
        for provider in self._host.tool_providers:
            fields = objects_at(provider.declaration, "credentials_schema")
            credentials = _required_credentials(fields, "name", provider.name)
            for name, tool in provider.tools.items():
                parameters = sample_parameters(objects_at(tool, "parameters"), self._model_value)
                if parameters is None:
                    continue
                data = {
                    "provider": provider.name,
                    "tool": name,
                    "credentials": credentials,
                    "credential_type": "api-key" if credentials else "unauthorized",
                    "tool_parameters": parameters,
                }
                yield _call(provider.folder, "tools", data)

    def _strategies(self) -> Iterator[SampleCall]:
        for strategy in self._host.strategies:
            parameters = sample_parameters([*strategy.parameters.values()], self._model_value)
            if parameters is None:
                continue
            data = {
                "agent_strategy_provider": strategy.provider,
                "agent_strategy": strategy.name,
                "agent_strategy_params": parameters,
            }
            call = _call(strategy.folder, "agent_strategies", data)
            call.body.update(self._context())
            yield call

    def _context(self) -> JsonObject:
        """Return the credentials for the model that a strategy calls back, if the host has none."""
        provider = self._provider()
        credentials = self._credentials(provider.folder, provider.name) if provider else {}
        if provider is None or credentials.keys() <= self._given.keys():
            return {}
        named = {provider.long_name: credentials}
        return {"context": {"credentials": {"provider_credentials": named}}}

    def _model_value(self) -> JsonObject:
        provider = self._provider()
        chosen = {"provider": "@@MODEL_PROVIDER@@", "model": "@@MODEL@@"}
        if provider:
            chosen = {"provider": provider.long_name, "model": provider.models[0]}
        return {**chosen, "model_type": "llm", "mode": "chat", "completion_params": {}}

    def _provider(self) -> ModelProvider | None:
        return next((provider for provider in self._host.model_providers if provider.models), None)

    def _credentials(self, folder: PluginFolder, provider: str) -> JsonObject:
        """Return the credentials that a model provider's schema requires, or that of its models if users name the models."""
        fields = [
            field
            for declaration in folder.providers("models")
            if declaration.get("provider") == provider
            for field in objects_at(_credential_schema(declaration), "credential_form_schemas")
        ]
        known = {field.get("variable") for field in fields}
        given = {name: value for name, value in self._given.items() if name in known}
        return _required_credentials(fields, "variable", provider) | given

    def _folders(self) -> Iterator[PluginFolder]:
        return (plugin.folder for plugin in self._host.plugins)


def _call(folder: PluginFolder, kind: str, data: JsonObject) -> SampleCall:
    plugin_id = f"{folder.author}/{folder.name}"
    body: JsonObject = {"user_id": "me", "data": data}
    return SampleCall(plugin_id=plugin_id, path=ROUTES[kind], body=body)


def _credential_schema(declaration: JsonObject) -> JsonObject:
    return object_at(declaration, "provider_credential_schema") or object_at(
        declaration, "model_credential_schema"
    )


def _required_credentials(fields: list[JsonObject], key: str, provider: str) -> JsonObject:
    """Return a value for each required credential: its default, else a shell variable to hold it."""
    return sample_credentials(
        fields, key, lambda name: f"@@{credential_variable(name, provider)}@@"
    )
