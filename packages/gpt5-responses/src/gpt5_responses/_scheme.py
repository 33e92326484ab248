"""The stateless scheme: a conversation with reasoning, carried by requests alone.

Every request carries the whole conversation, the model's own reasoning included, and nothing is stored at the server.

Source: docs/contracts/responses-scheme.md, D1 to D8, D19 to D22 and D24.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal, Self, TypedDict, cast

from gpt5_messages import ConversationItem, KeptInput, build_input, build_items
from gpt5_payloads import (
    CacheTtl,
    Effort,
    McpTokens,
    ReasoningContext,
    ReasoningMode,
    RequestParameters,
    ResponseFormat,
    Summary,
    Verbosity,
    WireRules,
    build_request,
)
from stream_text import GrowingMap

from ._calls.calls import background_body
from ._http.request_body import WrittenItems


_KEY = "gpt5_responses"

type ItemLike = ConversationItem | Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The caller's request for one response.

    Attributes:
        items: The conversation, oldest first: item values of `gpt5_messages`, or items as on the wire.
        messages: Messages before them, of all kinds that `gpt5_messages.build_input` takes.
        instructions: The instructions above the conversation.
        tools: Function tools as mappings or objects with `name`, `description` and `parameters`, and tool objects of the API, such as the builders
            of `gpt5_payloads` make (`web_search_tool()`), as they are.
        tool_choice: `auto`, `none`, `required`, the name of a tool, or a form of the API; None means `auto`.
        parallel_tool_calls: Whether the model may call several tools at once.
        allowed_tools: The names of the only tools that may be called; the others stay in the request, to keep its beginning cached. Empty for all.
        max_tool_calls: The most calls of the server's own tools in one response, from 1; None for no limit.
        effort: How hard the model reasons, such as `low`, `medium` or `high`, adapted to what the model accepts; None leaves it to the model.
        reasoning_mode: How much further work goes into the answer: `standard` or `pro`; None leaves it to the model.
        reasoning_context: Which earlier reasoning the model reads: `auto`, `current_turn` or `all_turns`. None means all turns if
            reasoning is sent back to a model that would otherwise ignore it (5.4 and 5.5), and leaves it to other models.
        verbosity: How long the answer is: `low`, `medium` or `high`, adapted likewise; None leaves it to the model.
        response_format: `text`, `json_object` or `json_schema`; None leaves it to the scheme.
        json_schema: The schema of the answer, for `json_schema`: a mapping or JSON text.
        max_output_tokens: The most tokens of the answer, reasoning included, from 16.
        temperature: Sampling temperature, 0 to 2; models that reason refuse it.
        top_p: Nucleus sampling, 0 to 1; models that reason refuse it.
        compact_threshold: The number of tokens from which the server shortens the conversation by itself, 1,000 to
            10,000,000; None for never. `Conversation.add` handles the result.
        previous_response_id: The id of a stored response to continue from. Its conversation is not sent again; instructions and tools are.
        background: Whether the response is made in the background, which stores it: see `BackgroundStream`.
        kept: Where clients keep what they have built of the conversation's last request, so that only new items are
            built and written: one mapping for each conversation, for them alone, such as a `Conversation` gives to each
            of its requests. None keeps nothing.
    """

    items: Sequence[ItemLike] = ()
    messages: Sequence[object] = ()
    instructions: str | None = None
    tools: Sequence[object] = ()
    tool_choice: str | Mapping[str, Any] | None = None
    parallel_tool_calls: bool = True
    allowed_tools: Sequence[str] = ()
    max_tool_calls: int | None = None
    effort: Effort | None = None
    reasoning_mode: ReasoningMode | None = None
    reasoning_context: ReasoningContext | None = None
    verbosity: Verbosity | None = None
    response_format: ResponseFormat | None = None
    json_schema: Mapping[str, Any] | str | None = None
    max_output_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    compact_threshold: int | None = None
    previous_response_id: str | None = None
    background: bool = False
    kept: dict[str, Any] | None = field(default=None, repr=False, compare=False)


class RequestSettings(TypedDict, total=False):
    """The settings of a request besides its conversation; see `Request` for what each means."""

    instructions: str | None
    tools: Sequence[object]
    tool_choice: str | Mapping[str, Any] | None
    parallel_tool_calls: bool
    allowed_tools: Sequence[str]
    max_tool_calls: int | None
    effort: Effort | None
    reasoning_mode: ReasoningMode | None
    reasoning_context: ReasoningContext | None
    verbosity: Verbosity | None
    response_format: ResponseFormat | None
    json_schema: Mapping[str, Any] | str | None
    max_output_tokens: int | None
    temperature: float | None
    top_p: float | None
    compact_threshold: int | None
    background: bool


class _KeptBody:
    """What is kept of the body of a conversation's last request; nothing of it goes into a copy.

    Attributes:
        input: Its input, as it was built.
        fitted: The items of the input as its model takes them.
        written: Holds their JSON.
    """

    def __init__(self) -> None:
        self.input = KeptInput()
        self.fitted = GrowingMap[Any, dict[str, Any]]()
        self.written = WrittenItems()

    def __reduce__(self) -> tuple[type[Self], tuple[()]]:
        return type(self), ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponsesScheme(WireRules):
    """The decisions about the wire that depend neither on the caller nor on the model.

    Attributes:
        store: Whether the server keeps the response.
        include_encrypted_content: Whether reasoning comes back encrypted, to be sent again with the next request.
        summary: Which reasoning summary to ask for along with an effort.
        system_role: The role under which system messages of the conversation go out; some servers refuse `system`.
        service_tier: The tier to ask for, or None.
        flex_fallback: Whether the default tier may replace a flex tier without capacity.
        prompt_cache_ttl: How long the server keeps the beginning of a request, `30m` or `12h`; None leaves it to the server.
        include_obfuscation: Whether the server pads the events of a stream, so that their sizes reveal nothing; None leaves it to the server.
        prompt_cache_key: Groups requests that begin alike, or None; one for each conversation is a good choice.
        text: `text` options (`verbosity`, `format`), or None.
        send_max_output_tokens: False for servers that refuse the parameter.
        send_sampling_params: False for servers that refuse `temperature` and `top_p`.
    """

    sends_defaults: ClassVar[bool] = False
    include_encrypted_content: bool = True
    summary: Summary | None = "auto"
    system_role: Literal["system", "developer"] = "developer"
    flex_fallback: bool = False
    prompt_cache_key: str | None = None
    prompt_cache_ttl: CacheTtl | None = None
    include_obfuscation: bool | None = None

    def build_body(
        self,
        request: Request,
        *,
        model: str,
        mcp_tokens: McpTokens | None = None,
        made_by: str | None = None,
    ) -> dict[str, Any]:
        """Return the body of `POST /v1/responses`, by `gpt5_payloads.build_request`, of which this object is the rules; no I/O.

        Args:
            request: The request.
            model: The model's name.
            mcp_tokens: The tokens of MCP servers by server label, for those among the tools; each for its own host, see
                `gpt5_payloads.build_request`.
            made_by: `Connection.reasoning_mark` of the connection and model that the body is for, whose open reasoning
                goes back; None for OpenAI, which gets none.

        Raises:
            PayloadError: If part of the request cannot be sent, or a token is not for its server; `field` names it.
            MessageError: If a message cannot be read.
        """
        kept = None if request.kept is None else request.kept.setdefault(_KEY, _KeptBody())
        items = kept and kept.input
        body = build_request(
            model=model,
            input=[
                *build_input(request.messages, made_by=made_by, kept=items),
                *build_items(request.items, made_by=made_by, kept=items),
            ],
            parameters={**_parameters(request), "prompt_cache_ttl": self.prompt_cache_ttl},
            tools=request.tools,
            instructions=request.instructions,
            prompt_cache_key=self.prompt_cache_key,
            mcp_tokens=mcp_tokens,
            previous_response_id=request.previous_response_id,
            rules=self,
            fitted=kept and kept.fitted,
        )
        if kept:
            body["input"] = WrittenItems(body["input"], kept.written)
        return background_body(body) if request.background else body


def _parameters(request: Request) -> RequestParameters:
    """Return the request's settings under the names of `build_request`, where None means the default."""
    given = {name: getattr(request, name) for name in _SHARED}
    return cast("RequestParameters", {**given, "reasoning_effort": request.effort})


# Named alike in both; `effort` is not.
_SHARED = RequestParameters.__annotations__.keys() & {one.name for one in fields(Request)}
