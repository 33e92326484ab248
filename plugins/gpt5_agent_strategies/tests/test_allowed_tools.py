"""The only tools that a run may call."""

import pytest

from scripted_dify import call, chunk, text_message, tool


TOOLS = [tool("clock"), tool("mail"), tool("clock", provider="other/b/b")]
TAKES_NAMES = {"parameter_rules": [{"name": "allowed_tools"}, {"name": "tool_choice"}]}
REFUSED = "tool invoke error: {} may not be called in this run; allowed are: {}"


def ask(agent, *names, model=None, **parameters):
    calls = [call(name, id_=f"c{index}") for index, name in enumerate(names)]
    agent.dify.model = [[chunk(calls=calls)], [chunk("Done.")]]
    agent.dify.tools |= {"clock": [text_message("21:04")], "mail": [text_message("sent")]}
    transcript = agent.run(tools=TOOLS, model=model or {}, **parameters)
    assert transcript.text.endswith("Done.")
    return transcript


def results(agent):
    prompts = agent.dify.model_requests[1]["prompt_messages"]
    return [m["content"] for m in prompts if m["role"] == "tool"]


def sent(agent):
    return [r["completion_params"].get("allowed_tools") for r in agent.dify.model_requests]


@pytest.mark.parametrize(
    "value",
    [["mail"], "mail", " mail\n\n", '["mail"]', '"mail"', "nothing\nmail", ["mail", None, ""]],
    ids=repr,
)
def test_only_what_is_allowed_is_called_and_all_is_offered(agent, value):
    ask(agent, "mail", "tools_clock", raw={"allowed_tools": value})
    told = results(agent)
    assert told[0] == "sent"
    assert told[1] == REFUSED.format("tools_clock", "mail")
    assert [request["tool"] for request in agent.dify.tool_requests] == ["mail"]
    assert [len(request["tools"]) for request in agent.dify.model_requests] == [
        4,
        4,
    ]  # with `read_result`
    assert sent(agent) == [None, None]


@pytest.mark.parametrize("value", [None, "", "\n", [], [None], "[]"], ids=repr)
def test_nothing_allows_all(agent, value):
    ask(agent, "mail", raw={"allowed_tools": value})
    assert results(agent) == ["sent"]


def test_a_name_that_two_tools_share_allows_both_and_the_name_of_one_that_one(agent):
    names = ["tools_clock", "mail", "b_clock"]
    ask(agent, *names, allowed_tools="clock")
    assert results(agent) == ["21:04", REFUSED.format("mail", "tools_clock, b_clock"), "21:04"]
    agent.reset()
    ask(agent, *names, allowed_tools="b_clock")
    assert [text.startswith("tool invoke error") for text in results(agent)] == [True, True, False]


def test_a_name_that_no_tool_has_is_told(agent):
    transcript = ask(agent, "mail", allowed_tools="mail\npost")
    log = transcript.logs["Allowed tools left out"]
    assert log["data"] == {"left_out": ["post: no tool of this name"]}
    assert "Allowed tools left out: post: no tool of this name" in agent.log


def test_where_no_name_fits_no_tool_may_be_called(agent):
    ask(agent, "mail", allowed_tools="post")
    assert results(agent) == [REFUSED.format("mail", "none")]
    assert agent.dify.tool_requests == []


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ('["mail"', "allowed_tools must be valid JSON where it begins like it, not text"),
        ("[1]", "allowed_tools must be names of tools: a list, a JSON list, or one a line"),
        ({"mail": True}, "not an object"),
        (7, "not 7"),
    ],
)
def test_what_names_no_tools_is_refused(agent, value, sentence):
    transcript = agent.run(tools=TOOLS, raw={"allowed_tools": value})
    assert sentence in transcript.error.message
    assert agent.dify.model_requests == []


@pytest.mark.parametrize(
    ("completion_params", "names"),
    [
        ({}, ["mail\nb_clock\nread_result"] * 2),
        (
            {"allowed_tools": "web_search\nmail\ntools_clock"},
            ["web_search\nmail\nread_result"] * 2,
        ),
        ({"tool_choice": "required"}, ["mail\nb_clock\nread_result"] * 2),
        ({"tool_choice": "mail"}, [None, "mail\nb_clock\nread_result"]),
    ],
)
def test_a_model_that_takes_names_is_told_them(agent, completion_params, names):
    model = {"entity": TAKES_NAMES, "completion_params": completion_params}
    ask(agent, "mail", allowed_tools="mail\nb_clock", model=model)
    assert sent(agent) == names


def test_names_are_not_as_long_as_a_text_that_dify_has_cut(agent):
    """A12: the model's plugin refuses a list of 1,024 characters."""
    tools = [tool(f"{index:x<{63 if index < 5 else 62}}") for index in range(16)]
    names = [one["identity"]["name"] for one in tools]
    agent.dify.model = [[chunk("Done.")]]
    agent.run(tools=tools, allowed_tools="\n".join(names), model={"entity": TAKES_NAMES})
    assert len("\n".join([*names, "read_result"])) == 1_024
    assert sent(agent) == ["\n".join([*names, "read_result", ""])]


def test_the_closing_call_names_no_tools(agent):
    ask(agent, "mail", allowed_tools="mail", maximum_iterations=2, model={"entity": TAKES_NAMES})
    assert sent(agent) == ["mail\nread_result", None]
    assert agent.dify.model_requests[1]["completion_params"]["tool_choice"] == "none"
