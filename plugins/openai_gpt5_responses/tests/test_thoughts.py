"""Words that speak of `<think>`: what a person sees of them, what Dify reads, and what the model gets back."""

import re

import pytest

from gpt5_messages import render_addendum
from gpt5_simulator import Reasoning, ResponsesSimulator, ScriptedModel, Text
from model_plugin import ModelPlugin


SUMMARY = "The `</think>` tag, <think> and\n<THINK>\n</think>\nit."
FENCED = "So:\r\n\r\n```html\r\n<think>\r\nno\r\n</think>\r\n```\r\n"
WORDS = [
    "Use the `<think>` tag, and `</think>` behind it.",
    "Use the <think> tag.",
    FENCED,
    '> <think>\n> "</think>"',
    "<think>\nnot a thought\n</think>\nSo.",
    "Hm.\n<THINK>not a thought</THINK>",
    "< think>\nleft open",
]


def simulate(words: str) -> ResponsesSimulator:
    turn = (Reasoning(summary=(SUMMARY, "**Next**")), Text(text=words))
    return ResponsesSimulator(model=ScriptedModel([turn], repeat=True))


def separate(text: str) -> tuple[str, list[str]]:
    """Return the answer and the thoughts as Dify's `reasoning_format: separated` tells them apart."""
    block = re.compile(r"<think>(.*?)</think>", re.DOTALL | re.IGNORECASE)
    return block.sub("", text, count=1), block.findall(text)[:1]


@pytest.mark.parametrize("words", WORDS)
def test_words_about_thoughts_stay_words_on_their_way_out_and_back(
    plugin: ModelPlugin, words: str
) -> None:
    ask = {"role": "user", "content": "How do I write it?"}
    with simulate(words) as server:
        first = plugin.invoke(server, [ask])
        said = {"role": "assistant", "content": first.text}
        plugin.invoke(server, [ask, said, {"role": "user", "content": "And?"}])
        remembered = server.requests[-1].body["input"]
        plugin.invoke(server, [said, {"role": "user", "content": "And?"}])
        told = server.requests[-1].body["input"]

    # Dify ends a thought at the first closing tag.
    seen, [thought] = separate(first.text)
    assert thought.replace("< ", "<") == f"\n{SUMMARY}\n\n**Next**\n"
    assert re.sub("< *", "<", seen) == re.sub("< *", "<", words)
    assert not re.search("(?im)^</?think>", seen.replace(FENCED, ""))
    assert [item["type"] for item in remembered] == ["message", "reasoning", "message", "message"]
    assert remembered[2]["content"][0]["text"] == words
    assert told[0] == {"type": "message", "role": "assistant", "content": words}


@pytest.mark.parametrize("words", ["<think>\nno\n</think>", '{"a": "\\n<think>"}'])
def test_what_a_program_reads_is_not_changed(plugin: ModelPlugin, words: str) -> None:
    json_only = {"response_format": "json_object"}
    with simulate(words) as server:
        assert plugin.invoke(server, "In JSON.", model_parameters=json_only).text == words
        off = {"reasoning_summary": "off"}
        assert plugin.invoke(server, stream=False, model_parameters=off).text.endswith(words)


HISTORY = [
    ("<think>\nplan\n</think>So.", "So."),
    ("<think>\r\nplan\r\n</think>\r\nSo.", "So."),
    ("<think>\nThe </think> tag.\n</think>\nSo.", "So."),
    ("Hm.\n<think>\nplan\n</think> So.", "Hm.\n So."),
    (f"Hm.{render_addendum('- [A](https://a)')}\n<think>\nplan\n</think>So.", "Hm.\nSo."),
    ("So.\n<think>\nwas stopped here", "So.\n<think>\nwas stopped here"),
    ("Use the `<think>` tag.", "Use the `<think>` tag."),
    ("<think>plan</think>So.", "<think>plan</think>So."),
    (FENCED, FENCED),
]


@pytest.mark.parametrize(("content", "told"), HISTORY)
def test_only_what_the_plugin_has_shown_as_a_thought_is_taken_out_of_the_history(
    plugin: ModelPlugin, content: str, told: str
) -> None:
    stopped = {"role": "assistant", "content": "<think>\nwas stopped"}
    said = {"role": "assistant", "content": content}
    with simulate("So.") as server:
        plugin.invoke(server, [stopped, said, {"role": "user", "content": "And?"}])

    sent = server.requests[-1].body["input"][0]
    assert sent == {"type": "message", "role": "assistant", "content": told}
