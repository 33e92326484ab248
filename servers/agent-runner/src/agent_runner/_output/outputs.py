"""The typed outputs, with one class for each type of the contract.

Source: docs/contracts/agent-runner.md, E8 to E14.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class TextOutput:
    """A line that is not JSON.

    Attributes:
        text: The line without its line end.
        invalid_utf8: Whether bytes that are not UTF-8 were replaced by U+FFFD.
    """

    type: ClassVar[Literal["text_output"]] = "text_output"
    text: str
    invalid_utf8: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the output as a JSON object: `type` and `text`."""
        return {"type": self.type, "text": self.text}


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonOutput:
    """A line of JSON without a `type`, or with one that the contract does not know.

    Attributes:
        value: The JSON value; an object comes without the metadata fields.
        metadata: The fields `_llm_usage`, `_profile_data` and `_trace_data`, which callers do not see.
        invalid_utf8: Whether bytes that are not UTF-8 were replaced by U+FFFD.
    """

    type: ClassVar[Literal["json_output"]] = "json_output"
    value: Any
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    invalid_utf8: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the output as a JSON object: `type` and `value`, never the metadata."""
        return {"type": self.type, "value": self.value}


@dataclass(frozen=True, slots=True, kw_only=True)
class _MediaOutput:
    value: Mapping[str, Any]
    invalid_utf8: bool = False

    @property
    def mime_type(self) -> str | None:
        """Return `mimeType`; None if it is missing or not a string."""
        return self._text_field("mimeType")

    def to_dict(self) -> dict[str, Any]:
        """Return the object as the script printed it."""
        return dict(self.value)

    def _text_field(self, name: str) -> str | None:
        value = self.value.get(name)
        return value if isinstance(value, str) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageOutput(_MediaOutput):
    """An image. Only its `type` makes it one, so any other field may be missing.

    Attributes:
        value: The object as the script printed it.
        invalid_utf8: Whether bytes that are not UTF-8 were replaced by U+FFFD.
    """

    type: ClassVar[Literal["image_output"]] = "image_output"

    @property
    def data(self) -> str | None:
        """Return the image in base64 (not checked); None if it is missing or not a string."""
        return self._text_field("data")


@dataclass(frozen=True, slots=True, kw_only=True)
class AudioOutput(_MediaOutput):
    """A sound. Only its `type` makes it one, so any other field may be missing.

    Attributes:
        value: The object as the script printed it.
        invalid_utf8: Whether bytes that are not UTF-8 were replaced by U+FFFD.
    """

    type: ClassVar[Literal["audio_output"]] = "audio_output"

    @property
    def data(self) -> str | None:
        """Return the sound in base64 (not checked); None if it is missing or not a string."""
        return self._text_field("data")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceOutput(_MediaOutput):
    """A file or another resource. Only its `type` makes it one, so any other field may be missing.

    Attributes:
        value: The object as the script printed it.
        invalid_utf8: Whether bytes that are not UTF-8 were replaced by U+FFFD.
    """

    type: ClassVar[Literal["resource_output"]] = "resource_output"

    @property
    def uri(self) -> str | None:
        """Return `uri`; None if it is missing or not a string."""
        return self._text_field("uri")

    @property
    def text(self) -> str | None:
        """Return `text`; None if it is missing or not a string."""
        return self._text_field("text")


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorOutput:
    """A line of stderr, or an error that the runner reports.

    A script may write to stderr and succeed: its exit code decides.

    Attributes:
        message: The line without its line end, or the runner's sentence.
        source: Where it comes from: the script's `stderr`, or the `runner`.
        invalid_utf8: Whether bytes that are not UTF-8 were replaced by U+FFFD.
    """

    type: ClassVar[Literal["error"]] = "error"
    message: str
    source: Literal["stderr", "runner"] = "stderr"
    invalid_utf8: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the output as a JSON object: `type`, `message` and `source`."""
        return {"type": self.type, "message": self.message, "source": self.source}


type Output = JsonOutput | TextOutput | ImageOutput | AudioOutput | ResourceOutput | ErrorOutput
"""A typed output of a script."""
