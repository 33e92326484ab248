"""How answers end at servers that are not OpenAI's, and what those pass over without a word."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from wire import REQUEST, SILENT, WHOLE, Wire, body_of, frames, stream, whole

from gpt5_responses import (
    ModelConfig,
    ResponseFailedError,
    ResponsesClient,
    ResponsesError,
    Transport,
    create,
    open_stream,
    validate_model,
)


EMPTY = {"id": "resp_1", "status": "completed", "output": []}
SAID = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]}
CALL = {"type": "function_call", "call_id": "c1", "name": "add", "arguments": "{}"}


def streamed(response: dict[str, Any]) -> Callable[[Any], None]:
    return stream({"type": "response.completed", "response": response})


def unstreamed(response: dict[str, Any]) -> Callable[[Any], None]:
    return whole(json.dumps(response).encode())


SENT = [(REQUEST, streamed), (WHOLE, unstreamed)]
IDS = ["streamed", "whole"]


@pytest.mark.parametrize(("request_", "send"), SENT, ids=IDS)
@pytest.mark.parametrize(
    "warm_up", [{}, {"generate": False}, {"prompt_cache_options": {"prewarm": True}}], ids=repr
)
def test_an_answer_without_anything_is_a_failure_unless_none_was_asked_for(
    request_: dict[str, Any], send: Any, warm_up: dict[str, Any], transport: Transport
) -> None:
    with Wire(send(EMPTY)) as wire:
        if warm_up:
            asked = {**request_, **warm_up}
            assert create(wire.connection(), asked, transport=transport).response_id == "resp_1"
            return
        with pytest.raises(ResponseFailedError, match="without any output") as told:
            create(wire.connection(), request_, transport=transport)
    assert told.value.code == "empty_response"


def test_a_model_that_says_nothing_within_the_smallest_limit_is_there(transport: Transport) -> None:
    with Wire(unstreamed(EMPTY)) as wire:
        validate_model(wire.connection(), "m", transport=transport)
    with Wire(unstreamed({**EMPTY, "status": "failed"})) as wire, pytest.raises(ResponsesError):
        validate_model(wire.connection(), "m", transport=transport)


@pytest.mark.parametrize(("request_", "send"), SENT, ids=IDS)
@pytest.mark.parametrize(
    ("limit", "reason"),
    [(16, "length"), (17, "tool_calls"), (None, "tool_calls"), ("", "tool_calls")],
)
def test_an_answer_that_used_up_its_limit_was_cut_whatever_its_server_says(
    request_: dict[str, Any], send: Any, limit: Any, reason: str, transport: Transport
) -> None:
    answer = {**EMPTY, "output": [SAID, CALL], "usage": {"output_tokens": 16}}
    asked = request_ if limit is None else {**request_, "max_output_tokens": limit}
    with Wire(send(answer)) as wire:
        completion = create(wire.connection(), asked, transport=transport)

    assert (completion.finish_reason, completion.text) == (reason, "Hi")
    assert bool(completion.tool_calls) == (reason == "tool_calls")


@pytest.mark.parametrize("start", [b"", b"\n", b": ping\n\n"], ids=repr)
def test_a_stream_that_is_called_json_is_a_stream(start: bytes, transport: Transport) -> None:
    delta = {"type": "response.output_text.delta", "delta": "Hi", "output_index": 0}
    body = start + frames([delta, {"type": "response.completed", "response": {}}])
    with Wire(whole(body)) as wire:
        if start.startswith(b":"):
            with pytest.raises(ResponsesError):
                create(wire.connection(), REQUEST, transport=transport)
            return
        assert create(wire.connection(), REQUEST, transport=transport).text == "Hi"


NAMED = {"type": "function", "name": "add"}
ALLOWED = {"type": "allowed_tools", "mode": "required", "tools": [NAMED]}


@pytest.mark.parametrize("choice", ["required", NAMED, ALLOWED], ids=str)
@pytest.mark.parametrize(
    ("output", "is_ignored"),
    [
        ([SAID], True),
        ([SAID, CALL], False),
        ([{"type": "web_search_call", "status": "completed"}, SAID], False),
        ([{**SAID, "content": [{"type": "refusal", "refusal": "No."}]}], False),
    ],
)
def test_a_tool_that_had_to_be_called_and_was_not_is_told(
    choice: Any, output: Any, transport: Transport, *, is_ignored: bool
) -> None:
    with Wire(streamed({**EMPTY, "output": output})) as wire:
        asked = {**REQUEST, "tool_choice": choice}
        with open_stream(wire.connection(), asked, transport=transport) as answer:
            assert answer.ignored == ()
            list(answer)
            assert answer.ignored == (("tool_choice",) if is_ignored else ())
        assert body_of(wire.requests[0])["tool_choice"] == choice


def test_an_agents_log_tells_a_tool_that_was_not_called(caplog: pytest.LogCaptureFixture) -> None:
    with Wire(streamed({**EMPTY, "output": [SAID]})) as wire:
        client = ResponsesClient(ModelConfig(model_id="m", api_key="k", base_url=wire.base_url))
        tool = {"name": "add", "parameters": {"type": "object"}}
        asked = {"messages": [{"role": "user", "content": "?"}], "tools": [tool]}
        list(client.answer({**asked, "tool_choice": "required"}))

    assert "does not do what the request asked for: tool_choice" in caplog.text


@pytest.mark.parametrize("choice", [None, "auto", "none", {**ALLOWED, "mode": "auto"}], ids=str)
def test_a_tool_that_may_be_called_need_not_be(choice: Any, transport: Transport) -> None:
    with Wire(streamed({**SILENT, "output": [SAID]})) as wire:
        asked = {**REQUEST, "tool_choice": choice}
        with open_stream(wire.connection(), asked, transport=transport) as answer:
            list(answer)
            assert answer.ignored == ()
