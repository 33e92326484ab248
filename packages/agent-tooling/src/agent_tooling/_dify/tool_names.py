"""Names by which a model calls tools: valid for every API, and unique."""

from collections.abc import Iterable

from agent_tooling._errors import DeclarationError
from stream_text import read_member, valid_tool_names


def unique_tool_names(tools: Iterable[object]) -> tuple[str, ...]:
    """Return a distinct name for each tool, in their order, as `stream_text.valid_tool_names` makes them.

    Args:
        tools: Mappings or objects with an `identity` that has `name` and `provider`.

    Raises:
        DeclarationError: If a tool has no name.
    """
    return valid_tool_names(map(_identity, tools))


def _identity(tool: object) -> tuple[str, str]:
    """Return a tool's provider and name."""
    identity = read_member(tool, "identity")
    name = read_member(identity, "name")
    if not isinstance(name, str) or not name:
        raise DeclarationError("tool identity.name", "text that is not empty", name)
    return str(read_member(identity, "provider") or ""), name
