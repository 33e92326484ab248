"""The shapes into which the daemon decodes LLM traffic, and what it makes of them.

Keys that stand in no shape here are dropped, and an absent or null text becomes an empty one, as in Go.
Source: `pkg/entities/model_entities/llm.go` of langgenius/dify-plugin-daemon at bdb5642a, read 2026-10.
"""

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer


def _null_to_empty(value: Any) -> Any:
    return "" if value is None else value


def _validate_content(value: Any) -> Any:
    if value is None:
        raise ValueError("content field is required")
    if not isinstance(value, str | list):
        raise ValueError("content must be a string or an array of prompt message content")  # noqa: TRY004 - pydantic wants it
    return value  # pyright: ignore[reportUnknownVariableType] - validated next


def _null_to_list(value: Any) -> Any:
    return [] if value is None else value


type _Text = Annotated[str, BeforeValidator(_null_to_empty)]
type _Price = Annotated[
    Decimal, Field(strict=False), PlainSerializer(lambda price: format(price, "f"))
]


class _Shape(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)


class _Function(_Shape):
    name: _Text = ""
    arguments: _Text = ""


class _ToolCall(_Shape):
    id: _Text = ""
    type: _Text = ""
    function: _Function = _Function()


class _Part(_Shape):
    type: Literal["text", "image", "audio", "video", "document"]
    base64_data: _Text = ""
    url: _Text = ""
    data: _Text = ""
    encode_format: _Text = ""
    format: _Text = ""
    mime_type: _Text = ""
    detail: _Text = ""
    filename: _Text = ""
    opaque_body: Any = None


class PromptMessage(_Shape):
    """One message, in a request or in a chunk."""

    role: Literal["system", "user", "assistant", "tool"]
    content: Annotated[str | list[_Part] | None, BeforeValidator(_validate_content)] = None
    name: _Text = ""
    tool_calls: Annotated[list[_ToolCall], BeforeValidator(_null_to_list)] = []
    tool_call_id: _Text = ""
    opaque_body: Any = None

    model_config = ConfigDict(validate_default=True)


class _Usage(_Shape):
    prompt_tokens: int
    prompt_unit_price: _Price
    prompt_price_unit: _Price
    prompt_price: _Price
    completion_tokens: int
    completion_unit_price: _Price
    completion_price_unit: _Price
    completion_price: _Price
    total_tokens: int
    total_price: _Price
    currency: str
    latency: float


class _Delta(_Shape):
    index: int
    message: PromptMessage
    usage: _Usage | None = None
    finish_reason: str | None = None


class LLMChunk(_Shape):
    """One chunk of an LLM's answer; `prompt_messages` is always empty."""

    model: str
    prompt_messages: Annotated[list[Any], BeforeValidator(lambda _: [])] = []
    system_fingerprint: _Text = ""
    delta: _Delta
