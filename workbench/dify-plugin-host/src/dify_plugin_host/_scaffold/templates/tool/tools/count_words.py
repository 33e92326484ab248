"""The tool `count_words`."""

from collections.abc import Generator
from typing import Any

from dify_plugin import Tool
from dify_plugin.entities.tool import ToolInvokeMessage


class CountWords(Tool):
    """A counter of words, which are what stands between spaces and line ends."""

    def _invoke(self, tool_parameters: dict[str, Any]) -> Generator[ToolInvokeMessage]:
        """Count the words of the parameter `text`."""
        words = len(str(tool_parameters["text"]).split())
        # The text is what a model and people read, the variable what the next nodes of a workflow take.
        yield self.create_text_message(str(words))
        yield self.create_variable_message("words", words)
