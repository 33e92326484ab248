"""What an agent is: its folder, the input that it takes, the variables that it sees."""

from .environment import (
    REQUEST_VARIABLE,
    EnvironmentSettings,
    build_environment,
    read_production_env,
)
from .folder import SCRIPT, read_folder
from .input import build_payload


__all__ = [
    "REQUEST_VARIABLE",
    "SCRIPT",
    "EnvironmentSettings",
    "build_environment",
    "build_payload",
    "read_folder",
    "read_production_env",
]
