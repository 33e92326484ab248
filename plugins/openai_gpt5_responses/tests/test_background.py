"""An answer that is made in the background is left before Dify's time is over, and taken up by the next turn of the same conversation."""

import re
import socket
import time
import urllib.request
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from gpt5_simulator import (
    CutStream,
    FunctionCall,
    RawServer,
    Reasoning,
    ResponsesSimulator,
    ScriptedModel,
    Text,
)
from model_plugin import Answer, ModelPlugin, Server
from raw_answers import frame, json_answers, silent_after


NUMBERS = " ".join(map(str, range(60)))
THOUGHT = "Let me count them one after the other."
ON = {"background": True}
TOKEN = re.compile(r"`(resume:[^`]+)`")
TOOL = {"name": "clock", "description": "Tell the time.", "parameters": {"type": "object"}}


class Clock:
    """A server's clock, which from a second after its first reading on stands still until it may go on."""

    def __init__(self) -> None:
        self.goes_on = False
        self._first: float | None = None

    def __call__(self) -> float:
        now = time.time()
        if self._first is None:
            self._first = now
        return now if self.goes_on else min(now, self._first + 1)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def counting(clock: Clock) -> Iterator[ResponsesSimulator]:
    """Run a server that takes longer to count than Dify waits."""
    turns = [[Reasoning(summary=(THOUGHT,)), Text(text=NUMBERS)]] * 2
    with ResponsesSimulator(
        model=ScriptedModel(turns), background_seconds=1.4, clock=clock
    ) as server:
        yield server


def ask(plugin: ModelPlugin, server: Server, *said: str, **request: Any) -> Answer:
    """Call the model with a conversation, users and answers in turn."""
    roles = ("user", "assistant")
    messages = [
        {"role": roles[index % 2], "content": text, "tool_calls": []}
        for index, text in enumerate(said)
    ]
    return plugin.invoke(server, messages, **{"model_parameters": ON, **request})


def without_notes(text: str) -> str:
    """Return what the model has said, and nothing of what is between."""
    said = re.sub("\u2063[^\u2063]*\u2063", "", text)
    return "".join(said.replace("<think>", "").replace("</think>", "").split())


def posts(server: ResponsesSimulator) -> list[Mapping[str, Any]]:
    return [request.body for request in server.requests if request.path.endswith("/responses")]


def paths(server: ResponsesSimulator) -> list[str]:
    return [f"{request.method} {request.path}" for request in server.requests]


def test_an_answer_that_is_soon_there_comes_as_any_other(hasty: ModelPlugin) -> None:
    with ResponsesSimulator(background_seconds=0.2) as server:
        answer = ask(hasty, server, "Hello")
        plain = ask(hasty, server, "Hello", model_parameters={})
        [body, other] = posts(server)
    assert answer.error is None
    assert answer.text == plain.text
    assert answer.last["usage"]["total_tokens"] == plain.last["usage"]["total_tokens"]
    assert (body["background"], body["store"], body["stream"]) == (True, True, True)
    assert "include" not in body
    assert (other["store"], "background" in other) == (False, False)


@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_goes_on_in_the_turns_after(
    hasty: ModelPlugin, counting: ResponsesSimulator, clock: Clock, *, stream: bool
) -> None:
    said = ["Count"]
    answers = []
    while len(answers) < 60:  # of which a busy machine may waste some
        answers.append(ask(hasty, counting, *said, stream=stream))
        clock.goes_on = True
        text = answers[-1].text
        assert text.count("<think>") == text.count("</think>")
        if not TOKEN.search(text):
            break
        said += [text, "continue"]
    assert len(answers) > 1
    assert without_notes("".join(answer.text for answer in answers)) == "".join(
        (THOUGHT * stream + NUMBERS).split()
    )
    # Asked for once, and told once what it cost.
    assert paths(counting).count("POST /v1/responses") == 1
    *early, last = (answer.last["usage"] for answer in answers)
    assert [float(usage["total_price"]) for usage in early] == [0] * len(early)
    assert float(last["total_price"]) > 0
    assert all(answer.last["finish_reason"] == "stop" for answer in answers)
    assert "not finished" in answers[0].text
    assert answers[-1].text.startswith(("\u2063This continues", "\u2063This is the answer"))


def test_another_conversation_key_user_or_model_gets_nothing_of_it(
    hasty: ModelPlugin, counting: ResponsesSimulator
) -> None:
    text = ask(hasty, counting, "Count").text
    before = len(counting.requests)
    others = [
        ask(hasty, counting, "Count differently", text, "continue"),
        ask(hasty, counting, "Hi", "Hello", "Count", text, "continue"),
        ask(hasty, counting, "Count", text, "continue", key="another"),
        ask(hasty, counting, "Count", text, "continue", user_id="another"),
        ask(hasty, counting, "Count", text, "continue", model="gpt-5.1"),
        ask(hasty, counting, "Count", text, "continue", stream=False, key="another"),
    ]
    for answer in others:
        assert answer.error is None
        assert "Ask your question again." in answer.text
        assert without_notes(answer.text) == ""
        assert "resp_" not in answer.text
    assert len(counting.requests) == before  # nothing was asked for
    # And the conversation goes on: the sentence is now its last answer.
    plain = ask(
        hasty, counting, "Count", text, "go on", others[0].text, "Hello", model_parameters={}
    )
    assert plain.text.endswith(NUMBERS)
    assert "resume:" not in str(posts(counting)[-1]["input"])


def test_an_answer_that_is_gone_is_told(
    hasty: ModelPlugin, plugin: ModelPlugin, counting: ResponsesSimulator
) -> None:
    text = ask(hasty, counting, "Count").text
    response_id = text.split("resume:")[1].split("/")[0]
    request = urllib.request.Request(
        f"{counting.base_url}/responses/{response_id}",
        method="DELETE",
        headers={"Authorization": "Bearer key"},
    )
    urllib.request.urlopen(request, timeout=120).close()
    answer = ask(plugin, counting, "Count", text, "continue")
    assert answer.error is None
    assert "no longer at the server" in answer.text


def test_an_answer_that_is_not_everywhere_at_once_is_looked_for_some_times(
    hasty: ModelPlugin,
) -> None:
    begun = {"id": "resp_1", "status": "in_progress", "output": []}
    silent, _ = silent_after(frame({"type": "response.created", "response": begun}))
    missing = json_answers(b'{"error": {"message": "Not there."}}', status="404 Not Found")
    answers = [silent, missing, missing, missing, silent]

    def answer_next(peer: socket.socket) -> None:
        answers.pop(0)(peer)

    with RawServer(answer_next) as server:
        text = ask(hasty, server, "Count").text
        in_between = ask(hasty, server, "Count", text, "continue")

    assert TOKEN.search(in_between.text)
    assert answers == []


def test_an_answer_that_was_shown_whole_says_that_nothing_is_left(
    hasty: ModelPlugin, counting: ResponsesSimulator, clock: Clock
) -> None:
    text = ask(hasty, counting, "Count").text
    clock.goes_on = True
    whole = f"<think>\n{THOUGHT}\n</think>{NUMBERS}"
    token = TOKEN.search(text)
    assert token
    # Who shows more than was shown shows nothing twice.
    answer = ask(hasty, counting, "Count", text, "continue")
    while TOKEN.search(answer.text):
        text = answer.text
        answer = ask(hasty, counting, "Count", text, "continue")
    assert without_notes(whole).endswith(without_notes(answer.text))


def test_json_is_stopped_where_it_cannot_be_waited_for(hasty: ModelPlugin) -> None:
    model = ScriptedModel([[Text(text='{"a": 1}')]])
    parameters = {**ON, "response_format": "json_object", "reasoning_summary": "off"}
    with ResponsesSimulator(model=model, background_seconds=600) as server:
        answer = ask(hasty, server, "Answer in JSON", model_parameters=parameters)
        asked = paths(server)
    assert answer.error is not None
    assert answer.error.error_type == "InvokeConnectionError"
    assert "JSON cannot go on in a later turn" in answer.error.message
    assert asked[-1].endswith("/cancel")


def test_a_stop_sequence_stops_the_answer_at_the_server(hasty: ModelPlugin, clock: Clock) -> None:
    model = ScriptedModel([[Text(text=f"one STOP {NUMBERS}")]])
    with ResponsesSimulator(model=model, background_seconds=1.5, clock=clock) as server:
        answer = ask(hasty, server, "Count", stop=["STOP"])
        asked = paths(server)
    assert answer.text == "one "
    assert asked[-1].endswith("/cancel")


def test_a_connection_that_breaks_loses_nothing(
    hasty: ModelPlugin, counting: ResponsesSimulator, clock: Clock
) -> None:
    counting.add_fault(CutStream(after_events=4))
    said = ["Count"]
    shown = ""
    for _ in range(60):
        text = ask(hasty, counting, *said).text
        clock.goes_on = True
        shown += text
        if not TOKEN.search(text):
            break
        said += [text, "continue"]
    assert without_notes(shown) == "".join((THOUGHT + NUMBERS).split())
    assert paths(counting).count("POST /v1/responses") == 1


def test_a_round_after_a_tool_needs_nothing_that_the_server_kept(hasty: ModelPlugin) -> None:
    turns = [[Reasoning(summary=("Hm.",)), FunctionCall(name="clock", arguments={})]]
    turns += [[Text(text="Noon.")]]
    with ResponsesSimulator(model=ScriptedModel(turns), background_seconds=0.2) as server:
        first = ask(hasty, server, "What time is it?", tools=[TOOL])
        [(call_id, name, _)] = first.calls
        call = {"id": call_id, "type": "function", "function": {"name": name, "arguments": "{}"}}
        messages = [
            {"role": "user", "content": "What time is it?"},
            {"role": "assistant", "content": first.text, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call_id, "content": "12:00"},
        ]
        second = hasty.invoke(server, messages, model_parameters=ON, tools=[TOOL])
        items = posts(server)[-1]["input"]
    assert first.last["message"]["opaque_body"] is None
    assert (second.error, second.text) == (None, "Noon.")
    assert [item.get("type", "message") for item in items][-2:] == [
        "function_call",
        "function_call_output",
    ]
    assert "id" not in items[-2]


def test_of_an_answer_that_went_on_to_call_tools_nothing_is_said_to_be_complete(
    hasty: ModelPlugin, clock: Clock
) -> None:
    model = ScriptedModel([[FunctionCall(name="clock", arguments={})]])
    with ResponsesSimulator(model=model, background_seconds=1.4, clock=clock) as server:
        first = ask(hasty, server, "What time is it?", tools=[TOOL])
        clock.goes_on = True
        second = ask(hasty, server, "What time is it?", first.text, "continue", tools=[TOOL])
    assert TOKEN.search(first.text)
    assert (second.text, [name for _, name, _ in second.calls]) == ("", ["clock"])


WALKS_AWAY = """
import json, time
from dify_plugin.entities.model.message import UserPromptMessage
from gpt5_simulator import ResponsesSimulator
import model_adapter

unfinished = time.time() + 1
with ResponsesSimulator(background_seconds=1.5, clock=lambda: min(time.time(), unfinished)) as server:
    call = model_adapter.ModelCall(
        model="gpt-5.2",
        credentials={"openai_api_key": "key", "openai_api_base": server.base_url},
        messages=[UserPromptMessage(content="Hello")],
        parameters={"background": True},
        stream=True,
        user=None,
    )
    chunks = model_adapter.iter_chunks(call)
    next(chunks)
    chunks.close()
    print(json.dumps([f"{one.method} {one.path}" for one in server.requests]))
"""


def test_an_answer_that_nobody_waits_for_is_cancelled_at_the_server(run_inside: Any) -> None:
    asked = run_inside(WALKS_AWAY)
    assert asked[0] == "POST /v1/responses"
    assert asked[-1].endswith("/cancel")


@pytest.mark.parametrize("value", ["yes", 2])
def test_a_switch_that_is_none_is_named(plugin: ModelPlugin, server: Any, value: object) -> None:
    answer = plugin.invoke(server, model_parameters={"background": value})
    assert answer.error is not None
    assert "background must be a boolean-like value" in answer.error.message


@pytest.mark.parametrize(
    ("environ", "total", "has_tools", "seconds"),
    [
        ({}, None, False, 588),
        ({}, 290.0, False, 288),
        ({}, None, True, 228),
        ({"DIFY_BACKWARDS_INVOCATION_READ_TIMEOUT": "600000"}, None, True, 588),
        ({"OPENAI_GPT5_BACKGROUND_SECONDS": "60"}, None, False, 58),
        ({"OPENAI_GPT5_BACKGROUND_SECONDS": "nonsense"}, 10.0, False, 9),
        ({"DIFY_BACKWARDS_INVOCATION_READ_TIMEOUT": "1000"}, None, True, 0.9),
    ],
)
def test_an_answer_is_left_before_difys_time_is_over(
    run_inside: Any, environ: dict[str, str], total: float, seconds: float, *, has_tools: bool
) -> None:
    code = f"""
import json
from model_adapter._background import background_seconds
print(json.dumps(background_seconds({environ!r}, {total!r}, has_tools={has_tools!r})))
"""
    assert run_inside(code) == pytest.approx(seconds)
