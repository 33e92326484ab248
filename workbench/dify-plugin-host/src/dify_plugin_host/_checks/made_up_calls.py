"""Calls of all that a plugin offers, with made-up arguments and credentials: it can answer or refuse them without the outside world."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dify_plugin_host._platform.agent_node import initialize_parameters
from dify_plugin_host._platform.scripted_peer import MODEL_VALUE
from dify_plugin_host._plugin.declarations import Declarations, Strategy, credential_fields
from dify_plugin_host._plugin.offers import offers, parts_of
from dify_plugin_host._tools.tool_file import builtin_tools
from dify_plugin_packager.declarations import PluginFolder
from dify_plugin_packager.json_access import JsonObject, object_at, objects_at

from .samples import MODEL_CALLS, sample_credentials, sample_parameters


_STRATEGY_VALUES: dict[str, Callable[[], Any]] = {
    "model-selector": lambda: MODEL_VALUE,
    "array[tools]": lambda: [tool.to_entity() for tool in builtin_tools()],
    "string": lambda: "hello",
}
# What a model is asked besides its answer, by its type.
_COUNTS: Mapping[str, tuple[str, JsonObject]] = {
    "llm": ("get_llm_num_tokens", {"prompt_messages": [{"role": "user", "content": "hello"}], "tools": None}),
    "text-embedding": ("get_text_embedding_num_tokens", {"texts": ["hello"]}),
}  # fmt: skip
# What Dify asks each type of data source first.
_DATASOURCES: Mapping[str, str] = {
    "website_crawl": "invoke_website_datasource_get_crawl",
    "online_document": "invoke_online_document_datasource_get_pages",
    "online_drive": "invoke_online_drive_browse_files",
}
_ADDRESS = re.compile(r"url|uri|endpoint|base|host", re.IGNORECASE)
_PATH_VARIABLE = re.compile(r"<[^>]*>|\{[^}]*\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeUpCall:
    """A call of a plugin.

    Attributes:
        name: The action and what it is for.
        kind: The kind of action.
        action: The action.
        data: Its fields.
    """

    name: str
    kind: str
    action: str
    data: JsonObject


class MadeUpCalls:
    """Made-up calls of a plugin.

    Args:
        plugin: The plugin.
        server: The credentials for a model server on this machine; its address stands for any address.
    """

    def __init__(self, plugin: PluginFolder, server: Mapping[str, str]) -> None:
        self._plugin = plugin
        self._declared = Declarations(plugin)
        self._server = server

    def __iter__(self) -> Iterator[MadeUpCall]:
        """Iterate over a call of each thing that the plugin offers and for which one can be made up."""
        yield from self._models()
        yield from self._tools()
        for strategy in self._declared.strategies:
            data = strategy_data(strategy)
            yield _call("agent_strategy", "invoke_agent_strategy", strategy.name, data)
        yield from self._endpoints()
        yield from self._datasources()
        yield from self._triggers()

    def _models(self) -> Iterator[MadeUpCall]:
        credentials: dict[str, JsonObject] = {}
        for provider in self._declared.model_providers:
            name = provider.name
            credentials[name] = self._credentials(provider.credential_fields)
            data = {"provider": name, "credentials": credentials[name]}
            yield _call("model", "validate_provider_credentials", name, data)
        for offer in offers(self._plugin):
            if offer.kind != "models":
                continue
            model = offer.names[0] if offer.names else "sample"
            data = {"provider": offer.provider, "model_type": offer.model_type, "model": model}
            data |= {"credentials": credentials[offer.provider]}
            yield _call("model", "get_ai_model_schemas", model, data)
            if not offer.names:
                yield _call("model", "validate_model_credentials", model, data)
            if offer.model_type in _COUNTS:
                action, fields = _COUNTS[offer.model_type]
                yield _call("model", action, model, data | fields)
            yield from _answers(offer.model_type, data)
            if offer.model_type == "llm" and takes(self._plugin, self._server):
                yield from _answers(offer.model_type, data | {"credentials": dict(self._server)})

    def _tools(self) -> Iterator[MadeUpCall]:
        for provider in self._declared.tool_providers:
            credentials = self._credentials(provider.credential_fields)
            addressed = {"provider": provider.name, "credentials": credentials}
            if provider.credential_fields:
                yield _call("tool", "validate_tool_credentials", provider.name, addressed)
            for name, tool in provider.tools.items():
                parameters = sample_parameters(objects_at(tool, "parameters"))
                if parameters is None:
                    continue
                data = {**addressed, "tool": name, "tool_parameters": parameters}
                data |= {"credential_type": "api-key" if credentials else "unauthorized"}
                yield _call("tool", "invoke_tool", name, data)

    def _endpoints(self) -> Iterator[MadeUpCall]:
        for group in self._plugin.providers("endpoints"):
            settings = self._credentials(objects_at(group, "settings"))
            for endpoint in parts_of(self._plugin, group, "endpoints"):
                method, path = str(endpoint.get("method")), str(endpoint.get("path"))
                data = {"settings": settings, "raw_http_request": _http_request(method, path)}
                yield _call("endpoint", "invoke_endpoint", f"{method} {path}", data)

    def _datasources(self) -> Iterator[MadeUpCall]:
        for declaration in self._plugin.providers("datasources"):
            fields = credential_fields(declaration)
            addressed = _addressed(declaration, self._credentials(fields))
            name = addressed["provider"]
            yield _call("datasource", "validate_datasource_credentials", name, addressed)
            action = _DATASOURCES.get(str(declaration.get("provider_type")), "")
            for part in parts_of(self._plugin, declaration, "datasources") if action else ():
                datasource = str(object_at(part, "identity").get("name"))
                data: JsonObject = {**addressed, "datasource": datasource}
                data |= {"datasource_parameters": _parameters(part)}
                data |= {"request": {"prefix": "", "max_keys": 20}}
                yield _call("datasource", action, datasource, data)

    def _triggers(self) -> Iterator[MadeUpCall]:
        for declaration in self._plugin.providers("triggers"):
            constructor = object_at(declaration, "subscription_constructor")
            fields = credential_fields(constructor)
            addressed = _addressed(declaration, self._credentials(fields))
            name = addressed["provider"]
            yield _call("trigger", "validate_trigger_credentials", name, addressed)
            subscription: JsonObject = {"endpoint": self._address, "parameters": {}}
            arrived: JsonObject = {
                **addressed,
                "credential_type": "api-key" if fields else "unauthorized",
                "subscription": {**subscription, "properties": {}},
                "raw_http_request": _http_request("POST", "/"),
            }
            yield _call("trigger", "dispatch_trigger_event", name, arrived)
            for part in parts_of(self._plugin, declaration, "events"):
                event = str(object_at(part, "identity").get("name"))
                data = {**arrived, "event": event, "parameters": _parameters(part), "payload": {}}
                yield _call("trigger", "invoke_trigger_event", event, data)

    @property
    def _address(self) -> str:
        return self._server["openai_api_base"]

    def _credentials(self, fields: Sequence[JsonObject]) -> JsonObject:
        """Return made-up credentials."""
        selected = {"app-selector": {"app_id": "sample"}, "model-selector": MODEL_VALUE}
        chosen = {
            str(field.get("name")): selected[str(field.get("type"))]
            for field in fields
            if field.get("type") in selected
        }
        return sample_credentials(fields, self._made_up) | chosen

    def _made_up(self, name: str) -> str:
        return self._address if _ADDRESS.search(name) else "sample"


def strategy_data(strategy: Strategy) -> JsonObject:
    """Return the fields of a call of a strategy, with the scripted model and the built-in tools."""
    given = {
        name: _STRATEGY_VALUES[str(parameter.get("type"))]()
        for name, parameter in strategy.parameters.items()
        if parameter.get("required") and str(parameter.get("type")) in _STRATEGY_VALUES
    }
    return {
        "agent_strategy_provider": strategy.provider,
        "agent_strategy": strategy.name,
        "agent_strategy_params": initialize_parameters(strategy.parameters.values(), given),
    }


def takes(plugin: PluginFolder, credentials: Mapping[str, str]) -> bool:
    """Tell whether a plugin's first model provider has models, accepts these credentials and requires no others."""
    provider = Declarations(plugin).model_providers[0]
    schema = object_at(next(plugin.providers("models")), "provider_credential_schema")
    fields = objects_at(schema, "credential_form_schemas")
    required = {field.get("variable") for field in fields if field.get("required")}
    known = {field.get("variable") for field in fields}
    return bool(provider.models) and credentials.keys() <= known and required <= credentials.keys()


def _call(kind: str, action: str, name: str, data: JsonObject) -> MadeUpCall:
    return MadeUpCall(name=f"{action} of {name}", kind=kind, action=action, data=data)


def _answers(model_type: str, data: JsonObject) -> Iterator[MadeUpCall]:
    if model_type not in MODEL_CALLS:
        return
    # The plugin SDK requires both of an LLM, and ignores them for others.
    fields = {**MODEL_CALLS[model_type], "stop": None, "tools": None}
    action = f"invoke_{model_type.replace('-', '_')}"
    yield _call("model", action, data["model"], data | fields)


def _addressed(declaration: JsonObject, credentials: JsonObject) -> JsonObject:
    name = str(object_at(declaration, "identity").get("name"))
    return {"provider": name, "credentials": credentials}


def _http_request(method: str, path: str) -> str:
    """Return a request with an empty object in JSON, in the form in which plugins get one: its bytes in hexadecimal."""
    head = f"{method} {_PATH_VARIABLE.sub('sample', path)} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    head += "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n"
    return f"{head}{{}}".encode().hex()


def _parameters(part: JsonObject) -> JsonObject:
    return sample_parameters(objects_at(part, "parameters")) or {}
