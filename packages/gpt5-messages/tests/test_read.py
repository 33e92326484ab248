import pytest

from gpt5_messages import (
    MessageError,
    ResponseFailure,
    StreamDecoder,
    ToolCall,
    Usage,
    UsageReported,
    read_response,
)


def message(*parts: dict[str, object]) -> dict[str, object]:
    return {"type": "message", "role": "assistant", "content": list(parts)}


def text(value: str) -> dict[str, object]:
    return {"type": "output_text", "text": value, "annotations": []}


CALL = {
    "type": "function_call",
    "call_id": "c1",
    "name": "f",
    "arguments": '{"a": 1}',
    "id": "fc_1",
}


def test_text_of_all_messages_is_joined_in_order() -> None:
    response = {"output": [message(text("one "), text("two ")), message(text("three"))]}

    assert read_response(response).text == "one two three"


def test_a_refusal_is_kept_apart_from_the_text() -> None:
    completion = read_response({"output": [message({"type": "refusal", "refusal": "No."})]})

    assert (completion.text, completion.refusal, completion.finish_reason) == ("", "No.", "stop")


def test_a_completed_response_with_calls_hands_them_out() -> None:
    custom = {"type": "custom_tool_call", "call_id": "c2", "name": "g", "input": "raw"}
    completion = read_response({"status": "completed", "output": [CALL, custom]})

    assert completion.finish_reason == "tool_calls"
    assert completion.tool_calls == (
        ToolCall(call_id="c1", name="f", arguments='{"a": 1}'),
        ToolCall(call_id="c2", name="g", arguments="raw", type="custom"),
    )


BROKEN = [
    ({**CALL, "status": "incomplete"}, "status"),
    ({**CALL, "name": None}, "name"),
    ({"type": "custom_tool_call", "call_id": "c1", "input": "raw"}, "name"),
    ({"type": "function_call", "arguments": "{}"}, "name"),
]


@pytest.mark.parametrize("broken", [call for call, _ in BROKEN])
@pytest.mark.parametrize("whole", [CALL, message(text("Hm."))])
def test_a_call_that_cannot_be_answered_is_not_handed_out(
    broken: dict[str, object], whole: dict[str, object]
) -> None:
    completion = read_response({"status": "completed", "output": [broken, whole]})
    assert len(completion.tool_calls) == (whole is CALL)


def test_a_call_of_a_hosted_tool_is_nobodys_to_answer() -> None:
    hosted = {**CALL, "type": "web_search_call"}
    assert read_response({"status": "completed", "output": [hosted]}).tool_calls == ()


@pytest.mark.parametrize(("broken", "missing"), BROKEN)
@pytest.mark.parametrize(
    "before", [[], [{"type": "reasoning", "summary": []}], [message(text(" "))]]
)
def test_a_response_of_nothing_but_calls_that_cannot_be_made_is_no_empty_answer(
    broken: dict[str, object], missing: str, before: list[dict[str, object]]
) -> None:
    body = {"status": "completed", "output": [*before, broken], "usage": {"input_tokens": 3}}
    field = f"output[{len(before)}].{missing}"

    with pytest.raises(MessageError) as caught:
        read_response(body)
    assert caught.value.field == field

    decoder = StreamDecoder()
    events = decoder.feed({"type": "response.completed", "response": body})
    failure = events[-1]
    assert isinstance(failure, ResponseFailure)
    assert (failure.param, failure.message) == (field, str(caught.value))
    assert UsageReported(usage=Usage(input_tokens=3, total_tokens=3)) in events
    assert (decoder.completion.status, decoder.completion.finish_reason) == ("failed", "error")


@pytest.mark.parametrize(("broken", "_"), BROKEN)
@pytest.mark.parametrize("status", ["incomplete", "failed", "in_progress"])
def test_what_a_response_lacks_that_is_not_complete_is_no_fault(
    broken: dict[str, object], _: str, status: str
) -> None:
    assert read_response({"status": status, "output": [broken]}).tool_calls == ()


def test_a_call_without_arguments_has_empty_ones() -> None:
    (call,) = read_response({"output": [{**CALL, "arguments": None}]}).tool_calls

    assert call.arguments == ""


@pytest.mark.parametrize(
    ("reason", "expected"),
    [("max_output_tokens", "length"), ("content_filter", "content_filter"), (None, "length")],
)
def test_an_incomplete_response_says_why_and_hands_out_no_call(
    reason: str | None, expected: str
) -> None:
    completion = read_response(
        {"status": "incomplete", "incomplete_details": {"reason": reason}, "output": [CALL]}
    )

    assert (completion.finish_reason, completion.incomplete_reason) == (expected, reason)
    assert completion.tool_calls == ()


def test_a_failed_response_keeps_the_servers_error() -> None:
    completion = read_response({"error": {"code": "server_error", "message": "m"}, "output": None})

    assert (completion.status, completion.finish_reason) == ("failed", "error")
    assert completion.error == {"code": "server_error", "message": "m"}


def test_usage_is_counted_with_its_details() -> None:
    usage = {
        "input_tokens": 100,
        "input_tokens_details": {
            "cached_tokens": 60,
            "cache_write_tokens": 5,
            "cache_write_tokens_details": {"ttl_30m_tokens": 2, "ttl_12h_tokens": 3},
        },
        "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 12},
        "total_tokens": 120,
    }

    assert read_response({"usage": usage}).usage == Usage(
        input_tokens=100,
        cached_tokens=60,
        output_tokens=20,
        reasoning_tokens=12,
        total_tokens=120,
        cache_write_tokens=5,
        cache_write_12h_tokens=3,
    )


@pytest.mark.parametrize(("told", "tier"), [("flex", "flex"), (None, None), (7, None)])
def test_the_tier_that_was_billed_is_read(told: object, tier: str | None) -> None:
    assert read_response({"service_tier": told}).service_tier == tier


@pytest.mark.parametrize(
    ("told", "time"),
    [(1785273853, 1785273853), (1.5, 1.5), (0, None), (True, None), ("now", None), (1e300, None)],
)
def test_the_time_of_a_request_is_read(told: object, time: float | None) -> None:
    assert read_response({"created_at": told}).created_at == time


def test_what_was_kept_beside_a_response_is_read() -> None:
    assert read_response({"metadata": {"a": "b", "c": 3}}).metadata == {"a": "b"}
    assert read_response({"metadata": "a"}).metadata == {}


def test_a_missing_total_is_the_sum_and_nonsense_counts_nothing() -> None:
    usage = {"input_tokens": 3, "output_tokens": 4, "input_tokens_details": {"cached_tokens": None}}

    assert read_response({"usage": usage}).usage == Usage(
        input_tokens=3, output_tokens=4, total_tokens=7
    )
    odd = {"input_tokens": 3, "output_tokens": True}
    assert read_response({"usage": odd}).usage == Usage(input_tokens=3, total_tokens=3)


@pytest.mark.parametrize(
    ("written", "counted"),
    [
        ({"input_tokens": "3", "output_tokens": 4.0}, (3, 4, 7)),
        ({"prompt_tokens": 3, "completion_tokens": " 4.0 ", "total_tokens": "7"}, (3, 4, 7)),
        ({"input_tokens": 0, "output_tokens": None, "prompt_tokens": 3, "completion_tokens": 4}, (3, 4, 7)),
        ({"completion_tokens": 4, "total_tokens": 7}, (3, 4, 7)),
        ({"input_tokens": 3, "total_tokens": 7}, (3, 4, 7)),
        ({"output_tokens": 4}, (0, 4, 4)),
        ({"total_tokens": 7}, (0, 0, 7)),
    ],
    ids=str,
)  # fmt: skip
def test_usage_is_read_in_other_words(
    written: dict[str, object], counted: tuple[int, int, int]
) -> None:
    sent, received, total = counted
    usage = read_response({"usage": written}).usage

    assert usage == Usage(input_tokens=sent, output_tokens=received, total_tokens=total)


def test_the_details_of_usage_are_read_in_other_words() -> None:
    usage = {
        "prompt_tokens": 3,
        "completion_tokens": 4,
        "prompt_tokens_details": {"cached_tokens": "2"},
        "completion_tokens_details": {"reasoning_tokens": 1.0},
    }

    assert read_response({"usage": usage}).usage == Usage(
        input_tokens=3, cached_tokens=2, output_tokens=4, reasoning_tokens=1, total_tokens=7
    )


@pytest.mark.parametrize(
    "nothing",
    [
        *(None, {}, "7", {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}),
        *({"input_tokens": number, "output_tokens": None} for number in ("x", "-3", -3, 1.5, float("nan"), True)),
    ],
    ids=str,
)  # fmt: skip
def test_what_nobody_has_counted_is_not_nothing(nothing: object) -> None:
    assert read_response({"usage": nothing}).usage is None


def test_summaries_are_listed_part_by_part_without_raw_reasoning() -> None:
    reasoning = {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "a"}, {"type": "summary_text", "text": ""}],
        "content": [{"type": "reasoning_text", "text": "secret"}],
    }

    assert read_response({"output": [reasoning, reasoning]}).reasoning_summaries == ("a", "a")


def test_items_are_kept_verbatim() -> None:
    odd = {"type": "something_new", "x": [1, {"y": None}]}

    assert read_response({"output": [odd, "not an item"]}).items == (odd,)


def test_an_sdk_model_is_read_like_its_json() -> None:
    class Model:
        def model_dump(self, *, exclude_unset: bool) -> dict[str, object]:
            return {"id": "resp_1", "model": "gpt-5", "output": [], "unset": exclude_unset}

    completion = read_response(Model())

    assert (completion.response_id, completion.model) == ("resp_1", "gpt-5")


def test_anything_else_is_refused_by_name() -> None:
    with pytest.raises(MessageError, match="response: expected a mapping"):
        read_response("text")


def test_half_a_character_is_replaced_wherever_it_stands() -> None:
    """Nothing that is sent on may hold one: no UTF-8 can carry it."""
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "\ud83d{}"}
    thought = {"type": "reasoning", "summary": [], "encrypted_content": "a\ude00", "\ud83d": 1}
    whole = {"type": "message", "content": [{"type": "output_text", "text": "\U0001f600é"}]}

    completion = read_response(
        {"status": "completed", "model": "m\ud83d", "output": [call, thought, whole]}
    )

    assert completion.model == "m\ufffd"
    assert completion.tool_calls[0].arguments == "\ufffd{}"
    assert completion.items[1] == {
        "type": "reasoning",
        "summary": [],
        "encrypted_content": "a\ufffd",
        "\ufffd": 1,
    }
    assert completion.items[2] == whole
