"""What `dify-host call` calls: the tool, model or strategy of a name, with arguments of the command line as its parameters."""

from collections.abc import AsyncGenerator, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from dify_plugin_host._errors import ParameterError, UnknownNameError
from dify_plugin_host._files.local_file import LocalFile
from dify_plugin_host._platform.agent_node import (
    AgentRequest,
    StrategyRequest,
    validate_completion_params,
)
from dify_plugin_host._platform.model_calls import ModelRequest
from dify_plugin_host._platform.plugin_host import PluginHost
from dify_plugin_host._platform.scripted_peer import MODEL_VALUE, answer_scripted
from dify_plugin_host._platform.tool_node import ToolRequest
from dify_plugin_host._plugin.declarations import Declarations
from dify_plugin_host._plugin.offers import Offer, offers
from dify_plugin_host._process.session import BackwardsRequest, CallOrigin
from dify_plugin_packager.declarations import PluginFolder, PluginKind
from dify_plugin_packager.json_access import JsonObject, is_list, is_object, objects_at

from .arguments import cast_argument, cast_by_rules
from .direct import ask_model
from .options import CallOptions


_CALLED: tuple[PluginKind, ...] = ("tools", "models", "agent_strategies")
# The arguments of a call of each type of models, but LLMs; the first has to be there. Behind the colon is the field of the protocol.
_MODEL_ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "moderation": ("text:text",),
    "rerank": ("query:query", "docs:docs", "score_threshold:score_threshold", "top_n:top_n"),
    "speech2text": ("file:file",),
    "text-embedding": ("texts:texts", "input_type:input_type"),
    "tts": ("text:content_text", "voice:voice"),
}
_LISTS = frozenset({"docs", "texts"})
_LLM_ARGUMENTS = ("prompt", "system", "files")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A tool, a model or a strategy of a plugin.

    Attributes:
        kind: Its kind.
        provider: Its provider's short name.
        name: Its name.
        model_type: The model's type; empty for everything else.
    """

    kind: PluginKind
    provider: str
    name: str
    model_type: str = ""


def find_target(folder: PluginFolder, options: CallOptions) -> Target:
    """Return the tool, model or strategy of the name that the options give.

    Raises:
        UnknownNameError: If there is none; a model may have any name where its users name it.
    """
    name, model_type = options.name or "", options.model_type
    known: list[str] = []
    free: list[Offer] = []
    for offer in _callable(folder):
        if options.provider not in {None, offer.provider}:
            continue
        if model_type not in {None, offer.model_type}:
            continue
        if name in offer.names:
            return _target(offer, name)
        known += offer.names
        free += [offer] if offer.model_type else []
    # Where nothing has a name, or the type is told, the name is one that users give.
    if free and (model_type or not known):
        return _target(free[0], name)
    raise UnknownNameError("tool, model or strategy", name, known)


def usage_lines(folder: PluginFolder) -> Iterator[str]:
    """Yield a line for each tool, model and strategy with its arguments; those in brackets may be left out."""
    declared = Declarations(folder)
    tools = {name: tool for one in declared.tool_providers for name, tool in one.tools.items()}
    strategies = {one.name: list(one.parameters.values()) for one in declared.strategies}
    for offer in _callable(folder):
        for name in offer.names or ("MODEL",):
            match offer.kind:
                case "tools":
                    shown = map(_usage, objects_at(tools[name], "parameters"))
                case "agent_strategies":
                    shown = map(_usage, strategies[name])
                case _:
                    shown = iter(_model_usage(offer.model_type))
            yield " ".join([name, *shown])


def _callable(folder: PluginFolder) -> Iterator[Offer]:
    return (offer for offer in offers(folder) if offer.kind in _CALLED)


def _target(offer: Offer, name: str) -> Target:
    return Target(kind=offer.kind, provider=offer.provider, name=name, model_type=offer.model_type)


def _usage(parameter: JsonObject) -> str:
    options = [str(option.get("value")) for option in objects_at(parameter, "options")]
    text = f"{parameter.get('name')}={'|'.join(options) or parameter.get('type')}"
    needed = parameter.get("required") and parameter.get("default") is None
    return text if needed else f"[{text}]"


def _model_usage(model_type: str) -> list[str]:
    if model_type == "llm":
        return ["prompt=text", "[system=text]", "[files=@FILE]", "[PARAMETER=value]"]
    first, *rest = (one.partition(":")[0] for one in _MODEL_ARGUMENTS.get(model_type, ("",)))
    return [f"{first}=…", *(f"[{name}=…]" for name in rest)]


async def call(
    host: PluginHost,
    target: Target,
    arguments: Mapping[str, Any],
    credentials: Mapping[str, str],
    origin: CallOrigin,
) -> AsyncGenerator[JsonObject]:
    """Make the call and yield its messages; a model's answer comes as the messages that a strategy would send.

    Raises:
        ParameterError: If an argument is missing or of a wrong type.
        UnknownNameError: If there is no parameter of an argument's name.
        PluginHostError: If the call fails.
    """
    match target.kind:
        case "tools":
            messages = _call_tool(host, target, arguments, credentials, origin)
        case "agent_strategies":
            messages = _call_strategy(host, target, arguments, origin)
        case _ if target.model_type == "llm":
            messages = ask_model(host, await _llm_request(host, target, arguments))
        case _:
            messages = _call_model(host, target, arguments, credentials)
    async for message in messages:
        yield message


def _call_tool(
    host: PluginHost,
    target: Target,
    arguments: Mapping[str, Any],
    credentials: Mapping[str, str],
    origin: CallOrigin,
) -> AsyncGenerator[JsonObject]:
    provider = next(one for one in host.tool_providers if one.answers_to(target.provider))
    declared = objects_at(provider.tools[target.name], "parameters")
    request = ToolRequest(
        tool=target.name,
        provider=target.provider,
        parameters=_cast(declared, arguments),
        credentials=credentials or None,
        origin=origin,
    )
    return host.invoke_tool(request)


async def _call_strategy(
    host: PluginHost, target: Target, arguments: Mapping[str, Any], origin: CallOrigin
) -> AsyncGenerator[JsonObject]:
    strategy = next(one for one in host.strategies if one.name == target.name)
    given = dict(arguments)
    params = cast_argument("object", given.pop("completion_params", {}))
    given = _cast(strategy.parameters.values(), given)
    for name, declared in strategy.parameters.items():
        value, is_required = given.get(name), declared.get("required")
        match declared.get("type"):
            case "model-selector" if not is_object(value) and (value or is_required):
                given[name] = await _model_value(host, value, params)
            case "array[tools]":
                given.setdefault(name, [tool.to_entity() for tool in host.tools])
            case _ if is_required and value is None and declared.get("default") is None:
                raise ParameterError(
                    name, f"expected a value, which strategy {target.name!r} requires"
                )
            case _:
                pass
    if not host.model_providers:
        origin = replace(origin, answers=_answer_as_model)
    request = StrategyRequest(strategy=target.name, parameters=given, origin=origin)
    async for message in host.invoke_strategy(request):
        yield message


async def _model_value(host: PluginHost, name: str | None, params: JsonObject) -> JsonObject:
    """Return the value that chooses a model of the plugins beside the strategy; without any, the scripted one."""
    names = [model for provider in host.model_providers for model in provider.models]
    if not host.model_providers:
        return {**MODEL_VALUE, "completion_params": params}
    return await host.model_value(name or names[0], completion_params=params)


def _answer_as_model(request: BackwardsRequest) -> AsyncGenerator[JsonObject] | None:
    """Return the scripted model's answer; None for calls of anything else, which the host answers."""
    return answer_scripted(request) if request.type == "llm" else None


async def _llm_request(
    host: PluginHost, target: Target, arguments: Mapping[str, Any]
) -> AgentRequest:
    if not arguments.get("prompt"):
        raise ParameterError("prompt", "expected the text for the model")
    schema = await host.model_schema(target.name)
    given = {name: value for name, value in arguments.items() if name not in _LLM_ARGUMENTS}
    params = cast_by_rules(objects_at(schema, "parameter_rules"), given)
    validate_completion_params(schema, params)
    return AgentRequest(
        query=str(cast_argument("string", arguments["prompt"])),
        strategy="",
        model=target.name,
        instruction=str(cast_argument("string", arguments.get("system", ""))),
        completion_params=params,
        files=_files_in(arguments.get("files")),
    )


async def _call_model(
    host: PluginHost, target: Target, arguments: Mapping[str, Any], credentials: Mapping[str, str]
) -> AsyncGenerator[JsonObject]:
    fields = dict(one.split(":") for one in _MODEL_ARGUMENTS.get(target.model_type, ()))
    for name in arguments:
        if name not in fields:
            kind = f"argument of a {target.model_type} call named"
            raise UnknownNameError(kind, name, tuple(fields))
    if (first := next(iter(fields), "")) not in arguments:
        raise ParameterError(first, f"expected a value, which {target.model_type} calls require")
    request = ModelRequest(
        model=target.name,
        model_type=target.model_type,
        provider=target.provider,
        fields={fields[name]: _field(name, value) for name, value in arguments.items()},
        credentials=credentials or None,
    )
    async for item in host.invoke_model(request):
        yield {"type": "json", "message": {"json_object": item}, "meta": None}


def _field(name: str, value: Any) -> Any:
    if isinstance(value, LocalFile):
        return value.content.hex() if name == "file" else cast_argument("string", value)
    return [value] if name in _LISTS and not is_list(value) else value


def _cast(declared: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
    kinds = {str(one.get("name")): one.get("type") for one in declared}
    return {name: cast_argument(kinds.get(name), value) for name, value in arguments.items()}


def _files_in(value: object) -> list[LocalFile]:
    values = value if is_list(value) else [value]
    return [one for one in values if isinstance(one, LocalFile)]
