"""Runs an agent script behind a stdin/stdout contract, as typed outputs."""

from ._classify import classify_line
from ._outputs import (
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
    "classify_line",
]
