"""`--like NAME`: what other servers take, how they answer and how they refuse."""

import json
from importlib.resources import files

import pytest

from gpt5_simulator import (
    LIKENESSES,
    FunctionCall,
    LikenessError,
    Reasoning,
    ResponsesSimulator,
    ScriptedModel,
    Text,
)


FILES = {
    name: json.loads(
        files("gpt5_simulator").joinpath(f"_likenesses/{name}.json").read_text("utf-8")
    )
    for name in LIKENESSES
}
ASKED = {"reasoning": {"effort": "low"}}
TURN = [
    Reasoning(summary=("A thought.",)),
    Text(text="Hello there."),
    FunctionCall(name="clock", arguments={"timezone": "Asia/Tokyo"}),
]
PDF = {
    "type": "input_file",
    "filename": "a.pdf",
    "file_data": "data:application/pdf;base64,JVBERi0=",
}
FUNCTION = {"type": "function", "name": "f", "parameters": {}}
REFUSED = [
    ("vllm", {"include": ["web_search_call.action.sources"]}, 400, ("error", "message"), "1 validation error:"),
    ("vllm", {"include": ["reasoning.encrypted_content", "x"]}, 400, ("error", "param"), "body.include.1"),
    ("vllm", {"input": [{"role": "assistant", "content": []}]}, 400, ("error", "message"), "239 validation errors:"),
    ("vllm", {"previous_response_id": "resp_1"}, 404, ("error", "type"), "NotFoundError"),
    ("vllm", {"input": [{"type": "reasoning", "encrypted_content": "x"}]}, 400, ("error", "param"), "input"),
    ("sglang", {"background": True}, 400, ("error", "param"), "background"),
    ("smg", {"prompt_cache_options": {}}, 400, ("error", "code"), "unknown_parameter"),
    ("smg", {"tools": [FUNCTION, {"type": "tool_search"}]}, 400, ("error", "param"), "tools[1].type"),
    ("llama.cpp", {"input": [{"role": "assistant", "content": "x"}]}, 400, ("error", "code"), 400),
    ("llama.cpp", {"input": [{"type": "reasoning", "summary": []}]}, 400, ("error", "message"), "item['content'] is not an array"),
    ("llama.cpp", {"input": [{"type": "message", "role": "user", "content": [PDF]}]}, 400, ("error", "message"), "'input_file' is not supported"),
    ("ollama", {"input": [{"type": "function_call_output", "output": []}]}, 400, ("error", "message"), "input[0]: json: cannot unmarshal array"),
    ("litellm", {"frobnicate": 1}, 400, ("error", "message"), 'litellm.BadRequestError: OpenAIException - {"error"'),
    ("litellm-bridge", {"max_tool_calls": 3}, 400, ("error", "code"), "400"),
    ("ogx", {"max_output_tokens": 5}, 400, ("error", "message"), "{'errors': [{'loc': ['body', 'max_output_tokens']"),
    ("ogx", {"prompt_cache_key": "k" * 65}, 400, ("error", "message"), "{'errors': [{'loc': ['body', 'prompt_cache_key']"),
    ("ogx", {"previous_response_id": "resp_1"}, 404, ("detail",), "Response 'resp_1' not found."),
    ("responses.js", {"text": {"verbosity": "low"}}, 400, ("error", 0, "unionErrors", 0, "issues", 0, "path", 0), "text.format"),
    ("localai", {"previous_response_id": "resp_1"}, 404, ("error", "type"), "not_found"),
    ("mistral.rs", {"max_tool_calls": 3}, 400, ("error", "message"), "max_tool_calls is not supported"),
]  # fmt: skip
# What the reasoning of an answer has in the terminal event.
THOUGHTS = {
    "content": ("llama.cpp", "mistral.rs", "ogx", "responses.js", "vllm"),
    "summary": ("litellm", "ollama", "sglang", "smg"),
}


@pytest.fixture(scope="module", params=LIKENESSES)
def likeness(request):
    """Serve like each server, and give out its name, its file and the server."""
    name = request.param
    with ResponsesSimulator(like=name, model=ScriptedModel([TURN], repeat=True)) as simulator:
        yield name, FILES[name], simulator


def test_each_server_says_what_it_is_a_likeness_of_and_how_that_is_known(likeness):
    _, told, _ = likeness
    assert all(told[key] for key in ("server", "version", "source", "errors"))


def test_a_stream_has_the_form_and_the_events_that_the_server_sends(likeness, ask, events_of):
    name, told, simulator = likeness
    answer = ask(simulator, ASKED, stream=True)
    lines, events = answer.text.splitlines(), events_of(answer) if not told.get("done") else None
    if told.get("done"):
        assert lines[-2] == "data: [DONE]"
        events = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
    assert any(line.startswith("event: ") for line in lines) is told.get("event_line", False)
    assert not {*told.get("without", ())} & {key for event in events for key in event}
    kinds = [event["type"] for event in events]
    never = {kind for kind, to in told.get("events", {}).items() if to is None}
    assert not never & {*kinds}
    assert kinds[-1] == "response.completed"
    text = [e["delta"] for e in events if e["type"] == "response.output_text.delta"]
    assert "".join(text).endswith("Hello there.")
    thought, message, call = events[-1]["response"]["output"]
    assert (message["content"][0]["text"], call["name"]) == ("Hello there.", "clock")
    assert "A thought." in json.dumps(thought)
    for key in ("content", "summary"):
        assert bool(thought.get(key)) is (
            name in THOUGHTS[key] or (key == "content" and name in ("litellm-bridge", "localai"))
        )
    whole = ask(simulator, ASKED).json()
    assert json.dumps(whole["output"]).count("Hello there.") == 1


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: f"{case[0]}-{case[4]}"[:50])
def test_a_server_refuses_in_its_own_words_and_dress(case, ask):
    name, asked, status, where, words = case
    with ResponsesSimulator(like=name) as simulator:
        answer = ask(simulator, asked)
        others = ask(simulator, {"frobnicate": 1})
    found = answer.json()
    for key in where:
        found = found[key]
    assert answer.status_code == status
    assert found.startswith(words) if isinstance(words, str) else found == words
    assert others.status_code == (400 if name in ("litellm", "smg") else 200)


def test_no_key_is_refused_in_the_dress_of_the_server_as_well(ask):
    with ResponsesSimulator(like="vllm", api_keys=["k"]) as simulator:
        refused = ask(simulator)
    assert (refused.status_code, refused.json()) == (401, {"error": "Unauthorized"})


def test_an_answer_that_the_limit_cuts_is_told_as_each_server_tells_it(ask, events_of):
    told = {}
    for name in ("llama.cpp", "ollama", "vllm"):
        with ResponsesSimulator(like=name, model=ScriptedModel([TURN], repeat=True)) as simulator:
            streamed = ask(simulator, ASKED, stream=True, max_output_tokens=66)
            told[name] = events_of(streamed)[-1]["type"], events_of(streamed)[-1]["response"]
            assert ask(simulator, max_output_tokens=66).json()["status"] == told[name][1]["status"]
    assert {name: kind for name, (kind, _) in told.items()} == {
        "llama.cpp": "response.completed",
        "ollama": "response.completed",
        "vllm": "response.incomplete",
    }
    assert "output_tokens_details" not in told["llama.cpp"][1]["usage"]


def test_ogx_thinks_only_where_an_effort_is_asked_and_under_the_id_of_the_message(ask, events_of):
    model = ScriptedModel([TURN[:2], TURN[:1], TURN[:2]])
    with ResponsesSimulator(like="ogx", model=model) as simulator:
        events = events_of(ask(simulator, ASKED, stream=True))
        alone = events_of(ask(simulator, ASKED, stream=True))
        [message] = ask(simulator).json()["output"]
    thoughts, texts = (
        {event["item_id"] for event in told if event["type"] == f"response.{kind}.delta"}
        for told, kind in ((events, "reasoning_text"), (events, "output_text"))
    )
    assert thoughts == texts
    assert events[-2]["item"]["type"] == "reasoning"
    assert "msg_1" in json.dumps(alone)
    assert message["type"] == "message"


def test_what_a_model_says_is_no_template(ask, events_of):
    model = ScriptedModel([[Text(text="{id} and {text}")]])
    with ResponsesSimulator(like="llama.cpp", model=model) as simulator:
        events = events_of(ask(simulator, stream=True))
    assert events[-1]["response"]["output"][0]["content"][0]["text"] == "{id} and {text}"


def test_a_name_of_no_server_is_refused_with_the_names_there_are():
    with pytest.raises(LikenessError, match=r"like: expected one of .*ollama.*, found 'olama'"):
        ResponsesSimulator(like="olama")
