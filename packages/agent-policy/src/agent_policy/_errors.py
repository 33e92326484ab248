"""The error of this package, and whose fault it is.

PolicyError (ValueError)    the caller passed something that is not an instruction or a set of overrides
"""


class PolicyError(ValueError):
    """A value that cannot be turned into a system instruction.

    Attributes:
        field: Name of the argument at fault.
    """

    def __init__(self, field: str, expected: str, value: object) -> None:
        super().__init__(f"{field} must be {expected}, got {type(value).__name__}")
        self.field = field
