"""The chunks of a plugin's answer, checked before anything relies on them.

Source: dify-plugin 0.10.2, `entities/model/llm.py` and `entities/model/message.py`; langgenius/dify-plugin-daemon at
bdb5642a, `pkg/entities/model_entities/llm.go`.
"""

from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import (
    Base64Bytes,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
)

from dify_agent._daemon_errors import build_protocol_error

from ._content import FileKind


_NO_IDS = ("", "none", "null")  # written by plugins when the model gave a call no id


# Null counts as left out, here and below: plugins send either.
def _text_of(value: object) -> object:
    return "" if value is None else value


def _list_of(value: object) -> object:
    return [] if value is None else value


def _id_of(value: object) -> object:
    if isinstance(value, str) and value.strip().lower() in _NO_IDS:
        return None
    return value


def _is_wanted_back(body: JsonValue) -> bool:
    return body is not None and not (isinstance(body, dict) and set(body) == {"phase"})


type _Text = Annotated[str, BeforeValidator(_text_of)]
type _CallId = Annotated[str | None, BeforeValidator(_id_of)]


class _Wire(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", protected_namespaces=())


class FunctionPiece(_Wire):
    """The name and the arguments of a call, or a piece of either."""

    name: _Text = ""
    arguments: _Text = ""


class ToolCallPiece(_Wire):
    """A tool call, or a piece of one; `id` is None if the plugin gave none."""

    id: _CallId = None
    function: FunctionPiece


class TextContent(_Wire):
    """A text among the parts of a message."""

    type: Literal["text"]
    data: _Text = ""
    opaque_body: JsonValue = None


class FileContent(_Wire):
    """A file among the parts of a message, as base64 (here its bytes) or as a URL."""

    type: FileKind
    base64_data: Annotated[Base64Bytes, BeforeValidator(_text_of)] = b""
    url: _Text = ""
    mime_type: _Text = ""
    opaque_body: JsonValue = None


type Content = Annotated[TextContent | FileContent, Field(discriminator="type")]


class AnswerMessage(_Wire):
    """The addition of a chunk to the answer."""

    content: str | Annotated[list[Content], BeforeValidator(_list_of)] = ""
    tool_calls: Annotated[list[ToolCallPiece], BeforeValidator(_list_of)] = Field(
        default_factory=list[ToolCallPiece]
    )
    opaque_body: JsonValue = None

    @property
    def opaque(self) -> JsonValue:
        """The plugin's data to be sent back with this message, from wherever it stands; the last one counts, and a phase alone does not."""
        parts = [] if isinstance(self.content, str) else self.content
        bodies = [part.opaque_body for part in parts] + [self.opaque_body]
        return next((body for body in reversed(bodies) if _is_wanted_back(body)), None)


class TokenDetails(_Wire):
    """The number of the prompt's tokens that were read from a cache."""

    cached_tokens: int | None = Field(default=None, ge=0)


_PARTS = {
    "prompt_unit_price",
    "prompt_price_unit",
    "prompt_price",
    "completion_unit_price",
    "completion_price_unit",
    "completion_price",
    "latency",
    "time_to_first_token",
    "time_to_generate",
}


class TokenUsage(_Wire):
    """The tokens, the price and the seconds of a call so far."""

    prompt_tokens: int = Field(ge=0)
    completion_tokens: int = Field(ge=0)
    prompt_unit_price: Decimal = Decimal(0)
    prompt_price_unit: Decimal = Decimal(0)
    prompt_price: Decimal = Decimal(0)
    completion_unit_price: Decimal = Decimal(0)
    completion_price_unit: Decimal = Decimal(0)
    completion_price: Decimal = Decimal(0)
    total_price: Decimal = Decimal(0)
    currency: _Text = ""
    latency: float | None = None
    time_to_first_token: float | None = None
    time_to_generate: float | None = None
    cached_tokens: int | None = Field(default=None, ge=0)
    prompt_tokens_details: TokenDetails | None = None

    @property
    def parts(self) -> dict[str, str | float]:
        """What the price is made of, as decimals, and what took how many seconds; only what the plugin reports."""
        found = self.model_dump(mode="json", include=_PARTS)
        return {name: value for name, value in found.items() if value not in {None, "0"}}

    @property
    def cache_read_tokens(self) -> int:
        """Cached tokens of the prompt, if the plugin reports them; Dify's own usage has no field for them."""
        details = self.prompt_tokens_details or TokenDetails()
        return self.cached_tokens or details.cached_tokens or 0


class ChunkDelta(_Wire):
    """The part of a chunk that changes."""

    message: AnswerMessage
    usage: TokenUsage | None = None
    finish_reason: str | None = None


class Chunk(_Wire):
    """One chunk of an answer."""

    model: _Text = ""
    delta: ChunkDelta

    @property
    def is_empty(self) -> bool:
        """Whether it holds nothing, like a keep-alive."""
        message = self.delta.message
        content = message.content
        is_blank = not content or all(
            isinstance(part, TextContent) and not part.data for part in content
        )
        has_more = message.tool_calls or message.opaque is not None
        return is_blank and not (has_more or self.delta.usage or self.delta.finish_reason)


def read_chunk(data: object) -> Chunk:
    """Read the data of a frame.

    Raises:
        PluginDaemonError: If it is not a chunk. The message names the fields and none of their values.
    """
    try:
        return Chunk.model_validate(data)
    except ValidationError as error:
        problems = "; ".join(_problems(error))
        raise build_protocol_error(
            f"Plugin daemon returned an invalid LLM chunk: {problems}"
        ) from None


def _problems(error: ValidationError) -> Iterator[str]:
    for problem in error.errors(include_url=False, include_context=False, include_input=False):
        field = ".".join(str(step) for step in problem["loc"]) or "chunk"
        yield f"{field}: {problem['msg']}"
