"""The defects D1 to D23 of the official OpenAI plugin for Dify (models/openai 1.0.4), each with what this plugin does instead.

All of them apply here but three, in part: D19 where a hosted tool ran at the server, there is nothing that Dify could show or run, so such
items only go back to the model; D20 because images and sound are not declared, a placeholder stands for them; D15 without ids
because a call that nobody could answer is not handed out.
"""

import re
from pathlib import Path

import pytest
import yaml

from gpt5_simulator import (
    CustomToolCall,
    FunctionCall,
    HttpError,
    LateError,
    RawServer,
    Reasoning,
    Recording,
    ResponsesSimulator,
    ScriptedModel,
    Silence,
    Text,
)
from model_plugin import PLUGIN, ModelPlugin
from raw_answers import EndlessAnswer, delta, frame, json_answers


TOOL = {"name": "lookup", "description": "Look up", "parameters": {"type": "object"}}
CATALOG = yaml.safe_load((PLUGIN / "catalog.yaml").read_text(encoding="utf-8"))["models"]


def saying(*turn: object, **settings: object) -> ResponsesSimulator:
    return ResponsesSimulator(model=ScriptedModel([turn], repeat=True), **settings)


def streaming(*events: dict[str, object]) -> ResponsesSimulator:
    body = b"".join(frame(event) for event in events)
    return ResponsesSimulator(replay=[Recording(name="x", body=body, is_stream=True)], strict=False)


def credentials(base_url: str, **settings: str) -> dict[str, str]:
    return {
        "openai_api_key": "key",
        "openai_api_base": base_url,
        "max_retries": "0",
        **settings,
    }


def test_d01_a_stop_sequence_leaves_no_think_block_open(plugin: ModelPlugin) -> None:
    with saying(Reasoning(summary=("Plan STOP more.",)), Text(text="one STOP two")) as server:
        answer = plugin.invoke(server, stop=["STOP"])

    assert answer.text == "<think>\nPlan STOP more.\n</think>one "


def test_d02_stop_sequences_count_in_the_answer_alone(plugin: ModelPlugin) -> None:
    call = FunctionCall(name="lookup", arguments={}, call_id="c1")
    with saying(Reasoning(summary=("An Observation is due.",)), call) as server:
        answer = plugin.invoke(server, tools=[TOOL], stop=["Observation"])

    assert answer.text == "<think>\nAn Observation is due.\n</think>"
    assert (answer.calls, answer.last["finish_reason"]) == (
        [("c1", "lookup", "{}")],
        "tool_calls",
    )


@pytest.mark.parametrize("stream", [True, False])
def test_d03_summary_parts_are_a_blank_line_apart(plugin: ModelPlugin, *, stream: bool) -> None:
    with saying(Reasoning(summary=("**A** foo.", "**B** bar.")), Text(text="!")) as server:
        asked = {"reasoning_summary": "detailed"}
        answer = plugin.invoke(server, model_parameters=asked, stream=stream)

    assert answer.text == "<think>\n**A** foo.\n\n**B** bar.\n</think>!"


@pytest.mark.parametrize("stream", [True, False])
def test_d04_d05_an_incomplete_response_hands_out_no_call_and_no_items_and_says_so(
    plugin: ModelPlugin, *, stream: bool
) -> None:
    call = FunctionCall(name="lookup", arguments={"word": "x" * 1000}, call_id="c1")
    with saying(Text(text="Let me see."), call) as server:
        answer = plugin.invoke(
            server,
            tools=[TOOL],
            stream=stream,
            model_parameters={"max_output_tokens": 100, "reasoning_effort": "none"},
        )

    assert answer.last["finish_reason"] == "length"
    assert (answer.calls, answer.last["message"]["opaque_body"]) == ([], None)
    assert answer.text.endswith("Let me see.")


def test_d06_d07_think_blocks_and_parts_of_the_history_go_back_as_plain_answers(
    plugin: ModelPlugin, server: ResponsesSimulator
) -> None:
    parts = [
        {"type": "text", "data": "<think>\nA secret plan.\n</think>First."},
        {"type": "text", "data": "Second."},
    ]
    assistant = {"role": "assistant", "content": parts, "tool_calls": []}
    answer = plugin.invoke(server, [assistant, {"role": "user", "content": "Go on"}])

    assert answer.error is None
    said = server.requests[-1].body["input"][0]
    assert said == {"type": "message", "role": "assistant", "content": "First.\nSecond."}


@pytest.mark.parametrize("flat", [True, False])
@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("rate_limit_exceeded", "InvokeRateLimitError"),
        ("insufficient_quota", "InvokeRateLimitError"),
        ("server_error", "InvokeServerUnavailableError"),
        ("invalid_api_key", "InvokeAuthorizationError"),
        ("context_length_exceeded", "InvokeBadRequestError"),
        ("something_new", "InvokeServerUnavailableError"),
    ],
)
def test_d08_an_error_event_keeps_its_code_wherever_it_stands(
    plugin: ModelPlugin, code: str, expected: str, *, flat: bool
) -> None:
    fault = LateError(code=code, flat=flat)
    with saying(Reasoning(summary=("Plan.",)), Text(text="no"), faults=[fault]) as server:
        assert plugin.invoke(server).error.error_type == expected


@pytest.mark.parametrize("status", [408, 409, 500, 502, 503])
def test_d09_what_may_pass_later_is_not_the_caller_s_fault(
    plugin: ModelPlugin, server: ResponsesSimulator, status: int
) -> None:
    server.add_fault(HttpError(status=status))

    assert plugin.invoke(server).error.error_type == "InvokeServerUnavailableError"


def test_d10_a_stop_sequence_closes_the_connection(plugin: ModelPlugin) -> None:
    endless = EndlessAnswer(delta("The answer is 42 STOP"))
    with RawServer(endless) as server:
        answer = plugin.invoke(server, stop=["STOP"])
        assert endless.client_has_gone.wait(timeout=120)

    assert (answer.text, answer.last["finish_reason"]) == ("The answer is 42 ", "stop")


def usage_of(plugin: ModelPlugin, model: str, **counts: int) -> dict[str, str]:
    details = {name: counts.pop(name, 0) for name in ("cached_tokens", "cache_write_tokens")}
    usage = {**counts, "input_tokens_details": details}
    completed = {"status": "completed", "output": [{"type": "reasoning"}], "usage": usage}
    with streaming({"type": "response.completed", "response": completed}) as server:
        return plugin.invoke(server, model=model).last["usage"]


@pytest.mark.parametrize(
    ("model", "counts", "bill"),
    [
        ("gpt-5", {"input_tokens": 10_000, "cached_tokens": 9_000}, 0.002375),
        ("gpt-5", {"input_tokens": 1_000, "output_tokens": 1_000}, 0.01125),
        ("gpt-5-2025-08-07", {"input_tokens": 1_000, "output_tokens": 1_000}, 0.01125),
        ("gpt-5.4", {"input_tokens": 272_000, "output_tokens": 1_000}, 0.695),
        ("gpt-5.4", {"input_tokens": 272_001, "output_tokens": 1_000}, 1.382505),
        ("gpt-5.4", {"input_tokens": 300_000, "cached_tokens": 300_000}, 0.15),
        ("gpt-5.6", {"input_tokens": 10_000, "cache_write_tokens": 10_000}, 0.05),
        (
            "gpt-5.6",
            {"input_tokens": 10_000, "cached_tokens": 6_000, "cache_write_tokens": 3_000},
            0.0214,
        ),
        ("gpt-5", {"input_tokens": 10_000, "cache_write_tokens": 10_000}, 0.0125),
    ],
)
def test_d11_every_token_costs_what_the_bill_says(
    plugin: ModelPlugin, model: str, counts: dict[str, int], bill: float
) -> None:
    usage = usage_of(plugin, model, **counts)

    assert float(usage["total_price"]) == pytest.approx(bill)
    assert float(usage["total_price"]) == pytest.approx(
        float(usage["prompt_price"]) + float(usage["completion_price"])
    )


def test_the_tier_and_the_kind_of_cache_write_of_the_response_count(plugin: ModelPlugin) -> None:
    written = {"cache_write_tokens": 1_000, "cache_write_tokens_details": {"ttl_12h_tokens": 400}}
    usage = {"input_tokens": 2_000, "output_tokens": 1_000, "input_tokens_details": written}
    completed = {
        "status": "completed",
        "output": [{"type": "reasoning"}],
        "usage": usage,
        "service_tier": "priority",
    }
    with streaming({"type": "response.completed", "response": completed}) as server:
        told = plugin.invoke(server, model="gpt-6.1-sol").last["usage"]

    assert float(told["prompt_price"]) == pytest.approx(2 * 0.0055)
    assert float(told["completion_price"]) == pytest.approx(2 * 0.01)
    assert float(told["prompt_unit_price"]) == 4


def test_d12_there_is_no_choice_without_tools(
    plugin: ModelPlugin, server: ResponsesSimulator
) -> None:
    answer = plugin.invoke(server, model_parameters={"tool_choice": "required"})

    assert answer.error is None
    assert "tool_choice" not in server.requests[-1].body


@pytest.mark.parametrize("value", [False, "false", "FALSE ", 0, "0"], ids=repr)
def test_d13_every_way_to_say_no_switches_streaming_off(
    plugin: ModelPlugin, server: ResponsesSimulator, value: object
) -> None:
    assert plugin.invoke(server, model_parameters={"enable_stream": value}).error is None
    assert server.requests[-1].body["stream"] is False


def test_d14_calls_share_a_connection(plugin: ModelPlugin) -> None:
    whole = b'{"status": "completed", "output": [{"type": "reasoning"}]}'
    with RawServer(json_answers(whole)) as kept:
        for _ in range(3):
            assert plugin.invoke(kept).error is None
        assert kept.connections == 1


def test_d15_calls_without_output_index_are_told_apart(plugin: ModelPlugin) -> None:
    def events(item_id: str, call_id: str, name: str) -> list[dict[str, object]]:
        item = {"type": "function_call", "id": item_id, "call_id": call_id, "name": name}
        arguments = '{"from": "' + name + '"}'
        grown = {"type": "response.function_call_arguments.delta", "item_id": item_id}
        return [
            {"type": "response.output_item.added", "item": {**item, "arguments": ""}},
            {**grown, "delta": arguments},
            {"type": "response.output_item.done", "item": {**item, "arguments": arguments}},
        ]

    completed = {"type": "response.completed", "response": {"status": "completed"}}
    calls = [*events("i1", "c1", "a"), *events("i2", "c2", "b"), *events("i3", "", "")]
    with streaming(*calls, completed) as server:
        answer = plugin.invoke(server)

    assert answer.calls == [("c1", "a", '{"from": "a"}'), ("c2", "b", '{"from": "b"}')]


def test_d16_the_cache_key_is_not_the_user_s(
    plugin: ModelPlugin, server: ResponsesSimulator
) -> None:
    for user in ("ann", "bob"):
        plugin.invoke(server, user_id=user)

    ann, bob = (request.body for request in server.requests)
    assert ann["prompt_cache_key"] == bob["prompt_cache_key"]
    assert ann["safety_identifier"] != bob["safety_identifier"]


@pytest.mark.parametrize("model", ["openai/gpt-5", "my-azure-deployment", "gpt-5-2025-08-07"])
def test_d17_other_names_of_a_model_get_encrypted_reasoning_too(
    plugin: ModelPlugin, model: str
) -> None:
    with ResponsesSimulator(strict=False) as server:
        plugin.invoke(server, model=model)

    assert server.requests[-1].body["include"] == ["reasoning.encrypted_content"]


@pytest.mark.parametrize("model", [row["name"] for row in CATALOG])
def test_d18_every_model_offers_a_summary_of_its_reasoning(plugin: ModelPlugin, model: str) -> None:
    with ResponsesSimulator(strict=False) as server:
        plugin.invoke(server, model=model)

    assert server.requests[-1].body["reasoning"]["summary"] == "auto"


def test_d19_custom_tool_calls_are_handed_out(plugin: ModelPlugin) -> None:
    with saying(CustomToolCall(name="shell", input="ls", call_id="c1")) as server:
        assert plugin.invoke(server).calls == [("c1", "shell", "ls")]


@pytest.mark.parametrize("kind", ["audio", "video"])
def test_d20_a_part_that_is_not_read_becomes_a_sentence(
    plugin: ModelPlugin, server: ResponsesSimulator, kind: str
) -> None:
    part = {"type": kind, "format": "x", "mime_type": "x/x", "url": "http://files/secret"}
    content = [part, {"type": "text", "data": "What is this?"}]
    answer = plugin.invoke(server, [{"role": "user", "content": content}])

    assert answer.error is None
    (sent,) = server.requests[-1].body["input"][0]["content"]
    reason = f"models read text, images and documents, and no {kind}"
    assert sent["text"] == f"[{kind} omitted: {reason}]\nWhat is this?"


def test_d21_a_think_block_begins_on_a_line_of_its_own(plugin: ModelPlugin) -> None:
    turn = (Text(text="Hello"), Reasoning(summary=("Hm.",)), Text(text="world"))
    with saying(*turn) as server:
        answer = plugin.invoke(server)

    assert answer.text == "Hello\n<think>\nHm.\n</think>world"


@pytest.mark.parametrize("stream", [True, False])
def test_d22_a_silence_is_broken_by_empty_chunks(
    configured_plugin: ModelPlugin, *, stream: bool
) -> None:
    fault = Silence(after_events=1 if stream else 0, seconds=0.5)
    with saying(Text(text="at last"), faults=[fault]) as server:
        answer = configured_plugin.invoke(server, model_parameters={"enable_stream": stream})

    before = [chunk["delta"]["message"]["content"] for chunk in answer.chunks]
    assert before.count("") > 1
    assert answer.text == "at last"


def test_d23_trying_credentials_out_costs_nothing_where_models_can_be_listed(
    plugin: ModelPlugin, server: ResponsesSimulator
) -> None:
    assert plugin.validate(server).error is None
    assert [(request.method, request.path) for request in server.requests] == [
        ("GET", "/v1/models")
    ]

    plugin.validate(server, model="gpt-5-mini")
    assert server.requests[-1].body["max_output_tokens"] == 16


def test_d23_a_user_is_never_shown_the_server_s_text(plugin: ModelPlugin) -> None:
    fault = HttpError(status=500, message="internal host db-7 failed", times=None)
    with ResponsesSimulator(faults=[fault], models_status=500) as server:
        error = plugin.validate(server, model="gpt-5").error

    assert "db-7" not in str(error)


def test_every_defect_is_shown_here() -> None:
    shown = re.findall(r"def test_((?:d\d\d_)+)", Path(__file__).read_text(encoding="utf-8"))
    numbers = {int(number) for names in shown for number in re.findall(r"\d\d", names)}

    assert numbers == set(range(1, 24))
