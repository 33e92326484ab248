"""Questions of a model to a person: they end a run, and the answer comes with the request for the next one."""

import pytest
from pydantic import ValidationError
from pydantic_ai import ModelRetry

from dify_agent.layers.ask_human import AskHumanLayer, AskHumanLayerConfig


ASKED = {
    "question": "Which colour?",
    "fields": [{"type": "paragraph", "name": "c", "label": "Colour"}],
}
SUBMIT = {"id": "submit", "label": "Submit", "style": "primary"}
ANSWER = {
    "status": "submitted",
    "action": {"id": "submit", "label": "Submit"},
    "values": {"c": "red"},
}


@pytest.fixture(scope="module")
def server(share_server):
    with share_server(dify_version="1.16.0") as client:
        yield client


@pytest.fixture
def run(server, daemon, build_request):
    """Return a function that runs an agent with a model that asks, and gives its last event."""
    assert daemon.url

    def play(*answers, config=None, history=True, **fields):
        turns = iter(answers)
        daemon.model = lambda _data: [next(turns)]
        request = build_request(fields.pop("prompt", "Paint it."), tools=()) | fields
        layers = request["composition"]["layers"]
        layers[2:2] = [{"name": "history", "type": "pydantic_ai.history"}] if history else []
        layers.append({"name": "ask_human", "type": "dify.ask_human", "config": config or {}})
        run_id = server.post("/runs", json=request).raise_for_status().json()["run_id"]
        with server.stream("GET", f"/runs/{run_id}/events/sse") as response:
            response.read()
        page = server.get(f"/runs/{run_id}/events", params={"limit": 500}).json()
        return page["events"][-1]

    return play


def go_on(last, *, call_id="c1"):
    """Return what a request goes on with after a question."""
    results = {"calls": {call_id: ANSWER}, "metadata": {}}
    return {"session_snapshot": last["data"]["session_snapshot"], "deferred_tool_results": results}


def test_a_question_ends_its_run_and_the_answer_goes_on_from_its_snapshot(run, daemon, chunks):
    asked = run(chunks.call(("c1", "ask_human", ASKED)))
    answered = run(chunks.text("Red it is."), prompt=" ", **go_on(asked))

    assert asked["type"] == "run_succeeded"
    assert set(asked["data"]) == {"deferred_tool_call", "session_snapshot", "usage"}
    assert asked["data"]["deferred_tool_call"] == {
        "tool_call_id": "c1",
        "tool_name": "ask_human",
        "args": {
            "title": None,
            "question": "Which colour?",
            "markdown": None,
            "fields": [
                {
                    "name": "c",
                    "label": "Colour",
                    "required": False,
                    "type": "paragraph",
                    "placeholder": None,
                    "default": None,
                }
            ],
            "actions": [SUBMIT],
            "urgency": "normal",
        },
        "metadata": {"layer_type": "dify.ask_human", "tool_name": "ask_human", "schema_version": 1},
    }
    assert answered["data"]["output"] == "Red it is."
    [told] = chunks.tool_results(daemon.model_requests[-1])
    assert '"c":"red"' in told
    assert [m["role"] for m in daemon.model_requests[-1]["prompt_messages"]][1:] == [
        "user",
        "assistant",
        "tool",
    ]


def test_a_question_that_nobody_has_answered_counts_as_interrupted(run, daemon, chunks):
    asked = run(chunks.call(("c1", "ask_human", ASKED)))
    ended = run(
        chunks.text("Fine."),
        prompt="Never mind.",
        session_snapshot=asked["data"]["session_snapshot"],
    )

    assert ended["data"]["output"] == "Fine."
    [told] = chunks.tool_results(daemon.model_requests[-1])
    assert "The call was interrupted; it has no result." in told


def test_a_question_that_is_none_goes_back_to_the_model(run, daemon, chunks):
    asked = run(
        chunks.call(("c1", "ask_human", {"question": " "})), chunks.call(("c2", "ask_human", ASKED))
    )

    assert asked["data"]["deferred_tool_call"]["tool_call_id"] == "c2"
    assert "question:" in daemon.model_requests[-1]["prompt_messages"][-1]["content"]


def test_a_second_question_at_once_is_not_asked(run, daemon, chunks):
    asked = run(chunks.call(("c1", "ask_human", ASKED), ("c2", "ask_human", ASKED)))
    answered = run(chunks.text("Red."), **go_on(asked))

    assert asked["data"]["deferred_tool_call"]["tool_call_id"] == "c1"
    assert answered["data"]["output"] == "Red."
    told = [m for m in daemon.model_requests[-1]["prompt_messages"] if m["role"] == "tool"]
    assert sorted(m["tool_call_id"] for m in told) == ["c1", "c2"]
    assert any("one question at a time" in m["content"] for m in told)


def test_without_a_history_nothing_could_go_on(run, chunks):
    failed = run(chunks.call(("c1", "ask_human", ASKED)), history=False)
    assert failed["type"] == "run_failed"
    assert "requires a history layer" in failed["data"]["error"]


@pytest.mark.parametrize(("call_id", "expected"), [("c2", "expected c1"), (None, "expected c1")])
def test_an_answer_names_the_calls_that_are_open(run, chunks, call_id, expected):
    asked = run(chunks.call(("c1", "ask_human", ASKED)))
    fields = go_on(asked, call_id=call_id or "c1")
    if call_id is None:
        fields["deferred_tool_results"] = {}
    failed = run(**fields)
    assert (failed["type"], failed["data"]["error"]) == (
        "run_failed",
        f"deferred_tool_results.calls: {expected}.",
    )


def test_an_answer_to_nothing_fails(run):
    failed = run(deferred_tool_results={"calls": {"c1": 1}})
    alone = run(deferred_tool_results={"calls": {"c1": 1}}, history=False)

    assert "expected none, since no call is open" in failed["data"]["error"]
    assert "expected a history layer" in alone["data"]["error"]


def test_a_tool_that_is_not_enabled_is_not_there(run, daemon, chunks):
    run(chunks.text("Hi."), config={"enabled": False})
    assert not daemon.model_requests[-1]["tools"]
    assert "ask a person" not in str(daemon.model_requests[-1]["prompt_messages"])


def test_a_model_reads_what_the_tool_is_for_and_its_bounds(run, daemon, chunks):
    run(
        chunks.text("Hi."), config={"tool_name": "ask", "tool_description": "Ask.", "max_fields": 3}
    )
    [tool] = daemon.model_requests[-1]["tools"]

    assert (tool["name"], tool["description"]) == ("ask", "Ask.")
    assert "at most 3 fields" in daemon.model_requests[-1]["prompt_messages"][0]["content"]


def layer(**config):
    return AskHumanLayer(AskHumanLayerConfig(**config))


SELECT = {"type": "select", "name": "s", "label": "S", "options": [{"value": "a", "label": "A"}]}
FILE = {"type": "file-list", "name": "f", "label": "F", "max_files": 2}
NO = {"id": "no", "label": "No", "style": "destructive"}


def test_a_question_may_have_all_that_its_bounds_allow():
    kinds = ["paragraph", "select", "file", "file-list"]
    asks = layer(allow_file_fields=True, allowed_field_types=kinds)
    question = asks.read_question(
        ASKED
        | {
            "title": "T",
            "fields": [SELECT | {"default": "a"}, FILE],
            "actions": [NO],
            "urgency": "high",
        }
    )
    assert [one.type for one in question.fields] == ["select", "file-list"]
    assert [one.id for one in question.actions] == ["no"]


@pytest.mark.parametrize(
    ("config", "asked", "problem"),
    [
        ({}, {}, "question: Field required"),
        ({}, {"question": "x", "title": " "}, "title:"),
        ({}, {"question": "x", "surprise": 1}, "surprise:"),
        (
            {},
            {"question": "x", "fields": [SELECT, SELECT]},
            "fields: expected each of them to have another name",
        ),
        (
            {},
            {"question": "x", "actions": [NO, NO]},
            "actions: expected each of them to have another name",
        ),
        ({}, {"question": "x", "fields": [SELECT | {"options": []}]}, "fields.0.select.options"),
        (
            {},
            {"question": "x", "fields": [SELECT | {"default": "b"}]},
            "default: expected the value of an option",
        ),
        (
            {},
            {"question": "x", "fields": [SELECT | {"options": SELECT["options"] * 2}]},
            "options: expected each value once",
        ),
        ({}, {"question": "x", "fields": [SELECT | {"name": "no name"}]}, "fields.0.select.name"),
        (
            {},
            {"question": "x", "fields": [FILE]},
            "fields.0.type: expected one of paragraph, select",
        ),
        (
            {"allowed_field_types": []},
            {"question": "x", "fields": [SELECT]},
            "expected one of none",
        ),
        ({"max_fields": 0}, {"question": "x", "fields": [SELECT]}, "fields: expected at most 0"),
        (
            {"max_actions": 1},
            {"question": "x", "actions": [NO, SUBMIT]},
            "actions: expected at most 1",
        ),
        ({"max_question_chars": 1}, {"question": "xy"}, "question: expected at most 1 characters"),
        (
            {"max_markdown_chars": 1},
            {"question": "x", "markdown": "xy"},
            "markdown: expected at most 1",
        ),
        (
            {"max_field_label_chars": 1},
            {"question": "x", "fields": [SELECT | {"label": "xy"}]},
            "fields.0.label: expected at most 1",
        ),
        (
            {"max_action_label_chars": 1},
            {"question": "x", "actions": [NO]},
            "actions.0.label: expected at most 1",
        ),
    ],
)
def test_a_question_that_exceeds_its_bounds_says_what_was_expected(config, asked, problem):
    with pytest.raises(ModelRetry) as retry:
        layer(**config).read_question(asked)
    assert problem in str(retry.value)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("tool_name", "no name"),
        ("max_fields", 17),
        ("max_actions", 0),
        ("max_markdown_chars", 20_001),
        ("allowed_field_types", ["file"]),
        ("allowed_field_types", ["select", "select"]),
        ("surprise", 1),
    ],
)
def test_bounds_beyond_those_of_dify_are_refused(field, value):
    with pytest.raises(ValidationError, match=field):
        AskHumanLayerConfig.model_validate({field: value})
