"""The fixed sentences for Dify's tools, their files and Dify's tool layer.

Source: docs/contracts/gpt5-agent-strategies.md, B31; docs/contracts/dify-agent.md, C34.
"""

from collections.abc import Iterable
from typing import Final

from agent_tooling._json_text import value_text
from agent_tooling._sentences import validation_error_text


_NAMES_LISTED: Final = 20

CHECK_CREDENTIALS: Final = "Please check your tool provider credentials"
"""The sentence for a tool whose provider refused its credentials."""

LOCAL_FILE_FAILED: Final = "Failed to process generated image file."
"""The sentence for a file that a tool named and that cannot be handed out."""


def unknown_file_text(parameter: str, name: str, names: Iterable[str]) -> str:
    """Return the sentence for a name that no file at hand has; it lists the last 20 of the existing `names`."""
    known = list(names)
    more = "..., " if len(known) > _NAMES_LISTED else ""
    listed = ", ".join(known[-_NAMES_LISTED:]) or "none"
    return validation_error_text(
        f"parameter '{parameter}': no file at hand has the name {value_text(name)}; at hand are: {more}{listed}"
    )


def parameters_error_text(error: str) -> str:
    """Return the sentence of Dify's tool layer for values that were refused while the call was prepared or run."""
    return f"tool parameters validation error: {error}, please check your tool parameters"


def invoke_error_text(error: str) -> str:
    """Return the sentence of Dify's tool layer for an error that the plugin daemon reported."""
    return f"tool invoke error: {error}"
