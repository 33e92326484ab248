"""The stateless scheme: what the wire needs to keep a reasoning conversation going without a server that remembers.

Every request carries the whole conversation, the model's own reasoning included, and nothing is stored at the server.

Source: docs/contracts/responses-scheme.md, D1 to D8, D19 to D22 and D24.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from gpt5_messages import ConversationItem, replayable_items
from gpt5_payloads import function_tool, profile_for


type ItemLike = ConversationItem | Mapping[str, Any]

_ENCRYPTED_REASONING = "reasoning.encrypted_content"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a caller wants of one response.

    Attributes:
        items: The conversation, oldest first: item values of `gpt5_messages`, or items as on the wire.
        instructions: What stands above the conversation.
        tools: Function tools as mappings or objects with `name`, `description` and `parameters`; a mapping that has a `type` other than
            `function` goes out as it is.
        effort: How hard the model reasons, such as `low`, `medium` or `high`; None leaves it to the model.
        max_output_tokens: The most tokens of the answer, reasoning included, from 16.
        temperature: Sampling temperature, 0 to 2; models that reason refuse it.
        top_p: Nucleus sampling, 0 to 1; models that reason refuse it.
    """

    items: Sequence[ItemLike]
    instructions: str | None = None
    tools: Sequence[object] = ()
    effort: str | None = None
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
    prompt_cache_key: str | None = None
    text: Mapping[str, Any] | None = None
    send_max_output_tokens: bool = True
    send_sampling_params: bool = True

    def build_body(self, request: Request, *, model: str) -> dict[str, Any]:
        """Build the body of `POST /v1/responses`; no I/O.

        Raises:
            PayloadError: If a tool is not usable.
        """
        wanted = {
            "instructions": request.instructions,
            "tools": [_tool(tool) for tool in request.tools] or None,
            "reasoning": self._reasoning(request, model),
            "include": [_ENCRYPTED_REASONING] if self.include_encrypted_content else None,
            "max_output_tokens": request.max_output_tokens if self.send_max_output_tokens else None,
            "temperature": request.temperature if self.send_sampling_params else None,
            "top_p": request.top_p if self.send_sampling_params else None,
            "service_tier": self.service_tier,
            "prompt_cache_key": self.prompt_cache_key,
            "text": None if self.text is None else dict(self.text),
        }
        return {
            "model": model,
            "input": self._input(request.items),
            "store": self.store,
            "stream": True,
            "tool_choice": "auto",
            "parallel_tool_calls": True,
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
        return [self._with_system_role(item) for item in replayable_items(wire, answered=answered)]

    def _with_system_role(self, item: dict[str, Any]) -> dict[str, Any]:
        return {**item, "role": self.system_role} if item.get("role") == "system" else item

    def _reasoning(self, request: Request, model: str) -> dict[str, Any] | None:
        """Project the effort, which only models that reason can be asked for."""
        if request.effort is None or not profile_for(model).reasoning:
            return None
        summary = {"summary": self.summary} if self.summary else {}
        return {"effort": request.effort, **summary}


def _tool(tool: object) -> dict[str, Any]:
    if not isinstance(tool, Mapping):
        return function_tool(tool)
    wire = cast("Mapping[str, Any]", tool)
    is_function = wire.get("type", "function") == "function"
    return function_tool(wire) if is_function else dict(wire)
