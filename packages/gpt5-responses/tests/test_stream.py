import contextlib
import gzip
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from wire import Wire, whole

from gpt5_messages import BlockDelta, ResponseEnded, ResponseStarted, StreamEvent
from gpt5_responses import (
    AuthenticationError,
    Connection,
    ConnectionFailedError,
    ConnectionTimeoutError,
    InvalidRequestError,
    ModelNotFoundError,
    NotFoundError,
    PermissionDeniedError,
    RateLimitError,
    ResponseFailedError,
    ResponsesError,
    ResponseStream,
    ServerError,
    StreamInterruptedError,
    Transport,
    UnexpectedResponseError,
    aopen_stream,
    create,
    open_stream,
)
from gpt5_simulator import (
    BrokenFrame,
    CutStream,
    EncryptedContentRefused,
    Fault,
    FunctionCall,
    HtmlPage,
    HttpError,
    LateError,
    LateFailure,
    Reasoning,
    Recording,
    Refusal,
    ResponsesSimulator,
    ScriptedModel,
    Silence,
    Text,
    UnknownEvent,
    UnverifiedOrganization,
)


REQUEST = {"model": "gpt-5.2", "input": "Hello there", "stream": True, "store": False}
SUMMARISED = {**REQUEST, "reasoning": {"effort": "medium", "summary": "auto"}}


MUST_BE_VERIFIED = "Your organization must be verified to use the model `gpt-5.2`. Please click on Verify Organization."


@pytest.fixture
def server() -> Iterator[ResponsesSimulator]:
    with ResponsesSimulator() as running:
        yield running


def connection(server: ResponsesSimulator, **settings: object) -> Connection:
    return Connection(**{"api_key": "k", "base_url": server.base_url, "max_retries": 0, **settings})


def read_all(stream: ResponseStream) -> tuple[list[StreamEvent], ResponsesError | None]:
    events: list[StreamEvent] = []
    try:
        for event in stream:
            events.append(event)  # noqa: PERF402  what came before an error has to be kept
    except ResponsesError as error:
        return events, error
    return events, None


def refusal(
    fault: Fault, transport: Transport, request: dict[str, object] = REQUEST
) -> ResponsesError:
    with ResponsesSimulator(faults=[fault]) as server, pytest.raises(ResponsesError) as caught:
        create(connection(server), request, transport=transport)
    return caught.value


@pytest.mark.parametrize(
    "request_body", [REQUEST, {**REQUEST, "stream": False}], ids=["stream", "whole"]
)
def test_streamed_or_not_an_answer_is_read(
    server: ResponsesSimulator, transport: Transport, request_body: dict[str, object]
) -> None:
    completion = create(connection(server), request_body, transport=transport)

    assert completion.text
    assert (completion.status, completion.finish_reason) == ("completed", "stop")
    assert completion.usage.total_tokens == (
        completion.usage.input_tokens + completion.usage.output_tokens
    )


def test_a_stream_begins_grows_and_ends(server: ResponsesSimulator, transport: Transport) -> None:
    with open_stream(connection(server), REQUEST, transport=transport) as stream:
        events = list(stream)

    assert isinstance(events[0], ResponseStarted)
    assert isinstance(events[-1], ResponseEnded)
    assert (
        "".join(event.text for event in events if isinstance(event, BlockDelta))
        == stream.completion.text
    )
    assert stream.request_id
    assert stream.event_count > 5


def test_the_request_goes_out_as_it_is(server: ResponsesSimulator, transport: Transport) -> None:
    create(connection(server), SUMMARISED, transport=transport)

    assert server.requests[-1].body == SUMMARISED


def test_key_and_organisation_go_out_as_headers(
    server: ResponsesSimulator, transport: Transport
) -> None:
    create(connection(server, organization="org-1"), REQUEST, transport=transport)

    headers = server.requests[-1].headers
    assert headers["authorization"].startswith("Bearer sha256:")
    assert headers["openai-organization"] == "org-1"


def test_leaving_a_stream_early_closes_its_connection(transport: Transport) -> None:
    with ResponsesSimulator(faults=[Silence(after_events=4)]) as server:
        stream = open_stream(connection(server), REQUEST, transport=transport)
        next(iter(stream))
        stream.close()
        stream.close()

        with pytest.raises(StreamInterruptedError):
            list(stream)


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (HttpError(status=400, param="input", message="Bad input."), InvalidRequestError),
        (HttpError(status=401), AuthenticationError),
        (HttpError(status=403), PermissionDeniedError),
        (HttpError(status=404), NotFoundError),
        (HttpError(status=404, code="model_not_found", param="model"), ModelNotFoundError),
        (HttpError(status=400, code="model_not_found", param="model"), ModelNotFoundError),
        (HttpError(status=408), ServerError),
        (HttpError(status=409), ServerError),
        (HttpError(status=413), InvalidRequestError),
        (HttpError(status=422), InvalidRequestError),
        (HttpError(status=429), RateLimitError),
        (HttpError(status=500), ServerError),
        (HttpError(status=503), ServerError),
        (LateError(code="rate_limit_exceeded"), RateLimitError),
        (LateError(code="insufficient_quota"), RateLimitError),
        (LateError(code="server_error", flat=True), ServerError),
        (LateError(code="model_not_found"), ModelNotFoundError),
        (LateError(code="something_new"), ResponsesError),
        (LateFailure(), ServerError),
        (CutStream(after_events=4), StreamInterruptedError),
        (CutStream(after_events=0), StreamInterruptedError),
        (CutStream(after_bytes=700), StreamInterruptedError),
        (HtmlPage(), UnexpectedResponseError),
        # As servers report them that are not OpenAI's.
        (HttpError(status=404, code="model_not_found", message="No models loaded."), InvalidRequestError),
        (HttpError(status=404, message="The model 'gpt-5.2' is not loaded"), InvalidRequestError),
        (HttpError(status=404, message="The model 'gpt-5.2' is not there. Loaded: x"), ModelNotFoundError),
        (HttpError(status=404, message="The model gpt-5.2 does not exist."), ModelNotFoundError),
        (HttpError(status=404, message="No route /models/gpt-5.2"), NotFoundError),
        (HttpError(status=503, code="model_not_found", message="Loading model"), ServerError),
        (LateError(code="model_not_found", message="Model unloaded."), ResponseFailedError),
        (LateError(code="429"), RateLimitError),
        (LateError(code="529"), ServerError),
        (LateError(code="401"), AuthenticationError),
        (LateError(code="422"), InvalidRequestError),
        (LateError(code="404", message="The model `gpt-5.2` is gone."), ModelNotFoundError),
        (LateError(code="404", message="The item is gone."), InvalidRequestError),
        (LateError(code="BadRequestError"), InvalidRequestError),
        (LateError(code="InternalServerError"), ServerError),
        (LateError(code="4290"), ResponseFailedError),
    ],
)  # fmt: skip
def test_every_failure_has_its_error(
    fault: Fault, kind: type[ResponsesError], transport: Transport
) -> None:
    assert isinstance(refusal(fault, transport), kind)


@pytest.mark.parametrize(
    ("fault", "again", "elsewhere"),
    [
        (HttpError(status=429), False, True),
        (HttpError(status=503), False, True),
        (HttpError(status=403), False, True),
        (HttpError(status=404, code="model_not_found", param="model"), False, True),
        (HttpError(status=400, code="content_filter", message="Filtered."), False, True),
        (HttpError(status=400, param="input", message="Bad input."), False, False),
        (HttpError(status=401), False, False),
        (LateError(code="something_new"), False, True),
        (CutStream(after_events=4), True, False),
    ],
)
def test_an_error_says_whether_to_ask_again_or_another_model(
    transport: Transport, fault: Fault, *, again: bool, elsewhere: bool
) -> None:
    error = refusal(fault, transport)
    assert (error.is_transient, error.may_pass_elsewhere) == (again, elsewhere)


@pytest.mark.parametrize("status", [404, 501])
def test_a_server_that_may_be_no_responses_api_is_told_by_its_status(
    transport: Transport, status: int
) -> None:
    told = str(refusal(HttpError(status=status, code="no_such_route"), transport))
    assert f" (status {status}). " in told


@pytest.mark.parametrize("replaces", [False, True])
def test_a_broken_frame_is_a_failure_only_where_something_is_lost(
    transport: Transport, *, replaces: bool
) -> None:
    with ResponsesSimulator() as server:
        with open_stream(connection(server), REQUEST, transport=transport) as stream:
            list(stream)
        fault = BrokenFrame(after_events=stream.event_count - 1, replaces=replaces)
        server.add_fault(fault)
        with open_stream(connection(server), REQUEST, transport=transport) as broken:
            _, error = read_all(broken)

    assert isinstance(error, UnexpectedResponseError) is replaces
    assert broken.completion.text == stream.completion.text


def test_a_refusal_carries_its_facts(transport: Transport) -> None:
    error = refusal(
        HttpError(status=400, code="unknown_parameter", param="foo", message="No foo."), transport
    )

    assert (error.status_code, error.code, error.param) == (400, "unknown_parameter", "foo")
    assert error.request_id
    assert "No foo." in str(error)
    assert "'foo'" in str(error)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("sk-proj-abcdef123456", "sk-[redacted]"),
        ("sess-abcdef123456", "sess-[redacted]"),
        ("sk-ab****cdef", "sk-[redacted]"),
        ("password=abcdef", "password=[redacted]"),
    ],
)
def test_what_looks_like_a_key_is_taken_out_of_an_explanation(
    transport: Transport, written: str, shown: str
) -> None:
    error = refusal(HttpError(status=400, message=f"Bad key {written} " + "x" * 1000), transport)

    assert "cdef" not in str(error)
    assert f"Bad key {shown} " in str(error)
    assert len(str(error)) < 500


LIMIT = "Rate limit reached for gpt-5.2: Limit 30000, Used 29000.\nPlease try again in 1.2s. sk-abcdef12 "


@pytest.mark.parametrize("fault", [HttpError, LateError])
def test_the_server_s_own_words_come_beside_ours(
    transport: Transport, fault: type[HttpError] | type[LateError]
) -> None:
    status = {"status": 429} if fault is HttpError else {}
    hit = fault(code="rate_limit_exceeded", message=LIMIT + "x" * 300, **status)
    error = refusal(hit, transport)

    assert str(error).startswith("Too many requests")
    assert "30000" not in str(error)
    plain = LIMIT.replace("\n", " ").replace("abcdef12", "[redacted]")
    assert error.explanation == f"{plain}{'x' * 300}"[:260] + "..."
    assert refusal(HttpError(status=503, message=" "), transport).explanation == ""


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (HttpError(status=503, message="db-7 is down."), "(status 503). Try again later."),
        (LateError(code="server_error", message="db-7 is down."), "Try again later."),
        (HttpError(status=401, message="db-7 is down."), "Check api_key and base_url."),
        (HttpError(status=403, message="db-7 is down."), "organisation and permissions."),
        (
            HttpError(status=404, code="none", message="db-7 is down."),
            "(status 404). Check base_url.",
        ),
        (HttpError(status=404, code="model_not_found", message="db-7 is down."), "access to it."),
    ],
)
def test_why_a_server_refuses_or_fails_stands_behind_our_sentence(
    transport: Transport, fault: Fault, sentence: str
) -> None:
    assert str(refusal(fault, transport)).endswith(f"{sentence} The server says: db-7 is down.")


def test_what_is_missing_beside_a_field_is_no_address(transport: Transport) -> None:
    fault = HttpError(status=404, code="none", param="previous_response_id", message="Gone.")

    expected = "The server refused the request (status 404), code 'none', param 'previous_response_id': Gone."
    assert str(refusal(fault, transport)) == expected


@pytest.mark.parametrize("answer", ["503 x", "200 OK"])
def test_a_failure_of_openai_s_is_told_in_our_words(
    transport: Transport, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    body = b'{"error": {"code": "server_error", "message": "db-7 is down."}}'
    with Wire(whole(body, answer)) as wire:
        monkeypatch.setenv("HTTP_PROXY", wire.base_url.removesuffix("/v1"))
        asked = Connection(api_key="k", base_url="http://eu.api.openai.com/v1", max_retries=0)
        with pytest.raises(ServerError) as caught:
            create(asked, REQUEST, transport=transport)

    assert "db-7" not in str(caught.value)
    assert caught.value.explanation == "db-7 is down."


@pytest.mark.parametrize(
    "fault",
    [
        HttpError(status=403, message=MUST_BE_VERIFIED.replace("iza", "isa").upper()),
        HttpError(status=403, code="model_not_found", message=MUST_BE_VERIFIED),
        HttpError(status=404, message=MUST_BE_VERIFIED),
        LateError(code="model_not_found", message=MUST_BE_VERIFIED),
    ],
)
def test_an_organisation_that_is_not_verified_is_told_so(
    transport: Transport, fault: Fault
) -> None:
    error = refusal(fault, transport)

    assert type(error) is PermissionDeniedError
    assert "not verified the key's organisation, which the model 'gpt-5.2' needs" in str(error)
    assert "must be verified" in error.explanation.lower()


@pytest.mark.parametrize("status", [400, 401, 500])
def test_half_a_character_stands_in_no_error(transport: Transport, status: int) -> None:
    half = {"message": "a\ud83d", "code": "b\ud83d", "param": "c\ud83d"}
    error = refusal(HttpError(status=status, times=None, **half), transport)

    assert (error.code, error.param) == ("b?", "c?")
    assert str(error).isascii()
    assert error.explanation == "a?"


@pytest.mark.parametrize("body", [b'{"error": null}', b"[1]", b"<html><p>No.</p>", b"1", b""])
def test_a_refusal_without_reason_says_so(transport: Transport, body: bytes) -> None:
    recording = Recording(name="x", body=body, is_stream=False, status=400)
    with (
        ResponsesSimulator(replay=[recording]) as server,
        pytest.raises(InvalidRequestError, match="no reason was given"),
    ):
        create(connection(server), {**REQUEST, "stream": False}, transport=transport)


def test_a_missing_quota_is_told_from_a_limit(transport: Transport) -> None:
    assert "quota" in str(refusal(HttpError(status=429, code="insufficient_quota"), transport))
    assert "Wait" in str(refusal(HttpError(status=429), transport))


def test_a_retired_model_is_answered_with_the_one_to_use(
    server: ResponsesSimulator, transport: Transport
) -> None:
    with pytest.raises(ModelNotFoundError, match=r"'gpt-5-codex'.*Use 'gpt-5\.5' instead"):
        create(connection(server), {**REQUEST, "model": "gpt-5-codex"}, transport=transport)


def test_a_model_that_ends_and_is_missing_is_answered_with_its_day(transport: Transport) -> None:
    fault = HttpError(status=404, code="model_not_found")
    with (
        ResponsesSimulator(faults=[fault]) as server,
        pytest.raises(ModelNotFoundError, match=r"on 2026-12-11\. Use 'gpt-6\.1-sol' instead"),
    ):
        create(connection(server), {**REQUEST, "model": "gpt-5"}, transport=transport)


def test_an_unknown_model_is_named(server: ResponsesSimulator, transport: Transport) -> None:
    with pytest.raises(ModelNotFoundError, match="'gpt-none'"):
        create(connection(server), {**REQUEST, "model": "gpt-none"}, transport=transport)


def test_a_server_that_is_not_there_cannot_be_reached(transport: Transport) -> None:
    nowhere = Connection(api_key="k", base_url="http://127.0.0.1:9/v1", max_retries=0)

    with pytest.raises(ConnectionFailedError, match=r"Check the network and base_url\."):
        create(nowhere, REQUEST, transport=transport)


def test_a_server_that_does_not_answer_in_time_is_given_up(transport: Transport) -> None:
    with (
        ResponsesSimulator(faults=[Silence(times=None)]) as server,
        pytest.raises((ConnectionTimeoutError, StreamInterruptedError)),
    ):
        create(connection(server, timeout_seconds=0.2), REQUEST, transport=transport)


def test_a_server_that_takes_the_request_and_says_nothing_is_given_up(transport: Transport) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        nobody = Connection(
            api_key="k", base_url=f"http://127.0.0.1:{port}/v1", timeout_seconds=0.2, max_retries=0
        )
        with pytest.raises(ConnectionTimeoutError, match="raise timeout_seconds"):
            create(nobody, REQUEST, transport=transport)


def test_events_before_a_cut_are_delivered_before_the_error(transport: Transport) -> None:
    with ResponsesSimulator(faults=[CutStream(after_events=8)]) as server:
        stream = open_stream(connection(server), REQUEST, transport=transport)
        events, error = read_all(stream)

    assert isinstance(error, StreamInterruptedError)
    assert isinstance(events[0], ResponseStarted)
    assert stream.completion.status == "in_progress"


def test_a_failed_start_is_sent_again_and_a_broken_stream_is_not(transport: Transport) -> None:
    with ResponsesSimulator(faults=[HttpError(status=500, retry_after_ms=1)]) as server:
        assert create(connection(server, max_retries=1), REQUEST, transport=transport).text
        assert len(server.requests) == 2
    with ResponsesSimulator(faults=[CutStream()]) as server:
        with pytest.raises(StreamInterruptedError):
            create(connection(server, max_retries=5), REQUEST, transport=transport)
        assert len(server.requests) == 1


def test_a_refused_summary_is_left_out_once_and_for_all(transport: Transport) -> None:
    with ResponsesSimulator(faults=[UnverifiedOrganization()]) as server:
        with open_stream(connection(server), SUMMARISED, transport=transport) as stream:
            list(stream)
        create(connection(server), SUMMARISED, transport=transport)

    asked = ["summary" in request.body.get("reasoning", {}) for request in server.requests]
    assert asked == [True, False, False]
    assert stream.left_out == ("without_summary",)
    assert stream.completion.text


def test_a_summary_alone_takes_the_reasoning_settings_with_it(transport: Transport) -> None:
    with ResponsesSimulator(faults=[UnverifiedOrganization()]) as server:
        create(
            connection(server), {**REQUEST, "reasoning": {"summary": "auto"}}, transport=transport
        )

    assert "reasoning" not in server.requests[-1].body


def test_refused_streaming_becomes_one_answer(transport: Transport) -> None:
    fault = UnverifiedOrganization(summary=False, stream=True)
    with ResponsesSimulator(faults=[fault]) as server:
        assert create(connection(server), REQUEST, transport=transport).text
        assert create(connection(server), REQUEST, transport=transport).text
        assert create(connection(server), {**REQUEST, "stream": False}, transport=transport).text

    assert [request.body["stream"] for request in server.requests] == [True, False, False, False]


def test_what_goes_only_with_a_stream_is_left_out_where_streaming_is_refused(
    transport: Transport,
) -> None:
    request = {**REQUEST, "stream_options": {"include_obfuscation": False}}
    with ResponsesSimulator(faults=[UnverifiedOrganization(summary=False, stream=True)]) as server:
        assert create(connection(server), request, transport=transport).text

    assert ["stream_options" in one.body for one in server.requests] == [True, False]


def test_refused_reasoning_items_are_left_out_once(transport: Transport) -> None:
    model = ScriptedModel(
        [
            [Reasoning(), FunctionCall(name="f", arguments={}, call_id="c1")],
            [Text(text="done")],
        ]
    )
    tools = [
        {
            "type": "function",
            "name": "f",
            "strict": False,
            "parameters": {"type": "object", "properties": {}},
        }
    ]
    include = ["reasoning.encrypted_content"]
    first = {**REQUEST, "tools": tools, "include": include, "reasoning": {"effort": "medium"}}
    question = {"role": "user", "content": [{"type": "input_text", "text": "Go"}]}
    with ResponsesSimulator(model=model) as server:
        asked = create(connection(server), {**first, "input": [question]}, transport=transport)
    output = {"type": "function_call_output", "call_id": "c1", "output": "x"}
    second = {**first, "input": [question, *asked.items, output]}
    with (
        ResponsesSimulator(
            model=ScriptedModel([[Text(text="done")]]),
            faults=[EncryptedContentRefused()],
        ) as server,
        open_stream(connection(server), second, transport=transport) as stream,
    ):
        list(stream)

    assert stream.left_out == ("without_reasoning_items",)
    assert [item.get("type") for item in server.requests[-1].body["input"]] == [
        "message",
        "function_call",
        "function_call_output",
    ]
    assert stream.completion.text == "done"


QUESTION = {"role": "user", "content": [{"type": "input_text", "text": "Go"}]}
FOREIGN = {"type": "compaction", "id": "cmp_1", "encrypted_content": "of another"}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "of another"}
SAID = {"role": "assistant", "content": "Hi"}


@pytest.mark.parametrize("before", [[], [THOUGHT, SAID]], ids=["alone", "with reasoning"])
def test_a_refused_compaction_is_replaced_by_what_it_stands_for(
    transport: Transport, before: list[dict[str, Any]]
) -> None:
    short = {**REQUEST, "input": [FOREIGN, *before, QUESTION]}
    earlier = [QUESTION, THOUGHT, SAID, *before, QUESTION]
    with ResponsesSimulator() as server:
        stream = ResponseStream(
            connection(server), short, transport=transport, whole=lambda: earlier
        )
        list(stream)

    assert stream.left_out[-1] == "without_compaction"
    assert [item.get("type", "message") for item in server.requests[-1].body["input"]] == [
        "message" for item in earlier if item is not THOUGHT
    ]


async def test_an_asynchronous_stream_tells_and_replaces_the_same() -> None:
    short = {**REQUEST, "input": [FOREIGN, QUESTION]}
    with ResponsesSimulator() as server:
        opened = aopen_stream(connection(server), short, whole=lambda: [QUESTION, SAID, QUESTION])
        async with opened as stream:
            assert (stream.event_count, stream.last_event_type) == (0, None)
            async for _ in stream:
                pass

    assert stream.left_out[-1] == "without_compaction"
    assert len(server.requests[-1].body["input"]) == 3
    assert stream.event_count > 5
    assert stream.last_event_type == "response.completed"


def test_a_refused_compaction_that_nobody_knows_the_conversation_of_is_an_error(
    transport: Transport,
) -> None:
    request = {**REQUEST, "input": [FOREIGN, QUESTION]}
    with ResponsesSimulator() as server, pytest.raises(InvalidRequestError):
        create(connection(server), request, transport=transport)

    assert len(server.requests) == 1


def test_other_refusals_have_nothing_to_do_with_compactions(transport: Transport) -> None:
    request = {**REQUEST, "input": "Hi", "max_output_tokens": 1}
    with ResponsesSimulator() as server, pytest.raises(InvalidRequestError):
        list(ResponseStream(connection(server), request, transport=transport, whole=list))
    said = {**request, "input": [FOREIGN, QUESTION]}
    with ResponsesSimulator() as server, pytest.raises(InvalidRequestError):
        list(ResponseStream(connection(server), said, transport=transport, whole=list))


def test_calls_of_hosted_tools_that_another_server_made_are_left_out_once(
    transport: Transport,
) -> None:
    message = "Item with id 'ws_1' not found. Items are not persisted when `store` is set to false."
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {}}
    question = {"role": "user", "content": [{"type": "input_text", "text": "Go"}]}
    request = {**REQUEST, "input": [question, search, question]}
    with ResponsesSimulator(
        faults=[HttpError(status=404, message=message)], strict=False
    ) as server:
        assert create(connection(server), request, transport=transport).text

    sent = [len(one.body["input"]) for one in server.requests]
    assert sent == [3, 2]


def test_a_server_without_encrypted_reasoning_is_not_asked_for_it_again(
    transport: Transport,
) -> None:
    request = {**REQUEST, "include": ["reasoning.encrypted_content"]}
    with ResponsesSimulator(faults=[EncryptedContentRefused(part="include")]) as server:
        assert create(connection(server), request, transport=transport).text

    assert [("include" in sent.body) for sent in server.requests] == [True, False]


def test_what_was_tried_before_is_said(transport: Transport) -> None:
    unverified = UnverifiedOrganization(times=1)
    refused = HttpError(status=400, message="Your organization must be verified to stream.")
    with (
        ResponsesSimulator(faults=[unverified, refused]) as server,
        pytest.raises(InvalidRequestError) as caught,
    ):
        create(connection(server), {**SUMMARISED, "stream": False}, transport=transport)

    assert "must be verified" in str(caught.value)
    assert "sent again without the reasoning summary and refused again" in str(caught.value)


def test_a_refusal_that_asking_for_less_does_not_cure_stands(transport: Transport) -> None:
    error = refusal(
        HttpError(status=400, param="reasoning.summary", times=None), transport, request=SUMMARISED
    )

    assert isinstance(error, InvalidRequestError)


def test_unknown_events_do_no_harm(transport: Transport) -> None:
    with ResponsesSimulator(faults=[UnknownEvent()]) as server:
        assert create(connection(server), REQUEST, transport=transport).text


def test_a_refusing_model_is_an_answer_and_no_error(transport: Transport) -> None:
    with ResponsesSimulator(model=ScriptedModel([[Refusal(text="No.")]])) as server:
        assert create(connection(server), REQUEST, transport=transport).refusal == "No."


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"[]", "JSON that is not an object"),
        (b"7", "JSON that is not an object"),
        (b"{broken", "something other than JSON"),
        (b"It works!", "something other than JSON"),
        (b"\xff", "something other than JSON"),
        (b" ", "an empty body"),
        (b'[{"candidates": [{"content": {}}]}, {"candidates": []}]', "Gemini's generateContent"),
        (b'{"candidates": []}', "Gemini's generateContent"),
        (b'{"type": "message", "content": [], "stop_reason": "end_turn"}', "Anthropic Messages"),
        (b'{"model": "m", "message": {"content": "Hi"}, "done": true}', "Ollama's own API"),
        (b'{"hello": 1}', None),
    ],
)
def test_a_body_that_is_no_response_is_an_unexpected_answer(
    body: bytes, told: str | None, transport: Transport
) -> None:
    expected = (
        f"^The server answered with {told} where the Responses API was expected"
        if told
        else "not a response of the Responses API"
    )
    recording = Recording(name="x", body=body, is_stream=False)
    with (
        ResponsesSimulator(replay=[recording]) as server,
        pytest.raises(UnexpectedResponseError, match=expected),
    ):
        create(connection(server), {**REQUEST, "stream": False}, transport=transport)


def test_a_response_that_failed_without_a_stream_is_the_same_error(transport: Transport) -> None:
    body = b'{"status": "failed", "error": {"code": "server_error", "message": "m"}, "output": []}'
    recording = Recording(name="x", body=body, is_stream=False)
    with ResponsesSimulator(replay=[recording]) as server, pytest.raises(ServerError):
        create(connection(server), {**REQUEST, "stream": False}, transport=transport)


def test_a_stream_that_ends_without_its_end_is_interrupted(transport: Transport) -> None:
    delta = b'data: {"type":"response.output_text.delta","output_index":0,"delta":"Hi"}'
    recording = Recording(name="x", body=delta, is_stream=True)
    with ResponsesSimulator(replay=[recording]) as server:
        stream = open_stream(connection(server), REQUEST, transport=transport)
        with pytest.raises(StreamInterruptedError, match="What arrived is shown"):
            list(stream)

    assert stream.completion.text == "Hi"


def test_a_compressed_stream_is_unpacked(transport: Transport) -> None:
    body = gzip.compress(
        b'data: {"type":"response.output_text.delta","delta":"Hi"}\n\n'
        b'data: {"type":"response.completed","response":{"status":"completed"}}\n\n'
    )
    head = (
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: gzip\r\n"
        f"content-length: {len(body)}\r\n\r\n"
    )
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            with listener.accept()[0] as peer:
                peer.recv(65536)
                peer.sendall(head.encode() + body)

        server = threading.Thread(target=answer)
        server.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        plain = Connection(api_key="k", base_url=url, max_retries=0)
        completion = create(plain, REQUEST, transport=transport)
        server.join()

    assert (completion.status, completion.text) == ("completed", "Hi")


def test_an_answer_without_end_is_given_up(transport: Transport) -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n: "

    def serve(listener: socket.socket) -> None:
        peer, _ = listener.accept()
        with peer, contextlib.suppress(OSError):
            peer.recv(65_536)
            peer.sendall(head)
            while True:
                peer.sendall(b"x" * 1_000_000)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        endless = Connection(api_key="k", base_url=url, max_retries=0)
        with pytest.raises(UnexpectedResponseError, match="exceeds 128 MiB"):
            create(endless, REQUEST, transport=transport)
        thread.join()


def test_one_client_serves_all_calls_of_a_connection(
    server: ResponsesSimulator, transport: Transport
) -> None:
    with transport.lend(connection(server)) as first, transport.lend(connection(server)) as second:
        assert first is second


def test_a_client_that_leaves_the_pool_is_closed_when_nobody_reads_from_it(
    server: ResponsesSimulator,
) -> None:
    transport = Transport(max_clients=1)
    mine, yours = connection(server), connection(server, api_key="other")

    with open_stream(mine, REQUEST, transport=transport) as stream:
        create(yours, REQUEST, transport=transport)
        assert list(stream)
    create(mine, REQUEST, transport=transport)
    transport.close()


def test_two_keys_are_never_mixed(server: ResponsesSimulator, transport: Transport) -> None:
    for key in ("a", "b", "a"):
        create(connection(server, api_key=key), REQUEST, transport=transport)

    first, second, third = (request.headers["authorization"] for request in server.requests)
    assert first == third != second
