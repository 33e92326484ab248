"""Rounds of a run, driven through the real plugin process."""

import asyncio
import itertools
import json

import pytest

from scripted_dify import (
    SHOWN_ALONE,
    DifyError,
    call,
    chunk,
    parameter,
    text_message,
    tool,
    usage,
)


ADD = tool("add", parameter("a", "number", required=True), parameter("b", "number", required=True))
ECHO = tool("echo", parameter("text"))
SUM = call("add", '{"a": 2, "b": 2}')


def contents(request, role):
    return [message["content"] for message in request["prompt_messages"] if message["role"] == role]


@pytest.mark.parametrize("strategy", ["gpt5_function_calling", "gpt5_react"])
def test_both_strategies_call_a_tool_and_answer_from_its_result(agent, strategy):
    agent.dify.model = [
        [chunk("Adding."), chunk(calls=[SUM], usage=usage())],
        [chunk("It is "), chunk("4.", usage=usage(), finish="stop")],
    ]
    agent.dify.tools["add"] = [text_message("4")]
    transcript = agent.run(strategy=strategy, tools=[ADD])
    assert transcript.error is None
    assert transcript.text == "Adding.\nIt is 4."
    assert agent.dify.tool_requests == [
        {
            "tool_type": "builtin",
            "provider": "someone/tools/tools",
            "tool": "add",
            "tool_parameters": {"a": 2, "b": 2},
        }
    ]
    second = agent.dify.model_requests[1]
    assert contents(second, "assistant") == ["Adding."]
    assert contents(second, "tool") == ["4"]


def test_an_answer_streams_piece_by_piece(agent):
    agent.dify.model = [[chunk("a"), chunk("b"), chunk("c")]]
    texts = [message["message"]["text"] for message in agent.run().of("text")]
    assert texts == ["a", "b", "c"]


def test_a_model_that_answers_in_one_piece_is_understood(agent):
    answer = [{"type": "text", "data": "Adding."}, {"type": "text", "data": " Now."}]
    agent.dify.model = [[chunk(content=answer, calls=[SUM])], [chunk("4")]]
    agent.dify.tools["add"] = [text_message("4")]
    assert agent.run(tools=[ADD]).text == "Adding. Now.\n4"


def test_the_model_is_always_called_in_the_streaming_form(agent):
    agent.dify.model = [[chunk("4")]]
    entity = {"features": ["tool-call"], "parameter_rules": []}
    agent.run(model={"entity": entity, "completion_params": {"verbosity": "low"}})
    [request] = agent.dify.model_requests
    assert request["stream"] is True
    assert request["stop"] is None
    assert request["completion_params"] == {"verbosity": "low"}


@pytest.mark.parametrize("stop", ["END", ["END"]])
def test_stop_words_are_handed_to_the_model(agent, stop):
    agent.dify.model = [[chunk("4")]]
    agent.run(model={"completion_params": {"stop": stop}})
    assert agent.dify.model_requests[0]["stop"] == ["END"]


def test_stop_words_are_the_same_in_every_round(agent):
    """C10: the official ReAct strategy adds to the caller's list each time."""
    agent.dify.model = [[chunk(calls=[SUM])], [chunk("4")]]
    agent.dify.tools["add"] = [text_message("4")]
    parameters = {"stop": ["END"], "verbosity": "low"}
    agent.run(strategy="gpt5_react", tools=[ADD], model={"completion_params": parameters})
    asked = [(r["stop"], r["completion_params"]) for r in agent.dify.model_requests]
    assert asked == [(["END"], parameters)] * 2


def test_the_system_prompt_is_the_instruction_and_its_policies(agent):
    agent.dify.model = [[chunk("4")]]
    agent.run(prompt_policy_overrides='{"persistence_policy": "", "extra_policy": "In French."}')
    [system] = contents(agent.dify.model_requests[0], "system")
    assert system.startswith("Be brief.\n\n<context_gathering>")
    assert system.endswith("In French.")


def test_each_request_begins_with_the_one_before(agent):
    agent.dify.model = [
        [
            chunk(
                f"Step {number}.", calls=[call("echo", f'{{"text": "{number}"}}', id_=f"c{number}")]
            )
        ]
        for number in range(3)
    ] + [[chunk("Done.")]]
    agent.dify.tools["echo"] = lambda request: [text_message(request["tool_parameters"]["text"])]
    agent.run(tools=[ECHO, ADD])
    requests = agent.dify.model_requests
    assert len(requests) == 4
    for before, after in itertools.pairwise(requests):
        known = len(before["prompt_messages"])
        assert after["prompt_messages"][:known] == before["prompt_messages"]
        assert after["tools"] == before["tools"]


def test_calls_of_a_round_run_at_the_same_time_and_return_in_order(agent):
    calls = [call("echo", f'{{"text": "{number}"}}', id_=f"c{number}") for number in range(4)]
    agent.dify.model = [[chunk(calls=calls)], [chunk("Done.")]]
    everyone = asyncio.Barrier(4)

    async def echo(request):
        # All four must be under way before any of them goes on.
        await everyone.wait()
        yield text_message(request["tool_parameters"]["text"])

    agent.dify.tools["echo"] = echo
    agent.run(tools=[ECHO])
    assert contents(agent.dify.model_requests[1], "tool") == ["0", "1", "2", "3"]


def test_no_more_than_eight_calls_run_at_once(agent):
    calls = [call("echo", f'{{"text": "{number}"}}', id_=f"c{number}") for number in range(12)]
    agent.dify.model = [[chunk(calls=calls)], [chunk("Done.")]]
    running, most = 0, 0
    first_eight = asyncio.Event()

    async def echo(request):
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == 8:
            first_eight.set()
        await first_eight.wait()
        await asyncio.sleep(0)
        running -= 1
        yield text_message(request["tool_parameters"]["text"])

    agent.dify.tools["echo"] = echo
    agent.run(tools=[ECHO])
    assert most == 8
    assert len(contents(agent.dify.model_requests[1], "tool")) == 12


def test_runs_do_not_disturb_each_other(agent):
    agent.dify.model = [[chunk("one")], [chunk("two")], [chunk("three")]]

    async def run_all():
        runs = [agent.arun(strategy="gpt5_function_calling") for _ in range(3)]
        return await asyncio.gather(*runs)

    texts = sorted(transcript.text for transcript in agent.run_async(run_all()))
    assert texts == ["one", "three", "two"]


def test_the_last_call_is_made_without_tool_calls_and_answers(agent):
    """C3: the official strategy ends at the maximum without an answer."""
    agent.dify.model = [[chunk(calls=[SUM])], [chunk("It is 4.")]]
    agent.dify.tools["add"] = [text_message("4")]
    transcript = agent.run(tools=[ADD], maximum_iterations=2)
    first, last = agent.dify.model_requests
    assert last["tools"] == first["tools"]
    assert last["completion_params"] == {"tool_choice": "none"}
    assert transcript.text.endswith("It is 4.")
    assert transcript.metadata["stop_reason"] == "maximum_iterations"


def test_tools_asked_for_after_the_last_call_are_refused_in_so_many_words(agent):
    agent.dify.model = [[chunk(calls=[SUM])], [chunk(calls=[SUM])]]
    agent.dify.tools["add"] = [text_message("4")]
    transcript = agent.run(tools=[ADD], maximum_iterations=2)
    assert len(agent.dify.tool_requests) == 1
    assert transcript.text.endswith(
        "Maximum iteration limit (2) reached. Cannot call tool 'add'. Please consider increasing the iteration limit."
    )


def test_a_model_without_tool_choice_gets_no_tools_in_the_last_call(agent):
    agent.dify.model = [[chunk(calls=[SUM])], [chunk("4")]]
    agent.dify.tools["add"] = [text_message("4")]
    entity = {"features": ["tool-call"], "parameter_rules": [{"name": "temperature"}]}
    agent.run(tools=[ADD], maximum_iterations=2, model={"entity": entity})
    last = agent.dify.model_requests[1]
    assert last["tools"] is None
    assert last["completion_params"] == {}


def test_with_one_iteration_the_tool_results_are_the_answer(agent):
    agent.dify.model = [[chunk(calls=[SUM])]]
    agent.dify.tools["add"] = [text_message("The sum is 4.")]
    transcript = agent.run(tools=[ADD], maximum_iterations=1, emit_intermediate_thoughts=False)
    assert transcript.text == "The sum is 4."


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (0, 1),
        ("2", 2),
        ("many", 6),
        (None, 6),
        (40, 40),
        pytest.param(501, 500, marks=pytest.mark.long),
    ],
)
def test_the_number_of_iterations_is_kept_within_its_range(agent, given, expected):
    agent.dify.model = [
        [chunk(calls=[call("echo", json.dumps({"text": str(number)}), id_=f"c{number}")])]
        for number in range(500)
    ]
    agent.dify.tools["echo"] = [text_message("ok")]
    agent.run(tools=[ECHO], raw={"maximum_iterations": given})
    assert len(agent.dify.model_requests) == expected


def test_a_forced_tool_choice_is_let_go_after_its_tools_have_run(agent):
    agent.dify.model = [[chunk(calls=[SUM])], [chunk("4")]]
    agent.dify.tools["add"] = [text_message("4")]
    agent.run(tools=[ADD], model={"completion_params": {"tool_choice": "required"}})
    choices = [request["completion_params"]["tool_choice"] for request in agent.dify.model_requests]
    assert choices == ["required", "auto"]


def test_tool_calls_that_come_in_pieces_are_put_together(agent):
    agent.dify.model = [
        [
            chunk(calls=[call("add", '{"a": 2')]),
            chunk(calls=[call("", ', "b"', id_="")]),
            chunk(calls=[call("", ": 2}", id_="")]),
        ],
        [chunk("4")],
    ]
    agent.dify.tools["add"] = [text_message("4")]
    agent.run(tools=[ADD])
    assert agent.dify.tool_requests[0]["tool_parameters"] == {"a": 2, "b": 2}


def test_a_call_without_a_name_leads_to_no_further_round(agent):
    agent.dify.model = [[chunk("Hm.", calls=[call("", id_="c1")])]]
    transcript = agent.run(tools=[ADD])
    assert transcript.text == "Hm."
    assert transcript.metadata["iterations"] == 1


def test_calls_without_an_id_are_made_and_answered_under_ids_of_ours(agent):
    twice = [call("add", f'{{"a": {n}, "b": 2}}', id_="") for n in (1, 2)]
    agent.dify.model = [[chunk(calls=twice)], [chunk("4")]]
    agent.dify.tools["add"] = [text_message("4")]
    assert agent.run(tools=[ADD]).text.endswith("4")
    assert [one["tool_parameters"] for one in agent.dify.tool_requests] == [
        {"a": 1, "b": 2},
        {"a": 2, "b": 2},
    ]
    *_, asked, first, second = agent.dify.model_requests[1]["prompt_messages"]
    ids = [one["id"] for one in asked["tool_calls"]]
    assert ids == [first["tool_call_id"], second["tool_call_id"]]
    assert len(set(ids)) == 2
    assert all(ids)


def test_usage_is_the_sum_over_all_rounds(agent):
    """C18: the official strategy counts the latency of the first round only."""
    agent.dify.model = [[chunk(calls=[SUM], usage=usage())], [chunk("4", usage=usage())]]
    agent.dify.tools["add"] = [text_message("4")]
    assert agent.run(tools=[ADD]).metadata == {
        "prompt_tokens": 20,
        "prompt_unit_price": "1.25",
        "prompt_price_unit": "0.000001",
        "prompt_price": "0.0002",
        "completion_tokens": 10,
        "completion_unit_price": "10",
        "completion_price_unit": "0.000001",
        "completion_price": "0.0002",
        "total_tokens": 30,
        "total_price": "0.0004",
        "currency": "USD",
        "latency": 1.0,
        "stop_reason": "answered",
        "iterations": 2,
    }


def test_a_failing_model_call_leaves_everything_closed_and_one_sentence(agent):
    """C20: the official strategy leaves logs open and tells no figures."""
    failure = DifyError(
        'PluginInvokeError: {"args": {}, "error_type": "InvokeRateLimitError", "message": "[models] Rate limit reached, api_key=sk-1234"}'
    )
    agent.dify.model = [
        [chunk(calls=[SUM], usage=usage())],
        [chunk("<think>so"), failure],
    ]
    agent.dify.tools["add"] = [text_message("4")]
    transcript = agent.run(tools=[ADD])
    sentence = "The model call of round 2 failed: Rate limit reached, api_key=[redacted]"
    assert (transcript.error.error_type, transcript.error.message) == (SHOWN_ALONE, sentence)
    assert transcript.error.details == {"description": sentence}  # What Dify 1.10 shows.
    assert transcript.text.endswith("<think>so\n</think>")
    assert transcript.logs["ROUND 2"]["error"] == sentence
    assert {log["status"] for log in transcript.logs.values()} == {"success", "error"}
    assert transcript.metadata["stop_reason"] == "error"
    assert transcript.metadata["total_tokens"] == 15


def test_an_empty_answer_is_never_silence(agent):
    agent.dify.model = [[chunk("<think>hm</think>", finish="length")]]
    transcript = agent.run(emit_intermediate_thoughts=False)
    assert transcript.text.startswith("The model reached its output limit")
    assert transcript.metadata["stop_reason"] == "output_limit"


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"model": {"provider": ""}}, "model"),
        ({"raw": {"tools": "add"}}, "tools"),
        ({"model": {"completion_params": ["low"]}}, "model.completion_params"),
        ({"model": {"entity": "gpt-5.2"}}, "model.entity"),
        ({"model": {"history_prompt_messages": "Hi"}}, "model.history_prompt_messages"),
        (
            {"model": {"history_prompt_messages": [{"role": "user", "content": "Hi"}, None]}},
            "model.history_prompt_messages[1]",
        ),
        ({"raw": {"query": ["?"]}}, "query"),
        ({"raw": {"prompt_policy_overrides": 1}}, "prompt_policy_overrides"),
        ({"model": {"entity": {"features": 5}}}, "model.entity.features"),
        ({"model": {"entity": {"features": "vision"}}}, "model.entity.features"),
        ({"model": {"entity": {"features": ["vision", {}]}}}, "model.entity.features[1]"),
        ({"model": {"entity": {"parameter_rules": True}}}, "model.entity.parameter_rules"),
        ({"model": {"entity": {"parameter_rules": {"a": 1}}}}, "model.entity.parameter_rules"),
        ({"model": {"entity": {"parameter_rules": ["a"]}}}, "model.entity.parameter_rules[0]"),
    ],
)
def test_a_parameter_that_cannot_be_read_is_named_and_the_figures_are_told(
    agent, parameters, field
):
    transcript = agent.run(**parameters)
    assert transcript.error.error_type == SHOWN_ALONE
    assert transcript.error.message.startswith(f"{field} must be ")
    assert transcript.metadata["stop_reason"] == "error"
    assert (transcript.metadata["iterations"], transcript.metadata["total_tokens"]) == (0, 0)
    assert agent.dify.model_requests == []


@pytest.mark.parametrize(
    ("value", "told"),
    [(["?"], "a list"), ({"a": 1}, "an object"), (None, "nothing"), (True, "true or false")],
)
def test_what_was_given_instead_of_a_parameter_is_told_in_plain_words(agent, value, told):
    transcript = agent.run(model={"provider": "p", "model": value})
    assert transcript.error.message == "model must be a model with provider and name, not an object"
    transcript = agent.run(model={"history_prompt_messages": [value]})
    assert transcript.error.message == (
        "model.history_prompt_messages[0] must be a prompt message with role and content, "
        f"not {told}"
    )
