"""The outputs that plugins send as variables."""

from typing import Any

from dify_plugin_packager.json_access import JsonObject


def set_variable(values: dict[str, Any], content: JsonObject) -> None:
    """Add what a message of the type `variable` says: a value, or a piece of a text that is streamed."""
    name, value = str(content.get("variable_name")), content.get("variable_value")
    values[name] = f"{values.get(name, '')}{value}" if content.get("stream") else value
