"""What an agent is: its folder, the input that it takes, the variables that it sees."""

from .environment import (
    ATTEMPT_VARIABLE,
    EnvironmentSettings,
    build_environment,
    read_production_env,
)
from .files import MOST_BYTES, MOST_FILES, check_files, remove_folder, run_folder, written_files
from .folder import SCRIPT, read_folder
from .input import build_payload, find_doubtful_files


__all__ = [
    "ATTEMPT_VARIABLE",
    "MOST_BYTES",
    "MOST_FILES",
    "SCRIPT",
    "EnvironmentSettings",
    "build_environment",
    "build_payload",
    "check_files",
    "find_doubtful_files",
    "read_folder",
    "read_production_env",
    "remove_folder",
    "run_folder",
    "written_files",
]
