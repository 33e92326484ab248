"""What a script says: a typed output for each line."""

from .classify import classify_error, classify_line
from .outputs import (
    AudioOutput,
    ErrorOutput,
    ImageOutput,
    JsonOutput,
    Output,
    ResourceOutput,
    TextOutput,
)


__all__ = [
    "AudioOutput",
    "ErrorOutput",
    "ImageOutput",
    "JsonOutput",
    "Output",
    "ResourceOutput",
    "TextOutput",
    "classify_error",
    "classify_line",
]
