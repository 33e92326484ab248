"""The errors of this package.

::

    ValueError
      PayloadError    a parameter, a tool or a schema that cannot be sent; for the caller to correct
"""


class PayloadError(ValueError):
    """A value that cannot become part of a Responses request.

    The message names the field and what was expected. It may quote the offending value if that is a short
    setting (an effort, a tool's name), never a prompt, a schema or an argument payload.

    Attributes:
        field: The parameter at fault, dotted for a part of it: `reasoning_effort`, `json_schema.strict`.
    """

    field: str

    def __init__(self, message: str, *, field: str) -> None:
        super().__init__(message)
        self.field = field


def refused(field: str, reason: str) -> PayloadError:
    """Return the error for a field that cannot be sent; its message begins with the field's name."""
    return PayloadError(f"{field} {reason}", field=field)
