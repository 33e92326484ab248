"""The request body of one model call."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from stream_text import GrowingMap, is_object

from ._choice import resolve_tool_choice
from ._combinations import validate_settings, validate_tools
from ._errors import refused
from ._hosted import read_tool, tool_kind
from ._mcp_tokens import McpTokens, read_tokens, with_token
from ._model_profile import EFFORTS, SUMMARIES, VERBOSITIES, ModelProfile
from ._parameters import Parameters, RequestParameters
from ._parts import iter_parts, with_fitted_parts
from ._profiles import fit, profile_for
from ._tokens import iter_texts
from ._values import is_blank
from ._wire_rules import WireRules


# Parts of a tool's item that come only if the request asks for them.
# Source: openai 3.54.0, `types/responses/response_includable.py`.
_INCLUDED = {
    "web_search": "web_search_call.action.sources",
    "code_interpreter": "code_interpreter_call.outputs",
}


def build_request(  # noqa: PLR0913  one keyword for each independent part of a request
    *,
    model: str,
    input: str | Sequence[Mapping[str, Any]],  # noqa: A002  the API's own word
    parameters: RequestParameters,
    tools: Iterable[object] | None = (),
    stream: bool = True,
    stop: Sequence[str] | None = (),
    instructions: str | None = None,
    safety_identifier: str | None = None,
    prompt_cache_key: str | None = None,
    mcp_tokens: McpTokens | None = None,
    include_obfuscation: bool = False,
    base_model: str | None = None,
    previous_response_id: str | None = None,
    rules: WireRules | None = None,
    fitted: GrowingMap[Any, dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """Build the body of `POST /v1/responses`.

    The call is stateless: `store` is false, and a model that reasons returns its reasoning in encrypted form, to send
    back in the next turn. If the answer is JSON, which is read as a whole, no summary of the reasoning is requested.
    Effort, summary, verbosity and the detail of images are moved to the nearest value that the model accepts, or left
    out if it has no such parameter. Images and files that the model does not read are replaced by a sentence. No
    argument is changed, and equal arguments give equal bytes.

    Args:
        model: The model's name, sent as it is.
        input: The items of the conversation, or a text. `system` messages become `developer` ones for the models that refuse them.
        parameters: The parameters of the README; one that is missing or blank gets its default, other names are
            ignored. The mapping of a form, whose values may be texts, is `cast`.
        tools: The tools that the model may call: declarations of functions (see `function_tool`), and tool objects of
            the API as they are. Tools that the parameters ask for come after them.
        stream: Whether the caller wants a stream; the request has one only if `enable_stream` and the model agree.
        stop: Stop sequences. The API has none: `truncation` becomes `disabled`, and the caller has to cut the text.
        instructions: Instructions besides those among the input items.
        safety_identifier: A stable, hashed identifier of the end user, up to 128 characters.
        prompt_cache_key: A name for the calls that share a prefix, up to 64 characters.
        mcp_tokens: The tokens of MCP servers by the servers' labels. `{"token": ..., "host": ...}` becomes the `authorization` of a server whose
            `server_url` is https and has that host, which may have a port; a text alone, that of a server with a `connector_id` or `tunnel_id`.
        include_obfuscation: Whether the server pads the events of a stream, so that their sizes tell nothing.
        base_model: The model behind the name, whose profile counts; None for the name itself.
        previous_response_id: The id of a stored response to continue from.
        rules: Other decisions about the wire than these; what pads a stream is one of them.
        fitted: The items of the conversation's last request as they were sent, so that only new ones are gone through: one map for each conversation.

    Raises:
        PayloadError: If a value cannot be sent, or a token is not for its server; `field` names it.

    Source: https://platform.openai.com/docs/api-reference/responses/create; docs/contracts/openai-gpt5-responses.md, A12 to A23.
    """
    name = _model_name(model).strip()
    profile = profile_for(base_model or name)
    settings = Parameters.read(parameters)
    validate_settings(settings, profile)
    effort = fit(settings.reasoning_effort, accepted=profile.efforts, ladder=EFFORTS)
    text_format = settings.text_format
    asked = [("tools", read_tool(tool)) for tool in tools or ()] + list(settings.hosted.tools)
    validate_tools(asked, profile, effort=effort, text_format=text_format["type"])
    tokens = read_tokens(mcp_tokens)
    offered = [with_token(tool, tokens, field=field) for field, tool in asked]
    rules = rules or WireRules(include_obfuscation=None if include_obfuscation else False)
    items = _input(input, profile, settings, rules, fitted or GrowingMap())
    if text_format["type"] == "json_object":
        _validate_mention(items)
    is_stream = (
        stream and settings.enable_stream and (profile.streaming or not rules.sends_defaults)
    )
    padding, ttl = rules.include_obfuscation, settings.prompt_cache_ttl
    # Every field of a body, for the plugin and for the client; docs/responses-features.md says what each comes from.
    request = {
        "model": name,
        "input": items,
        "stream": is_stream,
        # Refused without a stream. Source: docs/evidence/responses-api.md, R32.
        "stream_options": {"include_obfuscation": padding}
        if is_stream and padding is not None
        else None,
        "store": rules.store,
        "max_output_tokens": min(settings.max_output_tokens, profile.max_output_tokens)
        if rules.send_max_output_tokens and _asks("max_output_tokens", settings, rules)
        else None,
        "reasoning": _reasoning(settings, profile, rules, effort, items),
        "include": _include(profile, rules, offered),
        "text": _text(settings, profile, rules),
        **_tools(settings, profile, rules, offered),
        **_sampling(settings, profile, rules, effort),
        "service_tier": rules.service_tier or settings.service_tier,
        "prompt_cache_options": {"ttl": ttl} if ttl else None,
        "context_management": _context_management(settings),
        "truncation": "disabled" if stop else None,
        "instructions": instructions or None,
        "previous_response_id": previous_response_id,
        "safety_identifier": _short(safety_identifier, field="safety_identifier", limit=128),
        "prompt_cache_key": _short(prompt_cache_key, field="prompt_cache_key", limit=64),
    }
    return {key: value for key, value in request.items() if value is not None}


def _model_name(model: object) -> str:
    if isinstance(model, str) and model.strip():
        return model
    raise refused("model", "must be the name of a model")


def _input(
    items: object,
    profile: ModelProfile,
    settings: Parameters,
    rules: WireRules,
    fitted: GrowingMap[Any, dict[str, Any]],
) -> str | list[Any]:
    if isinstance(items, str):
        return items
    if not isinstance(items, Sequence) or isinstance(items, bytes | bytearray):
        raise refused("input", "must be a text or a list of items")
    roles: dict[object, str] = {"system": profile.system_role}
    if rules.system_role is not None:
        roles = dict.fromkeys(("system", "developer"), rules.system_role)
    return fitted.map(
        lambda item: _item(item, profile, settings, roles),
        cast("Sequence[object]", items),
        by=(profile, settings.image_detail, roles),
    )


def _item(
    item: object, profile: ModelProfile, settings: Parameters, roles: Mapping[object, str]
) -> dict[str, Any]:
    if not is_object(item):
        raise refused("input", "must contain only items, which are objects")
    mark = "prompt_cache_breakpoint"
    if not profile.cache_ttls and any(part.get(mark) is not None for part in iter_parts(item)):
        raise refused(mark, "is not available for this model")
    plain = with_fitted_parts(item, profile, detail=settings.image_detail)
    role = plain.get("role")
    return plain | {"role": roles[role]} if isinstance(role, str) and role in roles else plain


def _validate_mention(items: str | list[Any]) -> None:
    """Refuse JSON as the format of the answer if no message mentions it, as the API does.

    Source: docs/evidence/responses-api.md, R23.
    """
    if not any("json" in text.lower() for text in iter_texts(items)):
        raise refused(
            "response_format",
            "json_object needs the word JSON in a message, such as: Answer in JSON.",
        )


def _asks(parameter: str, settings: Parameters, rules: WireRules) -> bool:
    """Return whether a parameter decides about its field: always, if defaults are sent."""
    return rules.sends_defaults or parameter in settings.given


def _reasoning(
    settings: Parameters,
    profile: ModelProfile,
    rules: WireRules,
    effort: str | None,
    items: str | list[Any],
) -> dict[str, Any] | None:
    if not profile.reasoning:
        return None
    summary, is_text = settings.reasoning_summary, settings.text_format["type"] == "text"
    parts = {
        "effort": effort,
        "mode": settings.reasoning_mode if len(profile.reasoning_modes) > 1 else None,
        "context": settings.reasoning_context or profile.default_reasoning_context,
    }
    chosen = {k: part for k, part in parts.items() if _asks(f"reasoning_{k}", settings, rules)}
    if not rules.sends_defaults:
        chosen["summary"] = rules.summary if any(chosen.values()) else None
    elif summary != "off" and is_text:
        chosen["summary"] = fit(summary, accepted=profile.summaries, ladder=SUMMARIES)
    # Some models ignore the reasoning of earlier turns unless the request asks them to read it.
    is_list = not isinstance(items, str)
    if is_list and any(item.get("type") == "reasoning" for item in items):
        chosen["context"] = parts["context"]
    return {key: part for key, part in chosen.items() if part} or None


def _sampling(
    settings: Parameters, profile: ModelProfile, rules: WireRules, effort: str | None
) -> dict[str, float | None]:
    """Build the sampling settings, which a model refuses while it reasons.

    Source: https://platform.openai.com/docs/guides/latest-model, "Unsupported parameter: 'temperature'".
    """
    is_refused = profile.reasoning and effort != "none" and not profile.takes_sampling
    if not rules.send_sampling_params or (is_refused and rules.sends_defaults):
        return {}
    return {"temperature": settings.temperature, "top_p": settings.top_p}


def _include(
    profile: ModelProfile, rules: WireRules, tools: Iterable[Mapping[str, Any]]
) -> list[str] | None:
    """List the further fields to ask for: those that the next request needs, and those that show where an answer comes from."""
    wanted = rules.include_encrypted_content
    kinds = {tool_kind(tool) for tool in tools}
    is_wanted = profile.reasoning if wanted is None else wanted
    included = ["reasoning.encrypted_content"] if is_wanted else []
    included += [more for kind, more in _INCLUDED.items() if kind in kinds]
    return included or None


def _context_management(settings: Parameters) -> list[dict[str, Any]] | None:
    """Build the rule by which the server compacts a conversation. No model is known to refuse it; GPT-4.1 and GPT-5.2 were recorded with it."""
    threshold = settings.compact_threshold
    return [{"type": "compaction", "compact_threshold": threshold}] if threshold else None


def _text(settings: Parameters, profile: ModelProfile, rules: WireRules) -> dict[str, Any] | None:
    if settings.text_format["type"] == "json_schema" and not profile.structured_outputs:
        raise refused(
            "response_format", "json_schema is not available for this model; expected text"
        )
    text = dict(rules.text or {})
    if _asks("response_format", settings, rules):
        text["format"] = settings.text_format
    verbosity = fit(settings.verbosity, accepted=profile.verbosities, ladder=VERBOSITIES)
    if verbosity and _asks("verbosity", settings, rules):
        text["verbosity"] = verbosity
    # Several servers refuse `text` without a format.
    return {"format": {"type": "text"}, **text} if text or rules.text is not None else None


def _tools(
    settings: Parameters, profile: ModelProfile, rules: WireRules, offered: list[dict[str, Any]]
) -> dict[str, Any]:
    """Build the fields that only make sense, and are only accepted, when there are tools; two of them are sent always if defaults are not."""
    hosted, parallel = settings.hosted, settings.parallel_tool_calls
    # Allowed tools go on even where none is offered: `resolve_tool_choice` refuses them by name then.
    if not offered and (settings.tool_choice == "none" or not hosted.allowed_tools):
        always = {"tool_choice": settings.tool_choice, "parallel_tool_calls": parallel}
        return {} if rules.sends_defaults else always
    return {
        "tool_choice": resolve_tool_choice(
            settings.tool_choice, tools=offered, allowed=hosted.allowed_tools
        ),
        "parallel_tool_calls": parallel
        if profile.parallel_tool_calls or not rules.sends_defaults
        else None,
        "max_tool_calls": hosted.max_tool_calls,
        "tools": offered,
    }


def _short(value: str | None, *, field: str, limit: int) -> str | None:
    """Accept a text of at most `limit` characters; None for a blank one.

    Source: for `safety_identifier` its docstring in openai-python 3.54; for `prompt_cache_key` docs/evidence/responses-api.md, R13.
    """
    if is_blank(value):
        return None
    if not isinstance(value, str) or len(value) > limit:
        raise refused(field, f"must be a text of at most {limit} characters")
    return value
