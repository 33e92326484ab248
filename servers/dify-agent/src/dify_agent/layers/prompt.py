"""The layer with plain text: instructions, and the user's texts and files."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, override

from pydantic import FailFast, Field

from dify_agent.compositor import (
    EmptyRuntimeState,
    LayerConfig,
    NoLayerDeps,
    PlainLayer,
    UserPrompt,
)


__all__ = ["PromptLayer", "PromptLayerConfig"]


type _Texts = Annotated[list[str], FailFast()]
type _Prompts = Annotated[list[UserPrompt], FailFast()]


class PromptLayerConfig(LayerConfig):
    """The texts for the model; each field is one text or several.

    Attributes:
        prefix: The beginning of the instruction.
        user: The user's message; among several texts there may be files, as Pydantic AI's `ImageUrl`, `DocumentUrl`, `AudioUrl`, `VideoUrl` and
            `BinaryContent` (in JSON by their `kind`, bytes as base64), with `filename` and `detail` in `vendor_metadata`.
        suffix: The end of the instruction.
    """

    prefix: str | _Texts = Field(default_factory=list[str])
    user: str | _Prompts = Field(default_factory=list[UserPrompt])
    suffix: str | _Texts = Field(default_factory=list[str])


@dataclass(slots=True, eq=False)
class PromptLayer(PlainLayer[NoLayerDeps, PromptLayerConfig, EmptyRuntimeState]):
    """Plain text for a run.

    Attributes:
        config: The texts.
    """

    type_id: ClassVar[str] = "plain.prompt"

    config: PromptLayerConfig

    @property
    @override
    def prefix_prompts(self) -> Sequence[str]:
        """Return the texts that the instruction begins with."""
        return _texts(self.config.prefix)

    @property
    @override
    def suffix_prompts(self) -> Sequence[str]:
        """Return the texts that the instruction ends with."""
        return _texts(self.config.suffix)

    @property
    @override
    def user_prompts(self) -> Sequence[UserPrompt]:
        """Return the user's texts and files."""
        return _said(self.config.user)


def _texts(value: str | list[str]) -> list[str]:
    """Return the texts that are not blank."""
    return [text for text in ([value] if isinstance(value, str) else value) if text.strip()]


def _said(value: str | list[UserPrompt]) -> list[UserPrompt]:
    """Return the files, and the texts that are not blank."""
    prompts: list[UserPrompt] = [value] if isinstance(value, str) else value
    return [prompt for prompt in prompts if not isinstance(prompt, str) or prompt.strip()]
