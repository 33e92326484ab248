"""The layer with what the user of one of Dify's agent apps says: a text, and files.

Source: docs/contracts/dify-agent.md, C69; langgenius/dify at 2a7a895cdc68 and 060ac914f3fd, `dify-agent/src/dify_agent/layers/user_prompt`.
"""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Literal, Self, override

from pydantic import Field, field_validator, model_validator
from pydantic_ai.messages import AudioUrl, BinaryContent, DocumentUrl, ImageUrl, VideoUrl

from dify_agent.compositor import (
    EmptyRuntimeState,
    LayerConfig,
    NoLayerDeps,
    PlainLayer,
    StrictModel,
    UserPrompt,
)
from stream_text import render_omission


__all__ = ["UserPromptLayer", "UserPromptLayerConfig"]


_LINKS: Final = {"image": ImageUrl, "audio": AudioUrl, "video": VideoUrl}
_NO_SHELL: Final = "it can only be downloaded in a shell, and there is none here"


class UserPromptFile(StrictModel):
    """A file of the user's.

    Attributes:
        delivery: `multimodal` for a file that the model gets, `download` for one that Dify leaves to a shell.
        type: Its kind.
        filename: Its name.
        mime_type: Its media type, which the model needs.
        format: The extension that belongs to it, which is not read.
        base64_data: Its bytes in base64, or else
        url: where it is.
        detail: How closely a model looks at an image.
        transfer_method: Where a file for a shell comes from.
        reference: Dify's name for a file for a shell.
    """

    delivery: Literal["multimodal", "download"] = "multimodal"
    type: Literal["image", "document", "audio", "video", "custom"]
    filename: str = ""
    mime_type: str = ""
    format: str = ""
    base64_data: str | None = Field(default=None, repr=False)
    url: str | None = None
    detail: Literal["low", "high"] | None = None
    transfer_method: Literal["remote_url", "local_file", "tool_file", "datasource_file"] | None = (
        None
    )
    reference: str | None = None

    @field_validator("base64_data")
    @classmethod
    def _validate_base64(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                base64.b64decode(value, validate=True)
            except (binascii.Error, ValueError):
                raise ValueError("expected base64") from None
        return value

    @model_validator(mode="after")
    def _validate_source(self) -> Self:
        if self.delivery == "multimodal":
            if (self.base64_data is None) == (self.url is None):
                raise ValueError("expected either base64_data or url")
            if not self.mime_type:
                raise ValueError("expected a mime_type")
        return self


class UserPromptLayerConfig(LayerConfig):
    """What the user says.

    Attributes:
        text: The text.
        files: The files that follow it.
    """

    text: str
    files: list[UserPromptFile] = Field(default_factory=list[UserPromptFile], fail_fast=True)


@dataclass(slots=True, eq=False)
class UserPromptLayer(PlainLayer[NoLayerDeps, UserPromptLayerConfig, EmptyRuntimeState]):
    """What the user of an agent app says.

    Attributes:
        prompts: The text, if it is not blank, and the files; their base64 is not kept beside their bytes.
    """

    type_id: ClassVar[str] = "dify.user_prompt"

    prompts: Sequence[UserPrompt]

    @classmethod
    @override
    def from_config(cls, config: UserPromptLayerConfig) -> Self:
        text = [config.text] if config.text.strip() else []
        return cls(prompts=[*text, *map(_to_prompt, config.files)])

    @property
    @override
    def user_prompts(self) -> Sequence[UserPrompt]:
        return self.prompts


def _to_prompt(file: UserPromptFile) -> UserPrompt:
    if file.delivery == "download":
        name = file.filename or file.reference or file.url or ""
        return render_omission("file", reason=_NO_SHELL, name=name)
    about = {"filename": file.filename, "detail": file.detail}
    metadata = {name: value for name, value in about.items() if value} or None
    if file.base64_data is not None:
        data = base64.b64decode(file.base64_data)
        return BinaryContent(data=data, media_type=file.mime_type, vendor_metadata=metadata)
    link = _LINKS.get(file.type, DocumentUrl)
    return link(url=file.url or "", media_type=file.mime_type, vendor_metadata=metadata)
