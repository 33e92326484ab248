"""The messages of a tool's reply, as the plugin daemon streams them.

Class and field names are the plugin SDK's, so that one can be read beside the other.

Source: docs/contracts/dify-agent.md, C30; dify-plugin 0.10.2, `entities/invoke_message.py`.
"""

import base64
import binascii
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Final

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationInfo,
    field_validator,
    model_validator,
)

from stream_text import is_object


def _decode_base64(value: object) -> object:
    """Decode base64 text; any other value stays as it is."""
    if not isinstance(value, str):
        return value
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return value


def _none_to_empty(value: object) -> object:
    return {} if value is None else value


def _encode_base64(value: bytes) -> str:
    # Pydantic would use the base64 of URLs, which the daemon does not write.
    return base64.b64encode(value).decode()


type _Bytes = Annotated[
    bytes,
    BeforeValidator(_decode_base64),
    PlainSerializer(_encode_base64, when_used="json"),
]
type _Facts = Annotated[dict[str, Any], BeforeValidator(_none_to_empty)]


class _Payload(BaseModel):
    """The content of a message; fields of later versions are ignored."""

    model_config = ConfigDict(extra="ignore")


class DifyPluginToolInvokeMessage(BaseModel):
    """One message of a tool's reply.

    Attributes:
        type: The kind of message; a kind of a later version stays plain text.
        message: The content, in the class that belongs to the type; for an unknown type as it came.
        meta: The tool's description of the content, such as `mime_type` and `filename` of a file.
    """

    model_config = ConfigDict(extra="ignore")

    class MessageType(StrEnum):
        """The kinds of messages."""

        TEXT = "text"
        IMAGE = "image"
        LINK = "link"
        BLOB = "blob"
        JSON = "json"
        IMAGE_LINK = "image_link"
        BINARY_LINK = "binary_link"
        VARIABLE = "variable"
        FILE = "file"
        LOG = "log"
        BLOB_CHUNK = "blob_chunk"
        RETRIEVER_RESOURCES = "retriever_resources"

    class TextMessage(_Payload):
        """Text, or the address of a link or an image."""

        text: str

    class JsonMessage(_Payload):
        """JSON; content without the key `json_object` is the JSON itself."""

        json_object: Any
        suppress_output: bool = False

        @model_validator(mode="before")
        @classmethod
        def _wrap(cls, value: object) -> object:
            return value if is_object(value) and "json_object" in value else {"json_object": value}

    class BlobMessage(_Payload):
        """A whole file; base64 text is decoded."""

        blob: _Bytes = Field(repr=False)

    class BlobChunkMessage(_Payload):
        """A piece of a file; base64 text is decoded."""

        id: str
        sequence: int
        total_length: int
        blob: _Bytes = Field(repr=False)
        end: bool

    class FileMessage(_Payload):
        """A file that the platform stores itself."""

        file_marker: str = "file_marker"

    class VariableMessage(_Payload):
        """A variable of the workflow that the tool runs in."""

        variable_name: str
        variable_value: Any = None
        stream: bool = False

    class LogMessage(_Payload):
        """An entry for the log of the run; plugins send null for metadata that they have not set."""

        id: str = ""
        label: str = ""
        parent_id: str | None = None
        error: str | None = None
        status: str = ""
        data: _Facts = Field(default_factory=dict[str, Any])
        metadata: _Facts = Field(default_factory=dict[str, Any])

    class RetrieverResourceMessage(_Payload):
        """The documents that the tool retrieved from a knowledge base."""

        retriever_resources: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]])
        context: str | None = None

    type: MessageType | str = Field(union_mode="left_to_right")
    message: Any = Field(default=None, validate_default=True)
    meta: dict[str, Any] | None = None

    @field_validator("message", mode="before")
    @classmethod
    def _read_payload(cls, value: object, info: ValidationInfo) -> object:
        # `type` is declared first and so has been read by now; it is missing if it was invalid.
        payload_type = _PAYLOAD_TYPES.get(info.data.get("type", ""))
        return value if payload_type is None else payload_type.model_validate(value)


_Message = DifyPluginToolInvokeMessage
_Type = DifyPluginToolInvokeMessage.MessageType
_PAYLOAD_TYPES: Final[Mapping[str, type[BaseModel]]] = {
    _Type.TEXT: _Message.TextMessage,
    _Type.IMAGE: _Message.TextMessage,
    _Type.LINK: _Message.TextMessage,
    _Type.BLOB: _Message.BlobMessage,
    _Type.JSON: _Message.JsonMessage,
    _Type.IMAGE_LINK: _Message.TextMessage,
    _Type.BINARY_LINK: _Message.TextMessage,
    _Type.VARIABLE: _Message.VariableMessage,
    _Type.FILE: _Message.FileMessage,
    _Type.LOG: _Message.LogMessage,
    _Type.BLOB_CHUNK: _Message.BlobChunkMessage,
    _Type.RETRIEVER_RESOURCES: _Message.RetrieverResourceMessage,
}
