"""Errors of this face; `_http.problems` gives them the API's shape."""

from agent_server._http.problems import ProblemError
from agent_server.executor import Problem


def refuse(field: str, message: str, *, code: str = "invalid_value") -> ProblemError:
    """Return the error for a request with one wrong field.

    Args:
        field: The field, in the API's form, such as `input[2].content`.
        message: What was expected; never the value.
        code: The API's code.
    """
    return ProblemError(
        400, "The request is not valid.", Problem(field=field, message=message), code=code
    )


def not_found() -> ProblemError:
    """Return the error for a response that the tenant does not have."""
    return ProblemError(404, "There is no such response.", code="not_found")
