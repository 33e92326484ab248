"""Runs an agent script behind a stdin/stdout contract, as typed outputs."""

from ._agent import read_production_env
from ._errors import ConfigurationError, InputError, InputProblem, RunnerError
from ._output import (
    AudioOutput,
    ErrorOutput,
    ImageOutput,
    JsonOutput,
    Output,
    ResourceOutput,
    TextOutput,
    classify_line,
)
from ._run import AgentRunner, RunResult


__all__ = [
    "AgentRunner",
    "AudioOutput",
    "ConfigurationError",
    "ErrorOutput",
    "ImageOutput",
    "InputError",
    "InputProblem",
    "JsonOutput",
    "Output",
    "ResourceOutput",
    "RunResult",
    "RunnerError",
    "TextOutput",
    "classify_line",
    "read_production_env",
]
