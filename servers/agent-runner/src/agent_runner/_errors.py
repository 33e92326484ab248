"""The errors of this package, by whose fault they are.

A script that fails is not an error here: its run ends with a result that says so.

RunnerError
├── ConfigurationError   the agent's owner: its folder, its schema, its environment, the command to run it with, a setting of the server
└── InputError           the caller: a field of the input is not what the agent expects (a ValueError too)
"""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass


class RunnerError(Exception):
    """The root of everything that this package raises."""


class ConfigurationError(RunnerError):
    """An agent or a server that cannot run with its present setup.

    Attributes:
        subject: The file or setting at fault.
    """

    def __init__(self, subject: str, message: str) -> None:
        super().__init__(f"{subject}: {message}")
        self.subject = subject


@contextmanager
def refusing_os_errors(subject: object, message: str) -> Generator[None]:
    """Turn errors of the operating system in the context into errors of the setup.

    Args:
        subject: The file or setting at fault.
        message: What was expected; the system's own words follow it.

    Raises:
        ConfigurationError: If the operating system refuses something.
    """
    try:
        yield
    except OSError as error:
        raise ConfigurationError(str(subject), f"{message}: {error.strerror}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class InputProblem:
    """One problem with the input.

    Attributes:
        field: Path of the field, such as `places[2].name`; `input` for the input as a whole.
        message: What was expected.
    """

    field: str
    message: str


class InputError(RunnerError, ValueError):
    """An input that does not fit the agent; the script was not started.

    Attributes:
        problems: All problems, at least one.
    """

    def __init__(self, *problems: InputProblem) -> None:
        super().__init__("; ".join(f"{problem.field}: {problem.message}" for problem in problems))
        self.problems = problems
