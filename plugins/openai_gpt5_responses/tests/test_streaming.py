"""How an answer comes out of a stream: what is shown, when, and how it ends."""

import json

import pytest

from gpt5_simulator import (
    CutStream,
    FunctionCall,
    HttpError,
    Reasoning,
    Recording,
    ResponsesSimulator,
    ScriptedModel,
    Text,
)
from model_plugin import ModelPlugin
from raw_answers import USAGE, frame


TOOL = {"name": "lookup", "description": "Look up", "parameters": {"type": "object"}}
LONG = "word " * 600_000  # fits into a line of 5 MiB once and not twice


def streaming(*events: dict[str, object]) -> ResponsesSimulator:
    body = b"".join(frame(event) for event in events)
    return ResponsesSimulator(replay=[Recording(name="x", body=body, is_stream=True)], strict=False)


def answering(item: dict[str, object], *, stream: bool) -> ResponsesSimulator:
    response = {"status": "completed", "output": [item], "usage": USAGE}
    if stream:
        return streaming({"type": "response.completed", "response": response})
    body = json.dumps(response).encode()
    return ResponsesSimulator(
        replay=[Recording(name="x", body=body, is_stream=False)], strict=False
    )


@pytest.mark.parametrize(
    ("reason", "expected"), [("max_output_tokens", "length"), ("content_filter", "content_filter")]
)
def test_an_incomplete_answer_says_why(plugin: ModelPlugin, reason: str, expected: str) -> None:
    item = {"type": "message", "content": [{"type": "output_text", "text": "Half"}]}
    response = {"incomplete_details": {"reason": reason}, "output": [item]}
    with streaming({"type": "response.incomplete", "response": response}) as server:
        answer = plugin.invoke(server)

    assert (answer.text, answer.last["finish_reason"], answer.error) == ("Half", expected, None)


def test_what_arrived_before_a_stream_broke_is_shown(plugin: ModelPlugin) -> None:
    opening = {"type": "response.output_text.delta", "output_index": 0, "delta": "What I have"}
    with streaming(opening) as server:
        answer = plugin.invoke(server)

    assert answer.text == "What I have"
    assert answer.error.error_type == "InvokeConnectionError"
    assert all(chunk["delta"]["finish_reason"] is None for chunk in answer.chunks)


def test_the_phase_of_a_message_goes_back_with_it(plugin: ModelPlugin) -> None:
    first = (
        Reasoning(),
        Text(text="Looking.", phase="commentary"),
        FunctionCall(name="lookup", arguments={}, call_id="c-phase"),
    )
    done = (Text(text="Done."),)
    with ResponsesSimulator(model=ScriptedModel([first, done])) as server:
        asked = plugin.invoke(server, "Go", model="gpt-5.4", tools=[TOOL])
        assistant = {"role": "assistant", "content": asked.text}
        assistant["tool_calls"] = asked.last["message"]["tool_calls"]
        result = {"role": "tool", "tool_call_id": "c-phase", "content": ""}
        answer = plugin.invoke(
            server,
            [{"role": "user", "content": "Go"}, assistant, result],
            model="gpt-5.4",
            tools=[TOOL],
        )

    assert answer.error is None
    _, reasoning, message, call, output = server.requests[-1].body["input"]
    assert (reasoning["type"], message["phase"]) == ("reasoning", "commentary")
    assert (call["call_id"], output["output"]) == ("c-phase", "")


@pytest.mark.parametrize("streamed", [True, False])
def test_what_is_said_on_the_way_says_so_in_its_part(
    plugin: ModelPlugin, *, streamed: bool
) -> None:
    turn = (
        Reasoning(summary=("Look first.",)),
        Text(text="Looking it up.", phase="commentary"),
        FunctionCall(name="lookup", arguments={}, call_id="c-part"),
        Text(text="All done.", phase="final_answer"),
    )
    with ResponsesSimulator(model=ScriptedModel([turn])) as server:
        parameters = {"enable_stream": streamed}
        answer = plugin.invoke(server, model="gpt-5.4", tools=[TOOL], model_parameters=parameters)

    said = "".join(text for text, body in answer.texts if body == {"phase": "commentary"})
    plain = "".join(text for text, body in answer.texts if body is None)
    assert said == "\n</think>Looking it up."
    assert plain == "<think>\nLook first.All done."


@pytest.mark.parametrize("calls", [(), (FunctionCall(name="lookup", arguments={}),)])
def test_what_a_whole_answer_without_phases_says_beside_calls_is_said_on_the_way(
    plugin: ModelPlugin, calls: tuple[FunctionCall, ...]
) -> None:
    with ResponsesSimulator(model=ScriptedModel([(Text(text="Looking."), *calls)])) as server:
        answer = plugin.invoke(server, tools=[TOOL], model_parameters={"enable_stream": False})

    body = {"phase": "commentary"} if calls else None
    assert [(text, said) for text, said in answer.texts if text] == [("Looking.", body)]


def test_reasoning_that_is_refused_is_left_out_once(plugin: ModelPlugin) -> None:
    first = (Reasoning(), FunctionCall(name="lookup", arguments={}, call_id="c-stale"))
    refusal = HttpError(status=400, code="invalid_encrypted_content")
    with ResponsesSimulator(
        model=ScriptedModel([first, (Text(text="Done."),)]), faults=[None, refusal]
    ) as server:
        asked = plugin.invoke(server, "Go", tools=[TOOL])
        assistant = {"role": "assistant", "content": ""}
        assistant["tool_calls"] = asked.last["message"]["tool_calls"]
        result = {"role": "tool", "tool_call_id": "c-stale", "content": "x"}
        question = {"role": "user", "content": "Go"}
        answer = plugin.invoke(server, [question, assistant, result], tools=[TOOL])

    assert (answer.text, answer.error) == ("Done.", None)
    kinds = [[item["type"] for item in sent.body["input"][1:]] for sent in server.requests[1:]]
    assert kinds == [
        ["reasoning", "function_call", "function_call_output"],
        ["function_call", "function_call_output"],
    ]


@pytest.mark.parametrize("stream", [True, False])
def test_a_long_answer_fits_the_platform_s_lines(plugin: ModelPlugin, *, stream: bool) -> None:
    item = {"type": "message", "content": [{"type": "output_text", "text": LONG}]}
    with answering(item, stream=stream) as server:
        answer = plugin.invoke(server, stream=stream)

    assert (answer.text, answer.error) == (LONG, None)
    assert answer.last["message"]["opaque_body"] is None or stream


@pytest.mark.parametrize(
    "item",
    [
        {"type": "message", "content": [{"type": "output_text", "text": LONG * 2}]},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": LONG * 2},
    ],
    ids=["text", "arguments"],
)
def test_what_is_too_large_for_a_line_is_an_error_and_not_the_plugin_s_end(
    plugin: ModelPlugin, item: dict[str, object]
) -> None:
    with answering(item, stream=False) as server:
        error = plugin.invoke(server, stream=False).error
        assert plugin.invoke(server, credentials={}).error.error_type == "InvokeBadRequestError"

    assert error.error_type == "InvokeServerUnavailableError"
    assert "larger than Dify takes" in str(error)


@pytest.mark.parametrize("field", ["text", "arguments", "encrypted"])
def test_half_a_character_does_no_harm(plugin: ModelPlugin, field: str) -> None:
    half = "\ud83d"
    item: dict[str, object] = {
        "text": {"type": "message", "content": [{"type": "output_text", "text": f"a{half}"}]},
        "arguments": {"type": "function_call", "call_id": "c", "name": "f", "arguments": half},
        "encrypted": {"type": "reasoning", "summary": [], "encrypted_content": half},
    }[field]
    with answering(item, stream=True) as server:
        answer = plugin.invoke(server)

    assert answer.error is None
    assert answer.last["finish_reason"] in {"stop", "tool_calls"}


def test_half_a_character_in_the_name_of_a_model_does_no_harm(plugin: ModelPlugin) -> None:
    item = {"type": "message", "content": [{"type": "output_text", "text": "a"}]}
    response = {"model": "m\ud83d", "output": [item]}
    with streaming({"type": "response.completed", "response": response}) as server:
        answer = plugin.invoke(server)

    assert (answer.text, answer.error) == ("a", None)


def test_half_a_character_in_an_error_does_not_keep_it_back(plugin: ModelPlugin) -> None:
    """The SDK cannot write such a line, and then says nothing at all."""
    fault = HttpError(status=400, message="a\ud83d", code="b\ud83d", times=None)
    with ResponsesSimulator(faults=[fault]) as server:
        answers = [plugin.invoke(server), plugin.validate(server, model="gpt-5.2")]

    assert [answer.error.error_type for answer in answers] == [
        "InvokeBadRequestError",
        "CredentialsValidateFailedError",
    ]


@pytest.mark.parametrize("stream", [True, False])
def test_a_connection_that_breaks_is_told_in_either_form(
    plugin: ModelPlugin, *, stream: bool
) -> None:
    with ResponsesSimulator(faults=[CutStream(after_bytes=100)]) as server:
        answer = plugin.invoke(server, model_parameters={"enable_stream": stream})

    assert answer.error.error_type == "InvokeConnectionError"
