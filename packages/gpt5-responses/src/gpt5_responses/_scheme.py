"""The stateless scheme: what the wire needs to keep a reasoning conversation going without a server that remembers.

Every request carries the whole conversation, the model's own reasoning included, and nothing is stored at the server.

Source: docs/contracts/responses-scheme.md, D1 to D8, D19 to D22 and D24.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from gpt5_messages import ConversationItem, build_input, replayable_items
from gpt5_payloads import build_request


type ItemLike = ConversationItem | Mapping[str, Any]

_ENCRYPTED_REASONING = "reasoning.encrypted_content"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a caller wants of one response.

    Attributes:
        items: The conversation, oldest first: item values of `gpt5_messages`, or items as on the wire.
        messages: Messages before them, of all kinds that `gpt5_messages.build_input` takes.
        instructions: What stands above the conversation.
        tools: Function tools as mappings or objects with `name`, `description` and `parameters`; a mapping that has a `type` other than
            `function` goes out as it is.
        tool_choice: `auto`, `none`, `required`, the name of a tool, or a form of the API; None means `auto`.
        parallel_tool_calls: Whether the model may call several tools at once.
        effort: How hard the model reasons, such as `low`, `medium` or `high`, fitted to what the model takes; None leaves it to the model.
        verbosity: How long the answer is: `low`, `medium` or `high`, fitted likewise; None leaves it to the model.
        response_format: `text`, `json_object` or `json_schema`; None leaves it to the scheme.
        json_schema: The schema of the answer, for `json_schema`: a mapping or JSON text.
        max_output_tokens: The most tokens of the answer, reasoning included, from 16.
        temperature: Sampling temperature, 0 to 2; models that reason refuse it.
        top_p: Nucleus sampling, 0 to 1; models that reason refuse it.
    """

    items: Sequence[ItemLike] = ()
    messages: Sequence[object] = ()
    instructions: str | None = None
    tools: Sequence[object] = ()
    tool_choice: str | Mapping[str, Any] | None = None
    parallel_tool_calls: bool = True
    effort: str | None = None
    verbosity: str | None = None
    response_format: Literal["text", "json_object", "json_schema"] | None = None
    json_schema: Mapping[str, Any] | str | None = None
    max_output_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponsesScheme:
    """What is decided about the wire, apart from what a caller asks for and from what a model can do.

    Attributes:
        store: Whether the server keeps the response.
        include_encrypted_content: Whether reasoning comes back encrypted, to be sent again with the next request.
        summary: Which reasoning summary to ask for along with an effort.
        system_role: The role under which system messages of the conversation go out; some servers refuse `system`.
        service_tier: The tier to ask for, or None.
        flex_fallback: Whether the default tier may take the place of a flex one without capacity.
        prompt_cache_key: Groups requests that begin alike, or None; one for each conversation is a good choice.
        text: `text` options (`verbosity`, `format`), or None.
        send_max_output_tokens: False for servers that refuse the parameter.
        send_sampling_params: False for servers that refuse `temperature` and `top_p`.
    """

    store: bool = False
    include_encrypted_content: bool = True
    summary: Literal["auto", "concise", "detailed"] | None = "auto"
    system_role: Literal["system", "developer"] = "developer"
    service_tier: str | None = None
    flex_fallback: bool = False
    prompt_cache_key: str | None = None
    text: Mapping[str, Any] | None = None
    send_max_output_tokens: bool = True
    send_sampling_params: bool = True

    def build_body(self, request: Request, *, model: str) -> dict[str, Any]:
        """Build the body of `POST /v1/responses`, of what `gpt5_payloads.build_request` builds; no I/O.

        Raises:
            PayloadError: If something of the request cannot be sent; `field` names it.
            MessageError: If a message cannot be read.
        """
        hosted = [tool for tool in request.tools if _is_hosted(tool)]
        built = build_request(
            model=model,
            input=[*build_input(request.messages), *self._input(request.items)],
            parameters=_parameters(request),
            tools=[tool for tool in request.tools if not _is_hosted(tool)],
            instructions=request.instructions,
            prompt_cache_key=self.prompt_cache_key,
        )
        tools = [
            *built.get("tools", ()),
            *(dict(cast("Mapping[str, Any]", tool)) for tool in hosted),
        ]
        wanted = {
            "instructions": built.get("instructions"),
            "tools": tools or None,
            "reasoning": self._reasoning(request, built),
            "include": [_ENCRYPTED_REASONING] if self.include_encrypted_content else None,
            "max_output_tokens": self._max_output_tokens(request, built),
            "temperature": request.temperature if self.send_sampling_params else None,
            "top_p": request.top_p if self.send_sampling_params else None,
            "service_tier": self.service_tier,
            "prompt_cache_key": built.get("prompt_cache_key"),
            "text": self._text(request, built),
        }
        return {
            "model": built["model"],
            "input": [self._with_system_role(item) for item in built["input"]],
            "store": self.store,
            "stream": True,
            "tool_choice": built.get("tool_choice", request.tool_choice or "auto"),
            "parallel_tool_calls": built.get("parallel_tool_calls", request.parallel_tool_calls),
            **{key: value for key, value in wanted.items() if value is not None},
        }

    def _input(self, items: Sequence[ItemLike]) -> list[dict[str, Any]]:
        wire = [dict(item) if isinstance(item, Mapping) else item.to_wire() for item in items]
        answered = {
            call_id
            for item in wire
            if str(item.get("type")).endswith("_call_output")
            and isinstance(call_id := item.get("call_id"), str)
        }
        return replayable_items(wire, answered=answered)

    def _with_system_role(self, item: dict[str, Any]) -> dict[str, Any]:
        """Return the item under the role that the server takes, whatever the model's profile says."""
        is_system = item.get("role") in ("system", "developer")
        return {**item, "role": self.system_role} if is_system else item

    def _reasoning(self, request: Request, built: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the effort, which only models that reason can be asked for."""
        if request.effort is None or "reasoning" not in built:
            return None
        summary = {"summary": self.summary} if self.summary else {}
        return {"effort": built["reasoning"]["effort"], **summary}

    def _max_output_tokens(self, request: Request, built: Mapping[str, Any]) -> int | None:
        is_sent = self.send_max_output_tokens and request.max_output_tokens is not None
        return built["max_output_tokens"] if is_sent else None

    def _text(self, request: Request, built: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the scheme's options, and over them what the request asks for."""
        asked = {"verbosity": request.verbosity, "format": request.response_format}
        text: dict[str, Any] = built["text"]
        over = {key: text[key] for key, value in asked.items() if value and key in text}
        options = {**(self.text or {}), **over}
        return options if self.text is not None or over else None


def _parameters(request: Request) -> dict[str, object]:
    """Return what the request asks for under the names of `build_request`; what is None there has its default."""
    return {
        "tool_choice": request.tool_choice,
        "parallel_tool_calls": request.parallel_tool_calls,
        "reasoning_effort": request.effort,
        "verbosity": request.verbosity,
        "response_format": request.response_format,
        "json_schema": request.json_schema,
        "max_output_tokens": request.max_output_tokens,
    }


def _is_hosted(tool: object) -> bool:
    """Return whether a tool is none of the caller's functions, and goes out as it is."""
    kind = cast("Mapping[str, Any]", tool).get("type") if isinstance(tool, Mapping) else None
    return kind not in (None, "function")
