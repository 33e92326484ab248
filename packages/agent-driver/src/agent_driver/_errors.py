"""The root of the package's errors."""


class AgentDriverError(Exception):
    """An error of this package."""
