"""What can go wrong in a server, beside a run itself.

DifyAgentError
├── RunNotFoundError (LookupError)   the client: there is no such run, or it was deleted after its time
├── StorageError                     the operator: the database cannot be used, or what is stored cannot be read
└── RequestError                     the client: an HTTP request that cannot be answered as it stands
"""

from collections.abc import Sequence
from dataclasses import dataclass

from dify_agent.exceptions import DifyAgentError


class RunNotFoundError(DifyAgentError, LookupError):
    """A run that is not known.

    Attributes:
        run_id: The id as it was asked for.
    """

    def __init__(self, run_id: str) -> None:
        super().__init__(f"There is no run {run_id!r}.")
        self.run_id = run_id


class StorageError(DifyAgentError):
    """A database that cannot be used, or something stored in it that cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldProblem:
    """What is wrong with one field of a request.

    Attributes:
        field: Where the field stands, such as `composition.layers.0.type`.
        message: What was expected; never the value.
    """

    field: str
    message: str


class RequestError(DifyAgentError):
    """An HTTP request that cannot be answered as it stands.

    Attributes:
        status_code: The HTTP status to answer with.
        code: The kind of error, for programs.
        message: The same for people.
        details: What is wrong with single fields.
    """

    def __init__(
        self, status_code: int, code: str, message: str, details: Sequence[FieldProblem] = ()
    ) -> None:
        super().__init__(message)
        self.status_code = status_code
        self.code = code
        self.message = message
        self.details = tuple(details)
