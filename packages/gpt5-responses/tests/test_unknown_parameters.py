"""Parameters that a server does not know are left out of the request, and nothing else is, however the server says so."""

import json
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from following import in_turn
from wire import Wire, body_of, whole

import gpt5_responses
from gpt5_responses import (
    AsyncResponsesClient,
    BackgroundStream,
    Connection,
    InvalidRequestError,
    ModelConfig,
    Request,
    ResponsesError,
    ResponsesScheme,
    ResponseStream,
    SettingsError,
    Transport,
    create,
    start_background,
    validate_model,
)


TABLE = Path(gpt5_responses.__file__).parent / "_calls" / "unknown_parameters.toml"
SAID = [
    pytest.param(text, id=f"{who}: {text[:30]}")
    for row in tomllib.loads(TABLE.read_text("utf-8"))["words"]
    for who, text in row["said"]
]
ENCRYPTED, SOURCES = "reasoning.encrypted_content", "web_search_call.action.sources"
BODY: dict[str, Any] = {
    "model": "gpt-oss",
    "stream": False,
    "store": False,
    "safety_identifier": "who",
    "stream_options": {"include_obfuscation": False},
    "prompt_cache_key": "start",
    "prompt_cache_options": {"ttl": "30m"},
    "prompt_cache_retention": "24h",
    "text": {"format": {"type": "text"}, "verbosity": "low"},
    "reasoning": {"effort": "low", "summary": "auto"},
    "include": [ENCRYPTED, SOURCES],
    "truncation": "disabled",
    "parallel_tool_calls": True,
    "service_tier": "auto",
    "max_output_tokens": 8192,
}
LEFT_OUT = {
    "safety_identifier": "without_safety_identifier",
    "stream_options": "without_stream_options",
    "prompt_cache_key": "without_prompt_cache_key",
    "prompt_cache_options": "without_prompt_cache_options",
    "prompt_cache_retention": "without_prompt_cache_retention",
    "text.verbosity": "without_verbosity",
    "reasoning.summary": "without_summary",
    "include": "without_include",
    "truncation": "without_truncation",
    "parallel_tool_calls": "without_parallel_tool_calls",
    "service_tier": "without_service_tier",
    "max_output_tokens": "without_limit",
}
ANSWER = {
    "status": "completed",
    "output": [{"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}],
    "input_tokens": 3,
}


def value_at(body: Mapping[str, Any], path: str) -> Any:
    value: Any = body
    for step in path.split("."):
        value = value.get(step) if value else None
    return value


def without(body: Mapping[str, Any], *paths: str) -> dict[str, Any]:
    """Return what is expected of a body without some of its fields."""
    less = json.loads(json.dumps(body))
    for path in paths:
        *above, last = path.split(".")
        del (less[above[0]] if above else less)[last]
    return less


class Picky(Wire):
    """A server that refuses a request with certain fields, as its instructions say.

    They are pairs of a path, and an error or its message; a value of a list is named by itself.
    """

    def __init__(self) -> None:
        super().__init__(self._reply)
        self.asked: list[dict[str, Any]] = []

    def _reply(self, peer: Any) -> None:
        body = body_of(self.requests[-1])
        says = json.loads(body["instructions"])
        self.asked.append(without(body, "input", "instructions"))
        for path, error in says:
            field, _, value = path.partition("=")
            found = value_at(body, field)
            if found is not None and (not value or value in found):
                told = {"message": error} if isinstance(error, str) else error
                status = f"{told.get('status', 400)} Refused"
                return whole(json.dumps({"error": told}).encode(), status)(peer)
        return whole(json.dumps(ANSWER).encode())(peer)


def asking(*says: tuple[str, object], **changes: object) -> dict[str, Any]:
    return {**BODY, **changes, "input": "Go", "instructions": json.dumps(says)}


@pytest.fixture
def server() -> Iterator[Picky]:
    with Picky() as running:
        yield running


@pytest.mark.parametrize("said", SAID)
def test_a_parameter_is_left_out_however_it_is_called_unknown(
    said: str, server: Picky, transport: Transport
) -> None:
    for path in ("prompt_cache_key", "text.verbosity", "include"):
        request = asking((path, said.replace("{}", path)))
        stream = ResponseStream(server.connection(), request, transport=transport)
        list(stream)

        assert server.asked[-1] == without(server.asked[-2], path)
        assert stream.left_out[-1] == LEFT_OUT[path]


@pytest.mark.parametrize("path", LEFT_OUT)
def test_each_is_left_out_alone_and_asked_for_no_more(
    path: str, server: Picky, transport: Transport, caplog: pytest.LogCaptureFixture
) -> None:
    told = {"message": f"Unknown parameter: '{path}'.", "param": path, "code": "unknown_parameter"}
    stream = ResponseStream(server.connection(), asking((path, told)), transport=transport)
    list(stream)
    assert create(server.connection(), asking((path, told)), transport=transport).text == "Hi"

    assert server.asked == [BODY, without(BODY, path), without(BODY, path)]
    assert stream.left_out == (LEFT_OUT[path],)
    [line] = [record.getMessage() for record in caplog.records]
    assert line.startswith("127.0.0.1 refused a request, which is sent again without ")
    assert "without_" not in line


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("text.verbosity", "json: unknown field `verbosity`"),
        ("reasoning.summary", {"message": "summary: Extra inputs are not permitted"}),
        ("prompt_cache_options", {"message": "Not supported", "param": "prompt_cache_options.ttl"}),
        ("stream_options", {"code": "unsupported_parameter", "message": "include_obfuscation"}),
        ("prompt_cache_key", {"code": "UnknownParameter", "message": "x", "param": "/prompt_cache_key"}),
        ("safety_identifier", {"message": "safetyIdentifier is not supported", "status": 422}),
        ("text.verbosity", {"message": "Not permitted", "param": "body.text.verbosity"}),
        ("text.verbosity", {"message": "No", "param": "body.text.TextConfig.verbosity", "code": "extra_forbidden"}),
        ("reasoning.summary", "Unknown name \"summary\" at 'reasoning': Cannot find field."),
        ("reasoning.summary", "body.reasoning.Reasoning.summary: Extra inputs are not permitted"),
        ("reasoning.summary", "Unsupported parameter: reasoning['summary']"),
        ("reasoning.summary", "Unsupported parameter: /reasoning/summary"),
        ("prompt_cache_key", "Unknown parameter: $.prompt_cache_key"),
        ("prompt_cache_key", "UNSUPPORTED_PARAMETER: prompt_cache_key"),
        ("prompt_cache_key", "prompt_cache_key cannot be recognized"),
        ("safety_identifier", "{safety_identifier} is currently not supported"),
        ("safety_identifier", "\u300csafety_identifier\u300d is not supported"),
        ("safety_identifier", "\u2018safety_identifier\u2019 isn\u2019t supported"),
        ("truncation", "groq does not support parameters: {'user': 7, 'truncation': 'disabled'}"),
        ("prompt_cache_options", "unsupported params: {'prompt_cache_options': {'ttl': '30m'}}"),
        ("service_tier", "Unsupported service_tier: auto"),
        ("service_tier", {"message": "Unsupported value: 'auto'", "param": "service_tier"}),
        ("service_tier", {"message": "Unsupported service tier: auto", "param": "service_tier"}),
        ("service_tier", "service_tier 'auto' is not supported"),
        ("parallel_tool_calls", "parallel_tool_calls=true is not supported"),
    ],
)  # fmt: skip
def test_a_name_may_be_short_or_in_other_letters_and_in_param_or_the_message(
    path: str, error: object, server: Picky, transport: Transport
) -> None:
    create(server.connection(), asking((path, error)), transport=transport)

    assert server.asked == [BODY, without(BODY, path)]


@pytest.mark.parametrize(
    "error",
    [
        "max_output_tokens must be at least 16",
        "prompt_cache_key is too long",
        {"message": "string too long", "param": "prompt_cache_key", "code": "string_above_max_length"},
        {"message": "Invalid value for include", "param": "include"},
        "The unsupported parameters include temperature",
        {"message": "Unknown parameter: 'input[0].summary'.", "param": "input[0].summary"},
        {"message": "Unsupported parameter: verbosity", "param": "tools[0]"},
        "Unknown parameter: 'input[0].summary'.",
        "Unknown name \"summary\" at 'request.tools[0].parameters': Cannot find field.",
        "tools.0.FunctionTool.summary: Extra inputs are not permitted",
        "Tool 'summary' is unknown",
        "The safety_identifier 'who' was not recognized",
        "max_output_tokens 8192 is not supported",
        {"message": "Unsupported value: 'low' is not supported with this model.", "param": "text.verbosity"},
        "'text.verbosity' does not support 'low' with this model",
        "Unknown model, but the prompt_cache_key is fine",
        "unknown field `temperature`, expected one of `include`, `prompt_cache_key`",
        {"message": "foo: Extra inputs are not permitted; prompt_cache_key: too long", "param": "foo"},
        {"message": "prompt_cache_key: too long; foo: Extra inputs are not permitted", "param": "prompt_cache_key"},
        "foo: Extra inputs are not permitted, prompt_cache_key: String should be shorter",
        {"message": "Unknown parameter: 'prompt_cache_key'.", "status": 500},
        {"message": "Unknown parameter: 'prompt_cache_key'.", "status": 404},
        {"message": "Unsupported", "param": "text.format"},
        {"code": "unsupported_parameter", "message": "temperature"},
        {"code": 7, "param": ["include"]},
    ],
)  # fmt: skip
def test_a_refusal_that_only_names_a_parameter_stands(
    error: object, server: Picky, transport: Transport
) -> None:
    with pytest.raises(ResponsesError):
        create(server.connection(), asking(("model", error)), transport=transport)

    assert server.asked == [BODY]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("truncation", "auto"),
        ("parallel_tool_calls", False),
        ("service_tier", "flex"),
        ("service_tier", "priority"),
        ("max_output_tokens", 100),
        ("temperature", 1),
    ],
)
def test_what_the_caller_has_chosen_is_not_left_out(
    name: str, value: object, server: Picky, transport: Transport
) -> None:
    request = asking((name, f"Unsupported parameter: {name}"), **{name: value})
    with pytest.raises(InvalidRequestError, match=f"Unsupported parameter: {name}"):
        create(server.connection(), request, transport=transport)

    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "error",
    [
        "1 error: {'type': 'literal_error', 'loc': ('body', 'include', 1), 'msg': \"Input should be 'reasoning.encrypted_content'\"}",
        {"message": "Invalid value. Supported values are: 'reasoning.encrypted_content'.", "param": "include[1]"},
        f"unknown variant `{SOURCES}`, expected one of `reasoning.encrypted_content`",
        {"message": f"The value '{SOURCES}' is not supported", "param": "include"},
        f"Unsupported include value: {SOURCES}",
    ],
)  # fmt: skip
def test_of_include_only_the_refused_value_goes(
    error: object, server: Picky, transport: Transport, caplog: pytest.LogCaptureFixture
) -> None:
    told = asking((f"include={SOURCES}", error))
    for _ in range(2):
        create(server.connection(), told, transport=transport)
    create(server.connection(), {**told, "include": [SOURCES]}, transport=transport)

    assert [body.get("include") for body in server.asked] == [
        [ENCRYPTED, SOURCES],
        [ENCRYPTED],
        [ENCRYPTED],
        None,
    ]
    [line] = [record.getMessage() for record in caplog.records]
    assert line.endswith(f" is sent again without what the answer was to include ({SOURCES}).")


def test_several_are_left_out_together_or_one_after_another(
    server: Picky, transport: Transport
) -> None:
    request = asking(
        ("safety_identifier", "Unsupported parameters: foo, safety_identifier and truncation"),
        (f"include={SOURCES}", f"{SOURCES} is not supported"),
        ("include", "encrypted content is not supported"),
        ("text.verbosity", "Unknown parameter: text.verbosity"),
    )
    stream = ResponseStream(server.connection(), request, transport=transport)
    list(stream)

    assert len(server.asked) == 5
    gone = ("safety_identifier", "truncation", "include", "text.verbosity")
    assert server.asked[-1] == without(BODY, *gone)
    assert set(stream.left_out) == {LEFT_OUT[path] for path in gone}


def test_a_list_of_what_is_wrong_is_read_to_its_end(transport: Transport) -> None:
    extra = {"type": "extra_forbidden", "msg": "Extra inputs are not permitted"}
    wrong = [
        {**extra, "loc": ["body", "text", "verbosity"]},
        {"type": "literal_error", "msg": f"Input should be '{ENCRYPTED}'", "loc": ["body", "include", 1]},
        {**extra, "loc": ["body", "safety_identifier"]},
    ]  # fmt: skip
    refused = whole(json.dumps({"detail": wrong}).encode(), "422 Refused")
    with Wire(in_turn(refused, whole(json.dumps(ANSWER).encode()))) as wire:
        create(wire.connection(), asking(), transport=transport)
        _, body = map(body_of, wire.requests)

    assert body == {
        **without(asking(), "text.verbosity", "safety_identifier"),
        "include": [ENCRYPTED],
    }


def test_an_object_without_anything_else_goes_with_its_part(
    server: Picky, transport: Transport
) -> None:
    request = asking(("text", "unknown field `verbosity`"), text={"verbosity": "low"})
    create(server.connection(), request, transport=transport)

    assert server.asked[-1] == without(BODY, "text")


def test_what_one_model_refuses_is_still_sent_to_another(
    server: Picky, transport: Transport
) -> None:
    path = "safety_identifier"
    told = asking((path, f"Unsupported parameter: '{path}' is not supported with this model."))
    for model in ("gpt-a", "gpt-a", "gpt-b"):
        create(server.connection(), {**told, "model": model}, transport=transport)

    sent = [(body["model"], path in body) for body in server.asked]
    assert sent == [
        ("gpt-a", True),
        ("gpt-a", False),
        ("gpt-a", False),
        ("gpt-b", True),
        ("gpt-b", False),
    ]


def test_another_connection_learns_nothing_of_it(server: Picky, transport: Transport) -> None:
    told = asking(("truncation", "truncation is not supported"))
    for key in ("one", "two"):
        create(server.connection(api_key=key), told, transport=transport)

    assert ["truncation" in body for body in server.asked] == [True, False, True, False]


def test_an_error_after_all_says_what_was_tried(server: Picky, transport: Transport) -> None:
    request = asking(
        ("safety_identifier", "Unknown parameter: 'safety_identifier'."),
        ("model", "The model is asleep"),
    )
    with pytest.raises(InvalidRequestError, match="sent again without the safety identifier"):
        create(server.connection(), request, transport=transport)


@pytest.mark.parametrize("path", LEFT_OUT)
def test_for_openai_nothing_is_left_out(path: str, server: Picky, transport: Transport) -> None:
    request = asking((path, f"Unknown parameter: '{path}'."))
    with pytest.raises(InvalidRequestError):
        create(server.connection(compatibility="openai"), request, transport=transport)

    assert server.asked == [BODY]


def test_a_compatible_request_never_has_what_some_servers_do_not_know(
    server: Picky, transport: Transport
) -> None:
    kept = ("parallel_tool_calls", "max_output_tokens")
    plain = without(BODY, *(path for path in LEFT_OUT if path not in kept))
    told = asking((kept[0], f"Unknown parameter: '{kept[0]}'."))
    stream = ResponseStream(
        server.connection(compatibility="compatible"), told, transport=transport
    )
    list(stream)

    assert server.asked == [plain, without(plain, kept[0])]
    assert set(stream.left_out) == {LEFT_OUT[path] for path in LEFT_OUT if path != kept[1]}
    create(
        server.connection(compatibility="compatible"),
        {**told, "service_tier": "flex"},
        transport=transport,
    )
    assert server.asked[-1]["service_tier"] == "flex"


@pytest.mark.parametrize("value", ["strict", "Auto", 1])
def test_another_word_for_the_compatibility_is_refused_by_its_name(value: Any) -> None:
    for make in (
        lambda: Connection(api_key="k", compatibility=value),
        lambda: Connection.from_credentials({"openai_api_key": "k", "compatibility": value}),
        lambda: ModelConfig(model_id="m", api_key="k", compatibility=value).connect(),
    ):
        with pytest.raises(SettingsError) as caught:
            make()
        assert caught.value.field == "compatibility"


def test_a_compatibility_that_is_missing_or_blank_is_automatic() -> None:
    for given in ({}, {"compatibility": " "}, {"compatibility": None}):
        read = Connection.from_credentials({"openai_api_key": "k", **given})
        assert read.compatibility == "auto"
    config = ModelConfig(model_id="m", api_key="k", compatibility="compatible")
    assert config.connect().compatibility == "compatible"


def test_a_background_response_is_asked_for_once_more_since_a_refused_one_was_not_made(
    server: Picky,
) -> None:
    refused = asking(("truncation", "unknown field `truncation`"))
    start_background(server.connection(), refused)
    with BackgroundStream(server.connection(), {**refused, "model": "other"}) as stream:
        list(stream)

    made = {"background": True, "store": True, "include": [SOURCES]}
    plain = {**without(BODY, "truncation", "stream_options"), **made}
    assert server.asked[-2:] == [plain, {**without(BODY, "truncation"), **made, "model": "other"}]
    assert stream.left_out == ("without_truncation",)


async def test_the_asynchronous_client_remembers_it_for_all_its_calls(server: Picky) -> None:
    says = [("prompt_cache_key", "Argument not supported: prompt_cache_key")]
    request = Request(instructions=json.dumps(says), items=[{"role": "user", "content": "Go"}])
    config = ModelConfig(model_id="gpt-oss", api_key="k", base_url=server.base_url)
    async with AsyncResponsesClient(
        config, scheme=ResponsesScheme(prompt_cache_key="start")
    ) as client:
        assert await client.compact(request)
        assert (await client.complete(request)).text == "Hi"

    assert ["prompt_cache_key" in body for body in server.asked] == [True, False, False]


@pytest.mark.parametrize("said", ["Unsupported parameter: max_output_tokens", "The limit is small"])
def test_a_check_of_a_model_does_without_its_limit_where_that_is_refused(
    said: str, transport: Transport
) -> None:
    refused = whole(json.dumps({"detail": said}).encode(), "400 Refused")
    expected = nullcontext() if "Unsupported" in said else pytest.raises(InvalidRequestError)
    with Wire(in_turn(refused, whole(json.dumps(ANSWER).encode()))) as wire, expected:
        validate_model(wire.connection(), "gpt-oss", transport=transport)

    limits = [body_of(request).get("max_output_tokens") for request in wire.requests]
    assert limits == ([16, None] if "Unsupported" in said else [16])
