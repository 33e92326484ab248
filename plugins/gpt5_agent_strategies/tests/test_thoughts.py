"""What the reader sees of thoughts, and what the model gets back of its own."""

import pytest

from scripted_dify import call, chunk, parameter, text_message, tool


ADD = tool("add", parameter("a", "number"))
SUM = call("add", '{"a": 2}')
OPAQUE = {
    "responses_output": [{"type": "reasoning", "encrypted_content": "x"}],
    "carry": "content_part",
}


def assistants(agent, index):
    messages = agent.dify.model_requests[index]["prompt_messages"]
    return [message for message in messages if message["role"] == "assistant"]


def test_shown_thoughts_are_balanced_in_every_round(agent):
    """C15: the official strategy shows a thought's opening and loses its end at a tool call."""
    agent.dify.model = [
        [chunk("<think>\nplan"), chunk(calls=[SUM])],
        [chunk("<think>more</thi"), chunk("nk></think>4")],
    ]
    agent.dify.tools["add"] = [text_message("4")]
    transcript = agent.run(tools=[ADD])
    assert transcript.text == "<think>\nplan\n</think>\n<think>more</think>4"
    assert transcript.final_answer == "4"


@pytest.mark.parametrize("flag", [False, "FALSE", 0, "no"])
def test_hidden_thoughts_leave_no_trace_while_the_rest_streams(agent, flag):
    """C24: split tags leak out of the official ReAct strategy."""
    agent.dify.model = [
        [chunk("<th"), chunk("ink>plan</"), chunk("think>Adding."), chunk(calls=[SUM])],
        [chunk("<think>a<think>b</think>c</think>"), chunk("4"), chunk("2")],
    ]
    agent.dify.tools["add"] = [text_message("4")]
    transcript = agent.run(tools=[ADD], emit_intermediate_thoughts=flag)
    texts = [message["message"]["text"] for message in transcript.of("text")]
    assert texts == ["Adding.", "\n4", "2"]
    assert transcript.final_answer == "42"


SPEAKS_OF_TAGS = [
    "Use the `<think>` tag, and `</think>` behind it.",
    "Use the <think> tag.",
    "So:\r\n```html\r\n<think>\r\nplan\r\n</think>\r\n```\r\nIs that all?",
    '> <think>\n> plan\n> </think>\nis "<think>" in a quote.',
    "The tag\n<think>\nopens a thought.",
]


@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize("text", SPEAKS_OF_TAGS)
def test_an_answer_that_speaks_of_tags_is_shown_whole(agent, text, flag):
    agent.dify.model = [[chunk(letter) for letter in f"<think>\nplan\n</think>\n{text}"]]
    transcript = agent.run(emit_intermediate_thoughts=flag)
    assert transcript.text == (f"<think>\nplan\n</think>\n{text}" if flag else text)


def test_a_thought_that_speaks_of_tags_ends_where_it_ends(agent):
    thought = "The `</think>` tag, as in\n```\n</think>\n```\nand <think>a</think>"
    answer = [[chunk(letter) for letter in f"<think>{thought}</think>4"]]
    agent.dify.model = list(answer)
    assert agent.run(emit_intermediate_thoughts=False).text == "4"
    agent.dify.model = list(answer)
    # Dify ends a thought at the first closing tag.
    shown, _, rest = agent.run().text.partition("</think>")
    assert (shown.replace("< ", "<"), rest) == (f"<think>{thought}", "4")


def test_a_thought_that_never_ends_hides_no_answer(agent):
    agent.dify.model = [[chunk("<think>So the <think> tag.\n</think>\n4 <"), chunk("5")]]
    assert agent.run(emit_intermediate_thoughts=False).text == "4 <5"
    agent.dify.model = [[chunk("Let me see.\n<think>plan"), chunk(calls=[SUM])], [chunk("4")]]
    agent.dify.tools["add"] = [text_message("4")]
    assert agent.run(tools=[ADD]).text == "Let me see.\n<think>plan\n</think>\n4"


@pytest.mark.parametrize("flag", [True, "TRUE", 1, None])
def test_a_silent_round_says_which_tools_it_calls(agent, flag):
    agent.dify.model = [[chunk(calls=[SUM])], [chunk("4")]]
    agent.dify.tools["add"] = [text_message("4")]
    transcript = agent.run(tools=[ADD], emit_intermediate_thoughts=flag)
    assert transcript.text == "<think>\nCalling add\n</think>\n4"


def test_an_action_quoted_in_a_text_is_never_run(agent):
    """C22 and C23: the official ReAct strategy runs what a thought only quotes."""
    quoted = 'I could use {"action": "add", "action_input": {"a": 2}}.\nFinalAnswer: 4'
    agent.dify.model = [[chunk(quoted)]]
    transcript = agent.run(strategy="gpt5_react", tools=[ADD])
    assert transcript.text == quoted
    assert agent.dify.tool_requests == []


@pytest.mark.parametrize(
    "answer",
    [
        chunk("Adding.", calls=[SUM], opaque=OPAQUE),
        chunk(
            content=[{"type": "text", "data": "Adding.", "opaque_body": OPAQUE}],
            calls=[SUM],
        ),
    ],
)
def test_reasoning_goes_back_in_a_content_part_and_nowhere_else(agent, answer):
    """C4: the official strategy loses it."""
    agent.dify.model = [[answer], [chunk("4")]]
    agent.dify.tools["add"] = [text_message("4")]
    agent.run(tools=[ADD])
    [message] = assistants(agent, 1)
    assert message["opaque_body"] is None  # the daemon refuses any other value here
    assert message["content"] == [{"opaque_body": OPAQUE, "type": "text", "data": "Adding."}]
    assert [call_["id"] for call_ in message["tool_calls"]] == ["c1"]


@pytest.mark.parametrize("mark", [{}, {"carry": "message"}, {"carry": None}])
def test_what_does_not_ask_for_a_content_part_leaves_the_content_plain_text(agent, mark):
    """The official OpenAI plugin cannot read content in parts, and the server then refuses the request."""
    opaque = {"responses_output": OPAQUE["responses_output"]} | mark
    agent.dify.model = [[chunk("Adding.", calls=[SUM], opaque=opaque)], [chunk("4")]]
    agent.dify.tools["add"] = [text_message("4")]
    agent.run(tools=[ADD])
    [message] = assistants(agent, 1)
    assert (message["content"], message["opaque_body"]) == ("Adding.", None)


def test_without_anything_to_carry_the_content_is_plain_text(agent):
    agent.dify.model = [[chunk(calls=[SUM])], [chunk("4")]]
    agent.dify.tools["add"] = [text_message("")]
    agent.run(tools=[ADD])
    messages = agent.dify.model_requests[1]["prompt_messages"]
    assert [message["content"] for message in messages[2:]] == ["", ""]


@pytest.mark.parametrize("strategy", ["gpt5_function_calling", "gpt5_react"])
@pytest.mark.parametrize("flag", [True, False])
def test_what_the_model_said_goes_back_as_its_plugin_gave_it(agent, strategy, flag):
    """The plugins of DeepSeek and Moonshot rebuild a model's reasoning from its `<think>` blocks."""
    agent.dify.model = [
        [chunk("<think>\n\u2063pl"), chunk("an\n</think>\n\nAdding. "), chunk(calls=[SUM])],
        [chunk("<think>more</think>4")],
    ]
    agent.dify.tools["add"] = [text_message("4")]
    transcript = agent.run(strategy=strategy, tools=[ADD], emit_intermediate_thoughts=flag)
    assert assistants(agent, 1)[0]["content"] == "<think>\n\u2063plan\n</think>\n\nAdding. "
    assert ("plan" in transcript.text, "more" in transcript.text) == (flag, flag)


def test_the_history_comes_between_instruction_and_query_as_it_is(agent):
    agent.dify.model = [[chunk("4")]]
    history = [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "<think>greet</think>Hi", "opaque_body": OPAQUE},
        {"role": "assistant", "content": [{"type": "text", "data": "<think>b</think>Ho"}]},
        {"role": "developer", "content": "Formal."},
        {"role": "assistant", "content": None, "tool_calls": [SUM]},
        {"role": "tool", "content": "4", "tool_call_id": "c1"},
    ]
    agent.run(model={"history_prompt_messages": history})
    messages = agent.dify.model_requests[0]["prompt_messages"][1:]
    thinking = {"type": "text", "data": "<think>greet</think>Hi"}
    assert [(message["role"], message["content"]) for message in messages] == [
        ("user", "Hello"),
        ("assistant", [thinking | {"opaque_body": OPAQUE}]),
        ("assistant", [{"opaque_body": None, "type": "text", "data": "<think>b</think>Ho"}]),
        ("system", "Formal."),
        ("assistant", ""),
        ("tool", "4"),
        ("user", "What is 2 + 2?"),
    ]
    assert all(message.get("opaque_body") is None for message in messages)


IMAGE = {
    "type": "image",
    "format": "png",
    "mime_type": "image/png",
    "detail": "high",
    "url": "https://example.org/a.png",
}


DOCUMENT = {
    "type": "document",
    "format": "pdf",
    "mime_type": "application/pdf",
    "url": "https://example.org/a.pdf",
}


def ask_about(agent, part, features):
    agent.dify.model = [[chunk(calls=[SUM])], [chunk("4")]]
    agent.dify.tools["add"] = [text_message("4")]
    parts = [{"type": "text", "data": "What is this?"}, part]
    model = {
        "history_prompt_messages": [{"role": "user", "content": parts}],
        "entity": features and {"features": features, "parameter_rules": []},
    }
    agent.run(tools=[ADD], model=model)
    return [request["prompt_messages"][1]["content"] for request in agent.dify.model_requests]


@pytest.mark.parametrize("features", [["vision"], None])
def test_images_stay_in_all_rounds_where_the_model_sees(agent, features):
    """C14: the official strategy drops them after the first round."""
    first, second = ask_about(agent, IMAGE, features)
    assert (first[1]["url"], first[1]["detail"]) == ("https://example.org/a.png", "high")
    assert second == first


def test_documents_stay_where_the_model_reads_them(agent):
    first, second = ask_about(agent, DOCUMENT, ["document"])
    assert first[1]["url"] == "https://example.org/a.pdf"
    assert second == first


@pytest.mark.parametrize(("part", "told"), [(IMAGE, "image"), (DOCUMENT, "document")])
def test_a_model_that_cannot_read_a_file_is_told_that_there_was_one(agent, part, told):
    said = f"What is this?\n[{told} omitted: this model does not read it]"
    assert ask_about(agent, part, ["tool-call"]) == [said] * 2


def part(text, phase):
    return {"type": "text", "data": text, "opaque_body": {"phase": phase}}


@pytest.mark.parametrize("finish", [None, "tool_calls"])
def test_what_comes_in_one_piece_with_calls_is_hidden_with_the_thoughts(agent, finish):
    answer = [{"type": "text", "data": "Let me"}, {"type": "text", "data": " add."}]
    agent.dify.model = [[chunk(content=answer, calls=[SUM], finish=finish)], [chunk("4")]]
    agent.dify.tools["add"] = [text_message("4")]
    transcript = agent.run(tools=[ADD], emit_intermediate_thoughts=False)
    assert transcript.text == "4"
    assert assistants(agent, 1)[0]["content"] == "Let me add."


@pytest.mark.parametrize(("flag", "shown"), [(False, "4"), (True, "I add.\n4")])
def test_commentary_is_shown_only_with_the_thoughts(agent, flag, shown):
    agent.dify.model = [
        [
            chunk(content=[part("I a", "commentary")]),
            chunk(content=[part("dd.", "commentary")]),
            chunk(calls=[SUM], opaque=OPAQUE),
        ],
        [chunk(content=[part("4", "final_answer")])],
    ]
    agent.dify.tools["add"] = [text_message("4")]
    transcript = agent.run(tools=[ADD], emit_intermediate_thoughts=flag)
    assert transcript.text == shown
    [message] = assistants(agent, 1)
    assert message["content"] == [{"opaque_body": OPAQUE, "type": "text", "data": "I add."}]


def test_commentary_and_answer_in_one_piece_are_told_apart(agent):
    agent.dify.model = [[chunk(content=[part("Easy.", "commentary"), part("4", "final_answer")])]]
    assert agent.run(emit_intermediate_thoughts=False).text == "4"


def test_a_phase_is_nothing_to_carry_back(agent):
    agent.dify.model = [
        [chunk(opaque=OPAQUE), chunk(content=[part("I add.", "commentary")], calls=[SUM])],
        [chunk("4")],
    ]
    agent.dify.tools["add"] = [text_message("4")]
    agent.run(tools=[ADD])
    assert assistants(agent, 1)[0]["content"][0]["opaque_body"] == OPAQUE


def test_a_result_in_the_history_that_names_no_call_is_left_out(agent):
    agent.dify.model = [[chunk("4")]]
    history = [
        {"role": "user", "content": "Hello"},
        {"role": "tool", "content": "3"},
        {"role": "tool", "content": "3", "tool_call_id": None},
        {"role": "tool", "content": "3", "tool_call_id": ""},
    ]
    assert agent.run(model={"history_prompt_messages": history}).text == "4"
    roles = [message["role"] for message in agent.dify.model_requests[0]["prompt_messages"]]
    assert roles == ["system", "user", "user"]
