"""The plugin, called as Dify calls it."""

import pytest

from dify_plugin_host.testing import DifyPlugin


@pytest.mark.parametrize(
    ("text", "words"), [("one two  three", 3), ("a line\nand another", 4), (" ", 0)]
)
def test_words_are_counted(dify_plugin: DifyPlugin, text: str, words: int) -> None:
    messages = dify_plugin.tool("count_words").invoke(text=text)
    assert messages.text == str(words)
    assert messages.variables == {"words": words}
