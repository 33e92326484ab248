"""Agent nodes on both plugins: with nothing optional set, with each option set, with files, with and without a history."""

import json
import time
from threading import Event

import pytest

from apps import MODELS, STRATEGIES, agent_node, tool, weekday
from files import PDF, PNG
from gpt5_simulator import ApiError
from upstream import call, items, said, texts, thought


MONDAY = {"year": 2026, "month": 11, "day": 23}
ASK = call("weekday", **MONDAY)
LUNA = {"provider": MODELS, "model": "gpt-6-luna"}
RESULT = "November 23, 2026 is Monday."
NOW = tool("builtin", "time", "current_time", format="%Y", timezone="UTC")


@pytest.fixture
def ask(apps, upstream):
    """Ask an agent with one tool, which calls it once and answers if nothing else is played."""

    def ask(*turns, **options):
        upstream.plays(*(turns or ([thought(), ASK], [said("Monday.")])))
        return apps.chatflow("agent", agent_node([weekday()], **options)).chat(
            "What weekday is it?"
        )

    return ask


def outputs_of(body):
    """Return what the model reads of tools' results."""
    return [item["output"] for item in items(body, "function_call_output")]


def labels(run):
    return [entry["label"] for entry in run.log]


@pytest.mark.parametrize("name", ["gpt5_function_calling", "gpt5_react"])
def test_an_agent_with_nothing_optional_set_calls_tools_and_answers(ask, upstream, name):
    again = call("weekday", **{**MONDAY, "day": 24})
    rounds = [thought("First."), ASK], [thought("Then."), again], [said("Monday, then Tuesday.")]
    run = ask(*rounds, strategy=(STRATEGIES, name))

    assert (run.error, run.answer) == ("", "Monday, then Tuesday.")
    assert "First." in run.text
    assert outputs_of(upstream.requests[-1]) == [RESULT, "November 24, 2026 is Tuesday."]
    # All reasoning is kept, and each request begins with the whole request before it.
    assert [len(items(body, "reasoning")) for body in upstream.requests] == [0, 1, 2]
    one, two, three = [body["input"] for body in upstream.requests]
    assert (two[: len(one)], three[: len(two)]) == (one, two)
    assert [label for label in labels(run) if "ROUND" in label] == ["ROUND 1", "ROUND 2", "ROUND 3"]
    assert {entry["status"] for entry in run.log} == {"success"}


def test_the_node_says_what_its_run_has_cost(ask):
    run = ask()
    told = run.node("node")["execution_metadata"]
    assert told["total_tokens"] == run.of("workflow_finished")[0]["data"]["total_tokens"] > 0
    assert float(told["total_price"]) > 0


def test_no_event_of_the_log_makes_dify_look_for_an_icon(ask):
    assert not any("provider" in entry["metadata"] for entry in ask().log)


def test_only_allowed_tools_are_run(apps, upstream):
    upstream.plays([ASK, call("current_time")], [said("Monday.")])
    node = agent_node([weekday(), NOW], allowed_tools="weekday")
    run = apps.chatflow("agent", node).chat("What weekday is it?")

    assert run.answer == "Monday."
    done, refused = outputs_of(upstream.requests[-1])
    assert done == RESULT
    assert "current_time may not be called in this run" in refused


def test_policies_of_the_prompt_are_replaced_by_name(ask, upstream):
    ask(
        prompt_policy_overrides=json.dumps(
            {"persistence_policy": "Stop early.", "extra_policy": "In verse."}
        )
    )
    [message, *_] = items(upstream.requests[0], "message")
    assert message["role"] in {"developer", "system"}
    assert "Stop early." in str(message)
    assert "In verse." in str(message)


def test_a_context_changes_nothing_that_the_model_reads(ask, upstream):
    # Dify drops the sources that a strategy names, so nothing of them is seen.
    record = {"title": "calendar.txt", "content": "Mondays.", "metadata": {}}
    assert ask(context=[record]).answer == "Monday."
    assert "Mondays." not in str(upstream.requests)


def test_thoughts_are_hidden_where_only_the_answer_shall_be_seen(ask):
    run = ask(emit_intermediate_thoughts=False)
    assert run.text.strip() == "Monday."


def test_tools_show_their_results_where_the_model_is_called_once(ask):
    assert RESULT in ask([ASK], maximum_iterations=1).text


@pytest.mark.parametrize(
    ("budget", "value", "named"),
    [
        ("max_total_tokens", 100, "total_tokens"),
        ("max_cost", 0.0001, "cost"),
        ("max_seconds", 1, "seconds"),
        ("max_tool_calls", 1, "tool_calls"),
    ],
)
def test_a_budget_that_is_used_up_leads_to_the_answer(apps, upstream, budget, value, named):
    def answer(request):
        if request.tool_mode == "none" or not request.tools:
            return [said("This is what I have.")]
        time.sleep(0.7)
        return [call("weekday", **{**MONDAY, "day": len(request.items)})]

    upstream.answers(answer)
    node = agent_node([weekday()], **{budget: value})
    run = apps.chatflow("agent", node).chat("What weekday is it?")
    assert (run.error, run.answer) == ("", "This is what I have.")
    assert len(upstream.requests) <= 4
    assert named in json.dumps(run.node("node")["execution_metadata"]) + json.dumps(run.log)


def test_the_answer_alone_is_an_output_that_an_answer_node_shows_too(apps, upstream):
    upstream.plays([thought("First."), ASK], [thought("Then."), said("Monday.")])
    app = apps.chatflow("agent", agent_node([weekday()]), "final_answer")
    run = app.chat("What weekday is it?")
    outputs = run.node("node")["outputs"]
    assert (run.error, run.text, outputs["final_answer"]) == ("", "Monday.", "Monday.")
    assert {"First.", "Then."} <= set(outputs["text"].split("\n"))


def test_a_budget_below_nothing_is_refused_by_name(ask):
    assert "max_seconds" in ask(max_seconds=-1).error


def test_an_answer_follows_its_schema(apps, upstream):
    city = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    upstream.plays([said('{"city": 3}')], [said('{"city": "Oslo"}')])
    node = agent_node([weekday()], answer_schema=json.dumps(city), query="{{#start.text#}}")
    run = apps.workflow("agent", node, "json").run({"text": "Which city?"})

    assert run.error == ""
    assert {"city": "Oslo"} in run.node("node")["outputs"]["json"]
    assert len(upstream.requests) == 2


@pytest.mark.parametrize(
    ("named", "effort"),
    [
        ("gpt-6-luna", "medium"),
        (f"{MODELS}/gpt-6-luna", "medium"),
        (json.dumps({**LUNA, "completion_params": {"reasoning_effort": "low"}}), "low"),
    ],
    ids=["name", "path", "selector"],
)
def test_another_model_takes_over_where_the_first_one_is_gone(apps, upstream, named, effort):
    def answer(request):
        if request.body["model"] == "gpt-5.2":
            raise ApiError("The model 'gpt-5.2' does not exist.", status=404)
        return [said("Monday.")] if items(request.body, "function_call_output") else [ASK]

    upstream.answers(answer)
    node = agent_node([weekday()], fallback_model=named)
    run = apps.chatflow("agent", node).chat("What weekday is it?")
    assert (run.error, run.answer) == ("", "Monday.")
    assert [body["model"] for body in upstream.requests] == ["gpt-5.2", "gpt-6-luna", "gpt-6-luna"]
    assert upstream.requests[-1]["reasoning"]["effort"] == effort


def test_options_that_are_saved_empty_are_as_good_as_not_set(ask):
    texts_ = (
        "allowed_tools",
        "prompt_policy_overrides",
        "answer_schema",
        "fallback_model",
        "approval_rules",
    )
    numbers = ("max_total_tokens", "max_cost", "max_seconds", "max_tool_calls")
    run = ask(**dict.fromkeys(texts_, ""), **dict.fromkeys(numbers), context="", tool_search=False)
    assert (run.error, run.answer) == ("", "Monday.")


def test_the_model_gets_the_files_of_the_question_in_every_round(apps, upstream):
    upstream.plays([ASK], [said("Monday.")])
    app = apps.chatflow("agent", agent_node([weekday()], files=True))
    files = [app.file("a.png", PNG, "image/png"), app.file("b.pdf", PDF, "application/pdf")]
    run = app.chat("What is in them?", files=files)

    assert (run.error, run.answer) == ("", "Monday.")
    for body in upstream.requests:
        kinds = {part["type"] for item in items(body, "message") for part in item["content"]}
        assert {"input_image", "input_file"} <= kinds


@pytest.mark.parametrize(("memory", "first"), [(True, ["Anna", "Hello."]), (False, [])])
def test_an_agent_remembers_the_turns_before_where_its_node_has_a_memory(
    apps, upstream, memory, first
):
    upstream.plays([said("Hello.")], [said("Anna.")])
    app = apps.chatflow("agent", agent_node([weekday()], memory=memory))
    conversation = app.chat("Anna").conversation
    time.sleep(1.2)  # Dify orders messages by whole seconds
    app.chat("Who am I?", conversation=conversation)
    assert texts(upstream.requests[-1]) == [*first, "Who am I?"]


def test_an_agent_that_remembers_turns_goes_on_from_what_its_tools_have_answered(apps, upstream):
    upstream.plays([thought(), ASK], [thought(), said("Monday.")], [said("Yes, Monday.")])
    app = apps.chatflow("agent", agent_node([weekday()], remember_turns=True))
    conversation = app.chat("What weekday is it?").conversation
    time.sleep(1.2)  # Dify orders messages by whole seconds
    run = app.chat("Sure?", conversation=conversation)

    assert (run.error, run.answer) == ("", "Yes, Monday.")
    _, last, after = [body["input"] for body in upstream.requests]
    assert after[: len(last)] == last
    assert outputs_of(upstream.requests[-1]) == [RESULT]
    assert len(items(upstream.requests[-1], "reasoning")) == 2


def test_a_user_who_stops_a_run_sees_its_end(apps, upstream):
    go_on = Event()
    upstream.answers(lambda _: go_on.wait(60) and [said("Late.")])
    app = apps.chatflow("agent", agent_node([weekday()]))

    def stop(event):
        if event["event"] == "agent_log":
            app.stop(event["task_id"])

    run = app.chat("What weekday is it?", on_event=stop)
    go_on.set()
    assert run.seconds < 30
    assert run.of("workflow_finished")[0]["data"]["status"] == "stopped"
    assert "Late." not in run.text


def test_an_agent_works_in_a_workflow_where_there_is_no_conversation(apps, upstream):
    upstream.plays([thought(), ASK], [said("Monday.")])
    node = agent_node([weekday()], memory=False, query="{{#start.text#}}")
    run = apps.workflow("agent", node).run({"text": "What weekday is it?"})
    assert run.error == ""
    assert run.outputs["found"].endswith("Monday.")
