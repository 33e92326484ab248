"""Runs agent scripts behind a stdin/stdout contract, and returns their typed outputs."""

from ._agent.environment import read_production_env
from ._errors import ConfigurationError, InputError, InputProblem, RunnerError
from ._output.classify import classify_line
from ._output.outputs import (
    AudioOutput,
    ErrorOutput,
    ImageOutput,
    JsonOutput,
    Output,
    ResourceOutput,
    TextOutput,
)
from ._run.result import RunResult
from ._run.runner import AgentRunner


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
