import pytest
from openai import OpenAI
from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter

from gpt5_simulator import OutputItem, Refusal, ResponsesSimulator, ScriptedModel, Text


MCP = {"type": "mcp", "server_label": "dice", "server_url": "https://dice.example/mcp"}
FREE = MCP | {"require_approval": "never"}
CLOSED = {"type": "object", "properties": {}, "additionalProperties": False}
DEFERRED = {
    "type": "function",
    "name": "get_weather",
    "description": "Tell the weather.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    },
    "defer_loading": True,
}
# An item of each hosted tool that says something, as it goes over the wire.
SAID = {
    "web_search_call": {
        "action": {"type": "search", "query": "q", "sources": [{"type": "url", "url": "u"}]}
    },
    "file_search_call": {
        "queries": ["q"],
        "results": [
            {"file_id": "file-1", "filename": "a", "text": "t", "score": 0.9, "attributes": {}}
        ],
    },
    "code_interpreter_call": {
        "code": "x = 1",
        "container_id": "cntr_1",
        "outputs": [{"type": "logs", "logs": "1"}],
    },
    "image_generation_call": {"result": "aGk=", "size": "16x16", "quality": "low"},
    "mcp_list_tools": {"server_label": "dice", "tools": [{"name": "roll", "input_schema": CLOSED}]},
    "mcp_call": {"server_label": "dice", "name": "roll", "arguments": '{"sides":6}', "output": "4"},
    "mcp_approval_request": {"server_label": "dice", "name": "roll", "arguments": "{}"},
    "shell_call": {
        "call_id": "call_1",
        "action": {"commands": ["ls"], "timeout_ms": None, "max_output_length": None},
    },
    "shell_call_output": {
        "call_id": "call_1",
        "output": [{"stdout": "a", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}],
    },
    "apply_patch_call": {
        "call_id": "call_2",
        "operation": {"type": "create_file", "path": "a", "diff": "+a"},
    },
    "custom_tool_call": {"call_id": "call_3", "name": "sql", "input": "select 1"},
    "tool_search_call": {"arguments": {"paths": ["get_weather"]}},
    "tool_search_output": {"tools": [DEFERRED]},
    "program": {"call_id": "call_4", "code": "x", "fingerprint": "f" * 60},
    "program_output": {"call_id": "call_4", "result": "1"},
    "compaction": {},
}
# What stood between `added` and `done` in recorded streams, repeated deltas taken as one.
RECORDED = {
    "web_search_call": [
        "web_search_call.in_progress",
        "web_search_call.searching",
        "web_search_call.completed",
    ],
    "file_search_call": [
        "file_search_call.in_progress",
        "file_search_call.searching",
        "file_search_call.completed",
    ],
    "code_interpreter_call": [
        "code_interpreter_call.in_progress",
        "code_interpreter_call_code.delta",
        "code_interpreter_call_code.done",
        "code_interpreter_call.interpreting",
        "code_interpreter_call.completed",
    ],
    "image_generation_call": [
        "image_generation_call.in_progress",
        "image_generation_call.generating",
        "image_generation_call.partial_image",
        "image_generation_call.completed",
    ],
    "mcp_list_tools": ["mcp_list_tools.in_progress", "mcp_list_tools.completed"],
    "mcp_call": [
        "mcp_call.in_progress",
        "mcp_call_arguments.delta",
        "mcp_call_arguments.done",
        "mcp_call.completed",
    ],
    "shell_call": [
        "shell_call_command.added",
        "shell_call_command.delta",
        "shell_call_command.done",
    ],
    "shell_call_output": [
        "shell_call_output_content.delta",
        "shell_call_output_content.done",
    ],
    "apply_patch_call": [
        "apply_patch_call_operation_diff.delta",
        "apply_patch_call_operation_diff.done",
    ],
    "custom_tool_call": ["custom_tool_call_input.delta", "custom_tool_call_input.done"],
    "tool_search_call": [],
    "tool_search_output": [],
    "mcp_approval_request": [],
    "program": [],
    "program_output": [],
    "compaction": [],
}
UNTYPED = {"response.apply_patch_call_operation_diff"}  # recorded, but unknown to the client


def orders_in(events):
    """Return the types of events between `added` and `done` of each item, with repeated ones as one."""
    orders = {}
    for event in events:
        index, kind = event.get("output_index"), event["type"].removeprefix("response.")
        if kind == "output_item.added":
            orders[index] = (event["item"]["type"], [])
        elif index is not None and kind != "output_item.done":
            order = orders[index][1]
            order += [kind] if order[-1:] != [kind] else []
    return list(orders.values())


def items_in(response):
    return {item["type"]: item for item in response.json()["output"]}


def text_of(response):
    return response.json()["output"][-1]["content"][0]["text"]


@pytest.fixture(scope="module")
def speaker():
    """A simulator that says an item of each kind, again and again."""
    turn = [OutputItem(item={"type": kind, **fields}) for kind, fields in SAID.items()]
    script = ScriptedModel([[*turn, Text(text="Done.")]], repeat=True)
    with ResponsesSimulator(model=script, strict=False) as simulator:
        yield simulator


def test_every_recorded_kind_of_item_can_be_said(speaker, ask, events_of):
    tools = [{"type": "image_generation", "partial_images": 1}]
    events = events_of(ask(speaker, model="gpt-5.6", tools=tools, stream=True))
    adapter = TypeAdapter(ResponseStreamEvent)
    for event in events:
        if event["type"].rpartition(".")[0] not in UNTYPED:
            assert adapter.validate_python(event, strict=False).type == event["type"]
    found = dict(orders_in(events))
    assert found.pop("message")[-1] == "content_part.done"
    assert found == RECORDED
    output = events[-1]["response"]["output"]
    assert [event["item"] for event in events if event["type"].endswith("item.done")] == output
    assert next(item for item in output if item["type"] == "compaction")["encrypted_content"]


def test_an_item_of_a_kind_that_is_not_known_has_no_events_of_its_own(ask, events_of):
    script = ScriptedModel([[OutputItem(item={"type": "unheard_of"})]])
    with ResponsesSimulator(model=script) as simulator:
        assert orders_in(events_of(ask(simulator, stream=True))) == [("unheard_of", [])]


def test_items_are_added_as_they_were_recorded(speaker, ask, events_of):
    events = events_of(ask(speaker, model="gpt-5.6", stream=True))
    added = {e["item"]["type"]: e["item"] for e in events if e["type"].endswith("item.added")}
    assert added["web_search_call"]["action"] == {"type": "search"}
    assert added["file_search_call"]["queries"] == []
    assert (added["code_interpreter_call"]["code"], added["mcp_call"]["arguments"]) == ("", "")
    assert set(added["image_generation_call"]) == {"id", "type", "status"}
    assert added["mcp_list_tools"]["tools"] == []
    assert "status" not in added["mcp_list_tools"]
    assert added["shell_call"]["action"]["commands"] == []
    assert added["shell_call_output"]["status"] == "completed"
    assert added["apply_patch_call"]["operation"]["diff"] == ""
    assert events[0]["response"]["tool_usage"]["web_search"]["num_requests"] == 0


@pytest.mark.parametrize(
    ("name", "include", "path"),
    [
        ("web_search", "web_search_call.action.sources", ("action", "sources")),
        ("file_search", "file_search_call.results", ("results",)),
        ("code_interpreter", "code_interpreter_call.outputs", ("outputs",)),
    ],
)
def test_details_come_only_with_their_include(speaker, ask, name, include, path):
    def shown(response):
        found = items_in(response)[f"{name}_call"]
        for key in path:
            found = found.get(key)
        return found

    assert shown(ask(speaker)) is None
    assert shown(ask(speaker, include=[include]))


def test_an_annotation_follows_its_text(ask, events_of):
    cited = {8: "東京 (a.b)", 21: "Seine (c.d)"}
    notes = [{"type": "url_citation", "url": "u", "title": "t", "end_index": end} for end in cited]
    script = ScriptedModel([[Text(text="東京 (a.b), Seine (c.d).", annotations=notes)]])
    said = ""
    with ResponsesSimulator(model=script) as simulator:
        for event in events_of(ask(simulator, stream=True)):
            if event["type"] == "response.output_text.delta":
                said += event["delta"]
            if event["type"] == "response.output_text.annotation.added":
                end = event["annotation"]["end_index"]
                assert said[:end].endswith(cited.pop(end))
    assert cited == {}


def test_annotations_beyond_the_text_come_before_its_end(ask, events_of):
    note = {"type": "file_path", "file_id": "file-1", "index": 99}
    script = ScriptedModel([[Text(text="Hi", annotations=[note])]])
    with ResponsesSimulator(model=script) as simulator:
        kinds = [event["type"] for event in events_of(ask(simulator, stream=True))]
    assert kinds[kinds.index("response.output_text.done") - 1].endswith("annotation.added")


def test_searches_and_pictures_are_billed_and_pictures_come_in_parts(ask, events_of):
    actions = ({"type": "search", "query": "q"}, {"type": "open_page", "url": "https://a.example"})
    turn = [OutputItem(item={"type": "web_search_call", "action": action}) for action in actions]
    picture = {"type": "image_generation_call", "result": "aGk=", "quality": "low"}
    failed = {**picture, "status": "failed", "error": {"message": "refused"}, "result": None}
    turn += [OutputItem(item=picture | {"size": size}) for size in ("512x1024", "auto")]
    script = ScriptedModel([[*turn, OutputItem(item=failed)]], repeat=True)
    tool = {"type": "image_generation", "partial_images": 3}
    with ResponsesSimulator(model=script) as simulator:
        events = events_of(ask(simulator, tools=[tool], stream=True))
    parts = [event for event in events if event["type"].endswith("partial_image")]
    assert [part["partial_image_index"] for part in parts] == [0, 1, 2] * 2
    assert all(part["partial_image_b64"] == "aGk=" for part in parts)
    assert orders_in(events)[-1][1] == [
        f"image_generation_call.{word}" for word in ("in_progress", "generating")
    ]
    usage = events[-1]["response"]["tool_usage"]
    assert usage["web_search"] == {"num_requests": 1}
    assert usage["image_gen"]["output_tokens"] == 272 // 2 + 272


def test_a_call_that_fails_says_so(ask, events_of):
    error = {"type": "http_error", "code": 424, "message": "the server is gone"}
    call = {"type": "mcp_call", "server_label": "dice", "status": "failed", "error": error}
    with ResponsesSimulator(model=ScriptedModel([[OutputItem(item=call)]])) as simulator:
        [(_, order)] = orders_in(events_of(ask(simulator, stream=True)))
    assert order[-1] == "mcp_call.failed"


def test_a_call_of_a_server_waits_for_approval(ask):
    request = {"type": "mcp_approval_request", "server_label": "dice", "name": "roll"}
    with ResponsesSimulator(
        model=ScriptedModel([[OutputItem(item=request)], [Text(text="4")]])
    ) as simulator:
        first = ask(simulator, input="Roll the dice", tools=[MCP]).json()
        asked = first["output"][-1]
        answer = {"type": "mcp_approval_response", "approval_request_id": asked["id"]}
        more = {"tools": [MCP], "previous_response_id": first["id"]}
        second = ask(simulator, more, input=[answer | {"approve": True}])
    assert (asked["type"], first["status"]) == ("mcp_approval_request", "completed")
    assert "message" in items_in(second)


def test_the_demonstration_quotes_what_a_local_shell_has_printed(server, ask):
    items = [{"type": kind, **SAID[kind]} for kind in ("shell_call", "shell_call_output")]
    question = {"role": "user", "content": "List my files"}
    tools = [{"type": "shell"}]
    answer = ask(server, model="gpt-5.2", input=[question, *items], tools=tools)
    assert text_of(answer).splitlines()[1:] == ["- shell: a"]


@pytest.mark.parametrize("choice", ["required", {"type": "web_search_2025_08_26"}])
def test_the_demonstration_answers_where_only_a_tool_of_the_server_may_be_called(
    server, ask, choice
):
    tools = [{"type": "web_search_2025_08_26"}]
    response = ask(server, tools=tools, tool_choice=choice)
    assert set(items_in(response)) == {"reasoning", "message"}
    assert response.json()["tools"][0]["search_context_size"] == "medium"


@pytest.mark.parametrize(("limit", "made"), [(1, 1), (2, 2), (9, 4), (None, 4)])
def test_calls_beyond_the_limit_are_ignored(ask, limit, made):
    calls = [
        OutputItem(item={"type": kind})
        for kind in ("web_search_call", "mcp_list_tools", "mcp_call", "code_interpreter_call")
    ]
    turn = [*calls, OutputItem(item={"type": "file_search_call"}), Text(text="Done")]
    with ResponsesSimulator(model=ScriptedModel([turn])) as simulator:
        response = ask(simulator, max_tool_calls=limit).json()
    kinds = [item["type"] for item in response["output"]]
    assert sum(kind.endswith("_call") for kind in kinds) == made
    assert {"mcp_list_tools", "message"} <= set(kinds)
    assert (response["status"], response["max_tool_calls"]) == ("completed", limit)


def test_secrets_of_servers_are_not_echoed(server, ask):
    secret = {"authorization": "secret", "headers": {"x-key": "secret"}}
    tool = FREE | secret | {"server_url": "https://dice.example/mcp/secret"}
    response = ask(server, tools=[tool])
    (echoed,) = response.json()["tools"]
    assert echoed["server_url"] == "https://dice.example/<redacted>"
    assert echoed["headers"] == {"x-key": "<redacted>"}
    assert "secret" not in response.text


def test_a_connector_has_no_address(server, ask):
    tool = {"type": "mcp", "server_label": "mail", "connector_id": "connector_gmail"}
    (echoed,) = ask(server, tools=[tool]).json()["tools"]
    assert "server_url" not in echoed
    assert echoed["require_approval"] == "always"


def test_a_shell_that_printed_nothing_has_no_delta(ask):
    outcome = {"type": "exit", "exit_code": 0}
    silent = {"stdout": "", "stderr": "", "outcome": outcome}
    item = OutputItem(item={"type": "shell_call_output", "output": [silent]})
    with ResponsesSimulator(model=ScriptedModel([[item, Text(text="Done.")]])) as simulator:
        streamed = ask(simulator, stream=True)
    assert "shell_call_output_content.done" in streamed.text
    assert "shell_call_output_content.delta" not in streamed.text


def test_a_tool_that_was_found_is_called_with_its_namespace(server, ask):
    found = {"type": "tool_search_output", "call_id": None, "execution": "server"}
    found |= {"status": "completed", "tools": [DEFERRED]}
    question = {"role": "user", "content": "What is the weather in Tokyo?"}
    body = {"model": "gpt-5.4", "tools": [DEFERRED, {"type": "tool_search"}]}
    call = items_in(ask(server, body, input=[question, found]))["function_call"]
    assert (call["namespace"], call["arguments"]) == ("get_weather", '{"city":"Tokyo"}')
    assert set(items_in(ask(server, body, input=[question]))) == {"message"}


def test_tools_can_be_added_in_the_conversation(server, ask):
    added = {"type": "additional_tools", "role": "developer", "tools": [DEFERRED]}
    question = {"role": "user", "content": "What is the weather in Tokyo?"}
    items = items_in(ask(server, model="gpt-5.4", input=[added, question]))
    assert items["function_call"]["name"] == "get_weather"


def test_a_budget_ends_hosted_items_too(ask):
    note = {"type": "url_citation", "url": "u", "title": "t", "start_index": 0, "end_index": 400}
    turns = [
        [OutputItem(item={"type": "code_interpreter_call", "code": "x" * 400})],
        [Text(text="y" * 400, annotations=[note])],
        [OutputItem(item={"type": "mcp_list_tools"})] * 20,
        [Refusal(text="n" * 400)],
    ]
    with ResponsesSimulator(model=ScriptedModel(turns)) as simulator:
        code, text, lists, refusal = [ask(simulator, max_output_tokens=16).json() for _ in turns]
    assert {code["status"], text["status"], lists["status"]} == {"incomplete"}
    assert code["output"][0]["status"] == "incomplete"
    assert len(code["output"][0]["code"]) == 60
    assert text["output"][0]["content"][0]["annotations"] == []
    assert len(lists["output"]) == 17
    assert len(refusal["output"][0]["content"][0]["refusal"]) == 60


def test_a_patch_that_deletes_has_no_text(ask, events_of):
    patch = {"type": "apply_patch_call", "operation": {"type": "delete_file", "path": "old.md"}}
    with ResponsesSimulator(model=ScriptedModel([[OutputItem(item=patch)]])) as simulator:
        orders = dict(orders_in(events_of(ask(simulator, stream=True))))
    assert orders["apply_patch_call"] == []


def test_the_official_client_reads_every_hosted_tool(speaker):
    asked = {"model": "gpt-5.6", "input": "Hello"}
    with OpenAI(base_url=speaker.base_url, api_key="sk-test", max_retries=0) as client:
        created = client.responses.create(**asked)
        events = list(client.responses.create(**asked, stream=True))
    kinds = [item.type for item in created.output]
    assert kinds == [item.type for item in events[-1].response.output]
    assert set(SAID) <= set(kinds)
