"""Whether the model searches its tools, as the agent node says."""

from ._errors import ParameterError


_CHOICES = {"auto": True, "off": False, "": False}


def read_tool_search(value: object) -> bool:
    """Read whether many tools are searched; nothing is off.

    Raises:
        ParameterError: If it is neither `auto` nor `off`.
    """
    choice = "" if value is None else value
    read = _CHOICES.get(choice.strip().lower()) if isinstance(choice, str) else None
    if read is None:
        raise ParameterError("tool_search", "auto or off", value)
    return read
