"""One model call through the real process."""

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest

from gpt5_simulator import (
    CutStream,
    FunctionCall,
    HttpError,
    LateError,
    Reasoning,
    Recording,
    Refusal,
    ResponsesSimulator,
    ScriptedModel,
    Silence,
    Text,
    UnverifiedOrganization,
)
from model_plugin import Answer, ModelPlugin, png
from stream_text import valid_tool_names


TOOL = {
    "name": "lookup",
    "description": "Look a word up",
    "parameters": {
        "type": "object",
        "properties": {"word": {"type": "string"}},
        "required": ["word"],
    },
}
PLAN = (Reasoning(summary=("First part.", "Second part.")), Text(text="The answer is 42."))


def scripted(*turns: tuple[object, ...], **settings: object) -> ResponsesSimulator:
    return ResponsesSimulator(model=ScriptedModel(turns, repeat=True), **settings)


def test_an_answer_streams_with_its_reasoning_in_a_balanced_think_block(
    plugin: ModelPlugin,
) -> None:
    with scripted(PLAN) as server:
        answer = plugin.invoke(server)

    assert answer.text == "<think>\nFirst part.\n\nSecond part.\n</think>The answer is 42."
    assert answer.error is None


def test_one_terminal_chunk_carries_usage_finish_reason_and_items(plugin: ModelPlugin) -> None:
    with scripted(PLAN) as server:
        *streamed, last = plugin.invoke(server).chunks

    assert all(chunk["delta"]["usage"] is None for chunk in streamed)
    assert all(chunk["delta"]["finish_reason"] is None for chunk in streamed)
    assert last["delta"]["finish_reason"] == "stop"
    opaque = last["delta"]["message"]["opaque_body"]
    assert opaque["carry"] == "content_part"
    items = opaque["responses_output"]
    assert [item["type"] for item in items] == ["reasoning", "message"]
    indexes = [chunk["delta"]["index"] for chunk in (*streamed, last)]
    assert indexes == sorted(set(indexes))


def test_a_call_that_is_not_streamed_is_one_chunk_with_the_same_content(
    plugin: ModelPlugin,
) -> None:
    turn = (
        Reasoning(summary=("Plan.",)),
        FunctionCall(name="lookup", arguments={"word": "x"}, call_id="c1"),
    )
    with scripted(turn) as server:
        streamed = plugin.invoke(server, tools=[TOOL])
        asked = {"reasoning_summary": "concise"}
        whole = plugin.invoke(server, tools=[TOOL], model_parameters=asked, stream=False)

    assert len(whole.chunks) == 1
    assert (whole.text, whole.calls) == (streamed.text, streamed.calls)
    assert whole.last["finish_reason"] == "tool_calls"


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ({}, None),
        ({"reasoning_summary": "auto"}, None),  # newer versions of Dify send the form's defaults
        ({"reasoning_summary": " AUTO ", "enable_stream": True}, None),
        ({"reasoning_summary": None}, None),
        ({"reasoning_summary": "off"}, None),
        ({"reasoning_summary": False}, None),
        ({"reasoning_summary": "detailed", "enable_stream": False}, "detailed"),
    ],
)
def test_an_answer_that_dify_reads_by_machine_has_thoughts_only_where_they_were_asked_for(
    plugin: ModelPlugin, given: dict[str, Any], asked: str | None
) -> None:
    with scripted(PLAN) as server:
        whole = plugin.invoke(server, model_parameters=given, stream=False)
        shown = plugin.invoke(server, model_parameters={"enable_stream": False})

    thoughts = shown.text.removesuffix("The answer is 42.")
    assert "Second part." in thoughts
    assert whole.text == (thoughts if asked else "") + "The answer is 42."
    summaries = [request.body["reasoning"].get("summary") for request in server.requests]
    assert summaries == [asked, "auto"]


def test_thoughts_that_a_server_sends_unasked_stay_out_of_what_dify_reads_by_machine(
    plugin: ModelPlugin,
) -> None:
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Plan."}]}
    said = [
        {"type": "message", "content": [{"type": "output_text", "text": text}]} for text in "42"
    ]
    body = json.dumps({"status": "completed", "output": [thought, said[0], thought, said[1]]})
    recording = Recording(name="x", body=body.encode(), is_stream=False)
    with ResponsesSimulator(replay=[recording] * 2, strict=False) as server:
        whole = plugin.invoke(server, stream=False)
        shown = plugin.invoke(server, model_parameters={"enable_stream": False})

    assert shown.text == "<think>\nPlan.\n</think>4\n<think>\nPlan.\n</think>2"
    assert whole.text == "42"


def test_the_request_says_what_the_contract_asks_for(
    plugin: ModelPlugin, server: ResponsesSimulator
) -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}]
    plugin.invoke(
        server,
        messages,
        tools=[TOOL],
        stop=["END"],
        model_parameters={"max_output_tokens": 100, "tool_choice": "none", "verbosity": "low"},
    )

    body = server.requests[-1].body
    assert body["reasoning"] == {"effort": "medium", "summary": "auto"}
    assert (body["store"], body["include"]) == (False, ["reasoning.encrypted_content"])
    assert (body["stream"], body["truncation"], body["tool_choice"]) == (True, "disabled", "none")
    assert (body["max_output_tokens"], body["text"]["verbosity"]) == (100, "low")
    assert body["tools"][0]["strict"] is False
    assert body["safety_identifier"] == hashlib.sha256(b"user").hexdigest()
    assert body["prompt_cache_key"]


def test_one_tool_never_ends_a_run(plugin: ModelPlugin, server: ResponsesSimulator) -> None:
    mended = {"type": "object", "properties": {"a": {"type": "array"}}, "anyOf": [{"not": {}}]}
    tools = [
        {"name": "mended", "description": "Mend", "parameters": mended},
        TOOL,
        {"name": " ", "description": "", "parameters": {}},
        {"name": "lookup", "description": "Another", "parameters": {}},
        {"name": "my text", "description": "", "parameters": {"type": "string"}},
    ]

    answer = plugin.invoke(server, tools=tools)

    sent = server.requests[-1].body["tools"]
    assert answer.error is None
    assert [tool["name"] for tool in sent] == ["mended", "lookup"]
    assert sent[0]["parameters"]["properties"]["a"] == {"type": "array", "items": {}}
    assert sent[0]["description"].startswith("Mend\n\nThe arguments are also checked by: ")
    told = [notice.text for notice in plugin.notices if "is left out" in notice.text]
    assert [text.split("'")[1] for text in told] == [" ", "lookup", "my text"]


ODD_NAMES = ["my tool", "my_tool", "weather.get", "天気", "x" * 70]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("name", ["my tool", "天気"])
def test_a_tool_of_any_name_is_sent_and_called_by_its_own(
    plugin: ModelPlugin, name: str, *, stream: bool
) -> None:
    names = dict(zip(ODD_NAMES, valid_tool_names(("", one) for one in ODD_NAMES), strict=True))
    tools = [{"name": one, "description": "", "parameters": {}} for one in ODD_NAMES]
    call_id = f"c-{name}-{stream}"
    first = (Reasoning(), FunctionCall(name=names[name], arguments={}, call_id=call_id))
    with scripted(first, (Text(text="done"),), (Text(text="done"),)) as server:
        asked = plugin.invoke(server, "Look", tools=tools, stream=stream)
        messages = after_tool_call("Look", asked, call_id)
        plugin.invoke(server, messages, tools=tools, stream=stream)
        forced = {"tool_choice": name}
        plugin.invoke(server, messages, tools=tools, key="another", model_parameters=forced)

    begun, remembered, rebuilt = (request.body for request in server.requests)
    assert [tool["name"] for tool in begun["tools"]] == list(names.values())
    assert asked.calls == [(call_id, name, "{}")]
    assert remembered["input"][1:3] == asked.last["message"]["opaque_body"]["responses_output"]
    assert rebuilt["input"][1]["name"] == names[name]
    assert rebuilt["tool_choice"] == {"type": "function", "name": names[name]}


def test_the_stream_switch_of_the_model_is_obeyed(
    plugin: ModelPlugin, server: ResponsesSimulator
) -> None:
    plugin.invoke(server, model_parameters={"enable_stream": False})

    assert server.requests[-1].body["stream"] is False


def test_calls_that_begin_alike_share_a_cache_key(
    plugin: ModelPlugin, server: ResponsesSimulator
) -> None:
    def ask(instruction: str, question: str) -> None:
        system, user = (
            {"role": "system", "content": instruction},
            {"role": "user", "content": question},
        )
        plugin.invoke(server, [system, user])

    for instruction, question in (("A", "1"), ("A", "2"), ("B", "1")):
        ask(instruction, question)

    first, second, third = (request.body["prompt_cache_key"] for request in server.requests)
    assert first == second != third


@pytest.mark.parametrize("carrier", ["message", "part", "nowhere"])
def test_reasoning_comes_back_with_the_tool_results(plugin: ModelPlugin, carrier: str) -> None:
    first = (
        Reasoning(),
        FunctionCall(name="lookup", arguments={"word": "x"}, call_id=f"c-{carrier}"),
    )
    with ResponsesSimulator(model=ScriptedModel([first, (Text(text="done"),)])) as server:
        asked = plugin.invoke(server, "Look x up", tools=[TOOL])
        opaque = asked.last["message"]["opaque_body"]
        assistant = {
            "role": "assistant",
            "content": "",
            "tool_calls": asked.last["message"]["tool_calls"],
        }
        if carrier == "message":
            assistant["opaque_body"] = opaque
        if carrier == "part":
            assistant["content"] = [{"type": "text", "data": "", "opaque_body": opaque}]
        result = {"role": "tool", "tool_call_id": f"c-{carrier}", "content": "found"}
        question = {"role": "user", "content": "Look x up"}
        answer = plugin.invoke(server, [question, assistant, result], tools=[TOOL])

    _, *sent = server.requests[-1].body["input"]
    assert sent[:2] == opaque["responses_output"]
    assert sent[2]["type"] == "function_call_output"
    assert answer.text == "done"


def test_what_is_remembered_for_one_key_is_not_sent_with_another(plugin: ModelPlugin) -> None:
    first = (Reasoning(), FunctionCall(name="lookup", arguments={"word": "x"}, call_id="c-shared"))
    with ResponsesSimulator(model=ScriptedModel([first, (Text(text="done"),)])) as server:
        asked = plugin.invoke(server, "Look x up", tools=[TOOL], key="mine")
        messages = after_tool_call("Look x up", asked, "c-shared")
        plugin.invoke(server, messages, tools=[TOOL], key="yours")

    _, *sent = server.requests[-1].body["input"]
    assert [item["type"] for item in sent] == ["function_call", "function_call_output"]


def test_what_one_model_has_thought_is_not_sent_to_another(plugin: ModelPlugin) -> None:
    first = (Reasoning(), FunctionCall(name="lookup", arguments={"word": "x"}, call_id="c-models"))
    with ResponsesSimulator(model=ScriptedModel([first, (Text(text="done"),)])) as server:
        asked = plugin.invoke(server, "Look x up", tools=[TOOL], model="gpt-5.2")
        messages = after_tool_call("Look x up", asked, "c-models")
        plugin.invoke(server, messages, tools=[TOOL], model="gpt-5.1")

    _, *sent = server.requests[-1].body["input"]
    assert [item["type"] for item in sent] == ["function_call", "function_call_output"]


@pytest.mark.parametrize("carries", [True, False], ids=["opaque_body", "memory"])
def test_what_a_server_thinks_aloud_comes_back_to_its_model_and_to_no_other(
    plugin: ModelPlugin, *, carries: bool
) -> None:
    call = FunctionCall(name="lookup", arguments={"word": "x"}, call_id=f"c-aloud-{carries}")
    first = (Reasoning(text=("They want noon.",)), call)
    with scripted(first, (Text(text="done"),), (Text(text="done"),), strict=False) as server:
        asked = plugin.invoke(server, "Look x up", tools=[TOOL])
        question, called, result = after_tool_call("Look x up", asked, call.call_id or "")
        if carries:
            called["opaque_body"] = asked.last["message"]["opaque_body"]
        with scripted((Text(text="done"),)) as other:
            for place, model in ((server, "gpt-5.2"), (server, "gpt-5.1"), (other, "gpt-5.2")):
                plugin.invoke(place, [question, called, result], tools=[TOOL], model=model)

    own, others = (one.body["input"] for one in server.requests[1:])
    assert own[1]["content"] == [{"type": "reasoning_text", "text": "They want noon."}]
    assert "made_by" not in str(own)
    assert "noon." not in f"{others} {other.requests[0].body} {asked.text}"


def talk(plugin: ModelPlugin, server: ResponsesSimulator, **request: Any) -> list[dict[str, Any]]:
    """Hold a chat of three turns whose history is what Dify stores, and return its messages before the last answer."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}]
    for question in ("What is six by seven?", "Sure?", "Why?"):
        messages += [{"role": "user", "content": question}]
        answer = plugin.invoke(server, messages, model="gpt-6-luna", **request)
        messages += [{"role": "assistant", "content": answer.text}]
    return messages[:-1]


ASKED = ("system", "user")


def kinds(server: ResponsesSimulator) -> list[str]:
    """List what the last request has in it."""
    items = server.requests[-1].body["input"]
    return [item["role"] if item.get("role") in ASKED else item["type"] for item in items]


@pytest.mark.parametrize("context", ["all_turns", "current_turn", None])
@pytest.mark.parametrize("stream", [True, False])
def test_reasoning_comes_back_from_turn_to_turn_of_a_chat(
    plugin: ModelPlugin, context: str | None, *, stream: bool
) -> None:
    """In any context: the server leaves out by itself what the model is not to read."""
    parameters = {"reasoning_context": context} if context else {}
    with scripted(PLAN) as server:
        talk(plugin, server, key=f"{context}", model_parameters=parameters, stream=stream)

    assert kinds(server) == ["system", "user", *["reasoning", "message", "user"] * 2]


def test_a_chat_that_dify_has_cut_or_that_is_another_user_s_goes_on_without_reasoning(
    plugin: ModelPlugin,
) -> None:
    with scripted(PLAN) as server:
        messages = talk(plugin, server, user_id="ann")
        system, _, _, *rest = messages
        for user, sent in (("ann", [system, *rest]), ("bob", messages)):
            assert plugin.invoke(server, sent, model="gpt-6-luna", user_id=user).error is None
            assert "reasoning" not in kinds(server)


def after_tool_call(question: object, asked: Answer, call_id: str) -> list[dict[str, Any]]:
    """Return the conversation after a tool's result, as a platform sends it that has dropped `opaque_body`."""
    calls = asked.last["message"]["tool_calls"]
    return [
        {"role": "user", "content": question},
        {"role": "assistant", "content": asked.text, "tool_calls": calls},
        {"role": "tool", "tool_call_id": call_id, "content": "noon"},
    ]


def test_reasoning_comes_back_to_an_agent_app_that_gives_its_calls_new_ids(
    plugin: ModelPlugin,
) -> None:
    """In the next turn Dify's agent apps make up an id for each call."""
    first = (Reasoning(), FunctionCall(name="lookup", arguments={"word": "x"}, call_id="c-renamed"))
    turns = [first, (Reasoning(), Text(text="Noon it is.")), (Text(text="Done."),)]
    with ResponsesSimulator(model=ScriptedModel(turns)) as server:
        asked = plugin.invoke(server, "When is x?", tools=[TOOL])
        question, called, result = after_tool_call("When is x?", asked, "c-renamed")
        answer = plugin.invoke(server, [question, called, result], tools=[TOOL]).text
        call = {**called["tool_calls"][0], "id": "made-up"}
        later = [
            question,
            {**called, "tool_calls": [call]},
            {**result, "tool_call_id": "made-up"},
            {"role": "assistant", "content": answer},
            {"role": "user", "content": "Sure?"},
        ]
        assert plugin.invoke(server, later, tools=[TOOL]).error is None
        other = [{"role": "user", "content": "When is y?"}, *later[1:]]
        plugin.invoke(server, other, tools=[TOOL])

    kept, lost = (request.body["input"] for request in server.requests[-2:])
    assert [item["type"] for item in kept] == [
        "message",
        *("reasoning", "function_call", "function_call_output", "reasoning", "message"),
        "message",
    ]
    assert {item["call_id"] for item in kept if "call_id" in item} == {"c-renamed"}
    assert "reasoning" not in str(lost)


@pytest.mark.parametrize("questions", [("Ann asks", "Bob asks"), ("Both ask", "Both ask")])
def test_where_call_ids_repeat_nobody_gets_what_belongs_to_another(
    plugin: ModelPlugin, questions: tuple[str, str]
) -> None:
    """Two users with one key, a tool without arguments, and a server that calls every call `call_0`."""
    turns = [
        (Reasoning(summary=(name,)), FunctionCall(name="lookup", arguments={}, call_id="call_0"))
        for name in ("ann", "bob")
    ]
    model = ScriptedModel([*turns, (Text(text="It is noon."),), (Text(text="It is noon."),)])
    with ResponsesSimulator(model=model) as server:
        asked = [plugin.invoke(server, question, tools=[TOOL]) for question in questions]
        own = [answer.last["message"]["opaque_body"]["responses_output"] for answer in asked]
        for question, answer in zip(questions, asked, strict=True):
            plugin.invoke(server, after_tool_call(question, answer, "call_0"), tools=[TOOL])

    for request, mine, theirs in zip(server.requests[2:], own, reversed(own), strict=True):
        encrypted = theirs[0]["encrypted_content"]
        assert encrypted != mine[0]["encrypted_content"]
        assert encrypted not in str(request.body)


def test_reasoning_that_one_user_was_answered_with_goes_into_no_request_of_another(
    plugin: ModelPlugin,
) -> None:
    """Another process may have answered the other user, who has seen the same: what is not seen, such as an image, may differ."""
    first = (Reasoning(), FunctionCall(name="lookup", arguments={}, call_id="call_of_two"))
    with ResponsesSimulator(model=ScriptedModel([first, *[(Text(text="done"),)] * 2])) as server:
        asked = plugin.invoke(server, "Look x up", tools=[TOOL], user_id="ann")
        messages = after_tool_call("Look x up", asked, "call_of_two")
        for user in ("bob", "ann"):
            plugin.invoke(server, messages, tools=[TOOL], user_id=user)

    _, bobs, anns = (str(request.body["input"]) for request in server.requests)
    assert ("encrypted_content" in bobs, "encrypted_content" in anns) == (False, True)


@pytest.mark.parametrize("later", ["[image]\nWhat is it?", "What is it?\n[file]", "What is it?"])
def test_reasoning_comes_back_also_when_images_were_replaced(
    plugin: ModelPlugin, later: str
) -> None:
    call_id = f"c-image-{later}"
    first = (Reasoning(), FunctionCall(name="lookup", arguments={}, call_id=call_id))
    image = {"type": "image", "format": "png", "mime_type": "image/png", "base64_data": png(1, 1)}
    question = [image, {"type": "text", "data": "What is it?"}]
    with ResponsesSimulator(model=ScriptedModel([first, (Text(text="done"),)])) as server:
        asked = plugin.invoke(server, [{"role": "user", "content": question}], tools=[TOOL])
        plugin.invoke(server, after_tool_call(later, asked, call_id), tools=[TOOL])

    assert [item["type"] for item in server.requests[-1].body["input"]] == [
        "message",
        "reasoning",
        "function_call",
        "function_call_output",
    ]


def test_a_history_that_lost_its_beginning_is_still_accepted(
    plugin: ModelPlugin, server: ResponsesSimulator
) -> None:
    orphan = {"role": "tool", "tool_call_id": "gone", "content": "x"}

    answer = plugin.invoke(server, [orphan, {"role": "user", "content": "Hello"}])

    assert answer.error is None
    assert len(server.requests[-1].body["input"]) == 1


def test_a_refusal_is_visible(plugin: ModelPlugin) -> None:
    with scripted((Refusal(text="I can't help with that."),)) as server:
        assert plugin.invoke(server).text == "I can't help with that."


def test_an_answer_eaten_up_by_reasoning_says_what_to_do(plugin: ModelPlugin) -> None:
    with scripted((Reasoning(tokens=500), Text(text="too late"))) as server:
        answer = plugin.invoke(server, model_parameters={"max_output_tokens": 16})

    assert answer.last["finish_reason"] == "length"
    assert answer.error.error_type == "InvokeBadRequestError"
    assert "Raise max_output_tokens" in str(answer.error)


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (HttpError(status=400), "InvokeBadRequestError"),
        (HttpError(status=401), "InvokeAuthorizationError"),
        (HttpError(status=403), "InvokeBadRequestError"),
        (HttpError(status=404), "InvokeBadRequestError"),
        (HttpError(status=429), "InvokeRateLimitError"),
        (HttpError(status=500), "InvokeServerUnavailableError"),
        (LateError(code="rate_limit_exceeded"), "InvokeRateLimitError"),
        (LateError(code="server_error"), "InvokeServerUnavailableError"),
        (CutStream(after_events=8), "InvokeConnectionError"),
    ],
)
def test_a_failure_is_one_of_the_five_that_dify_knows(
    plugin: ModelPlugin, fault: object, expected: str
) -> None:
    with scripted(PLAN, faults=[fault]) as server:
        answer = plugin.invoke(server)

    assert answer.error.error_type == expected
    assert answer.text.count("<think>") == answer.text.count("</think>")


def test_a_server_that_is_not_there_is_a_connection_error(
    plugin: ModelPlugin, server: ResponsesSimulator
) -> None:
    nowhere = {"openai_api_key": "k", "openai_api_base": "http://127.0.0.1:9", "max_retries": "0"}

    error = plugin.invoke(server, credentials=nowhere).error

    assert error.error_type == "InvokeConnectionError"
    assert "openai_api_base" in str(error)


@pytest.mark.parametrize(
    ("request_part", "named"),
    [
        ({"credentials": {}}, "openai_api_key is required"),
        ({"model_parameters": {"response_format": "json_schema"}}, "json_schema is required"),
    ],
)
def test_bad_input_is_a_bad_request_that_names_the_field(
    plugin: ModelPlugin, server: ResponsesSimulator, request_part: dict[str, object], named: str
) -> None:
    error = plugin.invoke(server, **request_part).error

    assert error.error_type == "InvokeBadRequestError"
    assert named in str(error)


def test_a_tool_message_without_a_call_id_does_not_end_the_call(
    plugin: ModelPlugin, server: ResponsesSimulator
) -> None:
    messages = [
        {"role": "user", "content": "Hello"},
        {"role": "tool", "tool_call_id": "", "content": "x"},
    ]

    assert plugin.invoke(server, messages).error is None
    assert len(server.requests[-1].body["input"]) == 1


def test_an_unverified_organisation_gets_its_answer_without_a_summary(plugin: ModelPlugin) -> None:
    with scripted(PLAN, faults=[UnverifiedOrganization(summary=True, stream=True)]) as server:
        answer = plugin.invoke(server, key="unverified")

    assert (answer.text, answer.error) == ("The answer is 42.", None)


@pytest.mark.parametrize(
    ("model", "context_size", "price"),
    [
        ("gpt-5-2025-08-07", 400_000, "1.25"),
        ("ft:gpt-5-mini:org::id", 400_000, "0.25"),
        ("openai/gpt-5.4", 1_050_000, "2.50"),
        ("gpt-4o", 128_000, None),
        ("gpt-4.1", 1_047_576, None),
        ("our-own-deployment", 400_000, None),
    ],
)
def test_any_model_name_has_a_schema_that_agents_can_choose(
    plugin: ModelPlugin, model: str, context_size: int, price: str | None
) -> None:
    (answer,) = plugin.call(
        "get_ai_model_schemas", model=model, credentials={"openai_api_key": "k"}
    ).chunks

    schema = answer["model_schema"]
    assert schema["model"] == model
    assert set(schema["features"]) == {
        *("tool-call", "multi-tool-call", "agent-thought", "stream-tool-call"),
        *("structured-output", "vision", "document"),
    }
    names = {rule["name"] for rule in schema["parameter_rules"]}
    assert {"max_output_tokens", "tool_choice", "web_search", "extra_tools"} <= names
    assert schema["model_properties"]["context_size"] == context_size
    assert (schema["pricing"] and schema["pricing"]["input"]) == price


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("auto", "auto"),
        (" Required ", "required"),
        ("none", "none"),
        ("lookup", {"type": "function", "name": "lookup"}),
        ('{"type": "function", "name": "lookup"}', {"type": "function", "name": "lookup"}),
        (
            '{"type": "function", "function": {"name": "lookup"}}',
            {"type": "function", "name": "lookup"},
        ),
    ],
)
def test_a_tool_choice_may_be_a_mode_a_name_or_a_form(
    plugin: ModelPlugin, server: ResponsesSimulator, choice: str, sent: object
) -> None:
    answer = plugin.invoke(server, tools=[TOOL], model_parameters={"tool_choice": choice})

    assert answer.error is None
    assert server.requests[-1].body["tool_choice"] == sent


@pytest.mark.parametrize(
    ("value", "sent"),
    [(True, True), (False, False), ("true", True), ("FALSE", False), (1, True), ("0", False)],
    ids=repr,
)
def test_what_plainly_means_a_boolean_is_one(
    plugin: ModelPlugin, server: ResponsesSimulator, *, value: object, sent: bool
) -> None:
    parameters = {"parallel_tool_calls": value, "enable_stream": value}
    answer = plugin.invoke(server, tools=[TOOL], model_parameters=parameters)

    body = server.requests[-1].body
    assert answer.error is None
    assert (body["parallel_tool_calls"], body["stream"]) == (sent, sent)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("enable_stream", "yes"),
        ("parallel_tool_calls", 2),
        ("max_output_tokens", 0),
        ("max_output_tokens", "many"),
        ("reasoning_effort", "huge"),
        ("reasoning_summary", "long"),
        ("verbosity", 3),
        ("response_format", "JSON"),
        ("response_format", "XML"),
        ("json_schema", "{broken"),
        ("json_schema", "[]"),
        ("json_schema", '{"name": "two words", "schema": {}}'),
        ("json_schema", '{"schema": {"type": "array"}, "strict": true}'),
        ("json_schema", '{"schema": {"type": "object"}, "strict": true}'),
        ("response_format", "json_object"),
        ("tool_choice", "no_such_tool"),
    ],
    ids=repr,
)
def test_a_parameter_that_cannot_be_used_is_a_bad_request_that_names_it(
    plugin: ModelPlugin, server: ResponsesSimulator, name: str, value: object
) -> None:
    needed = {"response_format": "json_schema"} if name == "json_schema" else {}
    answer = plugin.invoke(server, tools=[TOOL], model_parameters={**needed, name: value})

    assert answer.error.error_type == "InvokeBadRequestError"
    assert name in str(answer.error)
    assert server.requests == []


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"max_tokens": 512}, 512),
        ({"max_tokens": 512, "max_output_tokens": None}, 512),
        ({"max_tokens": 512, "max_output_tokens": 1_024}, 1_024),
        ({"max_tokens": None}, 8_192),
        ({"max_completion_tokens": 512}, 512),
        ({"max_tokens": 512, "max_completion_tokens": 1_024}, 512),
        ({"max_tokens": "512"}, 512),
    ],
)
def test_max_tokens_of_another_model_s_workflow_count(
    plugin: ModelPlugin, server: ResponsesSimulator, given: dict[str, Any], sent: int
) -> None:
    assert plugin.invoke(server, model_parameters=given).error is None
    assert server.requests[-1].body["max_output_tokens"] == sent


@pytest.mark.parametrize(
    ("model", "given", "effort"),
    [
        ("gpt-6-luna", {"max_tokens": 500, "temperature": 1}, "none"),
        ("gpt-6.2-sol", {"max_tokens": 2_000}, "low"),
        ("gpt-5-mini", {"max_tokens": "2560", "reasoning_effort": " "}, "minimal"),
        ("gpt-6-luna", {"max_tokens": 499}, "medium"),  # a person's own
        ("gpt-5-mini", {"max_tokens": 500, "web_search": "low"}, "low"),  # minimal takes none
        ("gpt-6-luna", {"max_tokens": 1_000}, "medium"),
        ("gpt-6-luna", {"max_tokens": "few"}, None),
        ("gpt-6-luna", {"max_tokens": 500, "reasoning_effort": "high"}, "high"),
        ("gpt-6-luna", {"max_tokens": 500, "max_output_tokens": 500}, "medium"),
        ("gpt-6-luna", {"max_output_tokens": 500}, "medium"),
        ("my-own", {"max_tokens": 500}, "medium"),
    ],
)
def test_dify_s_own_calls_leave_their_few_tokens_to_the_answer(
    plugin: ModelPlugin, model: str, given: dict[str, Any], effort: str | None
) -> None:
    with ResponsesSimulator(models=[model]) as server:
        plugin.invoke(server, model=model, model_parameters=given, stream=False)
        plugin.invoke(server, model=model, model_parameters=given)  # never Dify's own

    streamed = str(given.get("reasoning_effort", "")).strip() or "medium"
    assert [request.body["reasoning"]["effort"] for request in server.requests] == (
        [effort, streamed] if effort else []
    )


def cut_at(text: str, length: int = 1_024) -> str:
    """Return a text as Dify cuts one that comes from a workflow variable."""
    return (text * length)[:length]


@pytest.mark.parametrize(
    ("name", "value", "is_refused"),
    [
        ("web_search_domains", cut_at("example.org\n"), True),
        ("web_search_domains", cut_at("example.org\n", 1_020), False),
        ("web_search_domains", cut_at("example.org\n", 1_032), False),
        ("web_search_domains", ["example.org"] * 1_024, False),
        ("file_search_stores", cut_at("vs_1\n"), True),
        ("allowed_tools", cut_at("lookup\n"), True),
        ("json_schema", cut_at('{"schema": {"type": "object", "title": "' + "x" * 999), True),
        ("json_schema", '{"schema": {"type": "object"}}'.ljust(1_024), False),
        ("mcp_servers", cut_at('[{"server_label": "a", "server_url": "https://a.b"}, '), True),
        ("extra_tools", cut_at('[{"type": "shell"}, '), True),
        ("tool_choice", cut_at('{"type": "function", '), True),
    ],
)
def test_a_list_or_json_that_dify_has_cut_is_refused(
    plugin: ModelPlugin,
    server: ResponsesSimulator,
    name: str,
    value: object,
    *,
    is_refused: bool,
) -> None:
    parameters = {"web_search": "low", name: value}
    answer = plugin.invoke(server, model="gpt-5.4", tools=[TOOL], model_parameters=parameters)

    assert (answer.error is not None, len(server.requests) == 0) == (is_refused, is_refused)
    assert f"{name} has exactly 1,024 characters" in str(answer.error) or not is_refused


@pytest.mark.parametrize("room", [{}, {"max_tokens": 500}], ids=["much", "few"])
def test_a_list_in_the_place_of_a_choice_is_refused_by_its_name(
    plugin: ModelPlugin, server: ResponsesSimulator, room: dict[str, Any]
) -> None:
    error = plugin.invoke(server, model_parameters={**room, "web_search": ["low"]}).error
    assert "web_search" in str(error)


def test_a_parameter_that_the_model_does_not_take_is_left_out_and_told(
    plugin: ModelPlugin, server: ResponsesSimulator
) -> None:
    plugin.notices.clear()
    given = {"temperature": 0.5, "top_p": 1, "max_tokens": 512, "verbosity": "low"}
    answer = plugin.invoke(server, model_parameters=given)

    assert answer.error is None
    assert {"temperature", "top_p", "max_tokens"}.isdisjoint(server.requests[-1].body)
    told = [notice.text for notice in plugin.notices if notice.kind == "log"]
    assert any("were left out: temperature, top_p" in text for text in told)
    assert "0.5" not in "".join(told)


@pytest.mark.parametrize(
    ("model", "left_out"),
    [
        ("gpt-5-codex", "verbosity"),
        ("gpt-5-chat-latest", "reasoning_effort, reasoning_summary, verbosity"),
        ("gpt-4o", "reasoning_effort, reasoning_summary, verbosity"),
        ("o3", "parallel_tool_calls, verbosity"),
        ("gpt-6.2-sol", ""),
    ],
)
def test_what_a_model_has_no_choice_of_is_left_out_and_told(
    plugin: ModelPlugin, model: str, left_out: str
) -> None:
    plugin.notices.clear()
    given = {
        "reasoning_effort": "low",
        "reasoning_summary": "auto",
        "verbosity": "low",
        "parallel_tool_calls": False,
    }
    with ResponsesSimulator(models=[model]) as server:
        answer = plugin.invoke(server, model=model, model_parameters=given)

    told = [notice.text for notice in plugin.notices if "were left out" in notice.text]
    assert answer.error is None
    assert [text.partition("left out: ")[2] for text in told] == [left_out] * bool(left_out)


ASK_IN_APPS = """
import dify_plugin, json, os
from types import SimpleNamespace
from dify_plugin.core.session_context import use_current_session
from dify_plugin.entities.model.message import PromptMessageTool, SystemPromptMessage, UserPromptMessage
from model_adapter import ModelCall, iter_chunks

def ask(app, instruction="A", tools=("lookup",), question="?"):
    call = ModelCall(
        model="gpt-5.2", parameters={}, stop=(), stream=True, user=None,
        messages=[SystemPromptMessage(content=instruction), UserPromptMessage(content=question)],
        tools=[PromptMessageTool(name=name, description="", parameters={}) for name in tools],
        credentials={"openai_api_key": "k", "openai_api_base": os.environ["BASE_URL"], "max_retries": "0"},
    )
    with use_current_session(SimpleNamespace(app_id=app)):
        return len(list(iter_chunks(call)))

print(json.dumps([
    ask("one"), ask("one", question="!"), ask("two"), ask("one", instruction="B"), ask("one", tools=()), ask(None),
]))
"""


def test_the_cache_key_follows_app_instruction_and_tools(
    run_inside: Callable[..., Any], server: ResponsesSimulator
) -> None:
    run_inside(ASK_IN_APPS, BASE_URL=server.base_url)

    one, same, *others = (request.body["prompt_cache_key"] for request in server.requests)
    assert one == same
    assert len({one, *others}) == 5
    assert all(0 < len(key) <= 64 for key in others)


def test_the_process_writes_nothing_but_the_protocol(
    plugin: ModelPlugin, server: ResponsesSimulator
) -> None:
    plugin.invoke(server)

    assert not [notice for notice in plugin.notices if notice.kind == "protocol_error"]


def test_silence_ends_when_the_configured_timeout_has_passed(plugin: ModelPlugin) -> None:
    """A timeout below 30 s is raised to 30 s, so this only shows that a silent server is not waited for without end."""
    with ResponsesSimulator(faults=[Silence(after_events=2, seconds=0.5)]) as server:
        assert plugin.invoke(server).error is None


def test_json_schema_output_is_valid_json(plugin: ModelPlugin, server: ResponsesSimulator) -> None:
    schema = {
        "name": "answer",
        "schema": {
            "type": "object",
            "properties": {"word": {"type": "string"}},
            "required": ["word"],
            "additionalProperties": False,
        },
    }

    answer = plugin.invoke(
        server,
        model_parameters={"response_format": "json_schema", "json_schema": json.dumps(schema)},
    )

    assert set(json.loads(answer.text)) == {"word"}
