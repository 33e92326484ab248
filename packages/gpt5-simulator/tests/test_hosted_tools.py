import base64
import io

import imagesize
import pytest
from openai import OpenAI
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from gpt5_simulator import OutputItem, Refusal, ResponsesSimulator, ScriptedModel, Text


MCP = {"type": "mcp", "server_label": "dice", "server_url": "https://dice.example/mcp"}
FREE = MCP | {"require_approval": "never"}
TOOLS = {
    "web_search": ({"type": "web_search"}, "Search the web for Paris"),
    "file_search": (
        {"type": "file_search", "vector_store_ids": ["vs_1"]},
        "How many days of leave has everyone?",
    ),
    "code_interpreter": (
        {"type": "code_interpreter", "container": {"type": "auto"}},
        "Compute some primes with Python",
    ),
    "image_generation": ({"type": "image_generation", "partial_images": 2}, "Draw a boat"),
    "mcp": (FREE, "Roll the dice"),
    "shell": ({"type": "shell", "environment": {"type": "container_auto"}}, "List my files"),
    "apply_patch": ({"type": "apply_patch"}, "Write down my notes"),
    "tool_search": ({"type": "tool_search"}, "What is the weather in Tokyo?"),
}
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


@pytest.mark.parametrize("name", TOOLS)
def test_each_hosted_tool_sends_the_recorded_events(server, ask, events_of, name):
    tool, question = TOOLS[name]
    body = {"model": "gpt-5.6", "input": question, "tools": [tool, DEFERRED], "stream": True}
    events = events_of(ask(server, body))
    adapter = TypeAdapter(ResponseStreamEvent)
    for event in events:
        if event["type"].rpartition(".")[0] not in UNTYPED:
            assert adapter.validate_python(event, strict=False).type == event["type"]
    hosted = [(kind, order) for kind, order in orders_in(events) if kind in RECORDED]
    assert hosted
    assert all(order == RECORDED[kind] for kind, order in hosted)
    done = [event["item"] for event in events if event["type"].endswith("item.done")]
    assert done == events[-1]["response"]["output"]


def test_every_recorded_kind_of_item_can_be_said(ask, events_of):
    texts = {"code": "x = 1", "arguments": "{}", "input": "free"}
    special = {
        "shell_call": {"action": {"commands": ["ls", "pwd"]}},
        "shell_call_output": {
            "call_id": "call_1",
            "output": [{"stdout": "a", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}],
        },
        "apply_patch_call": {"operation": {"type": "create_file", "path": "a", "diff": "+a"}},
        "image_generation_call": {"result": "aGk=", "size": "16x16", "quality": "low"},
        "tool_search_call": {},
        "program": {"code": "x", "fingerprint": "f" * 60},
    }
    turn = [
        OutputItem(item={"type": kind, **special.get(kind, texts)})
        for kind in (*RECORDED, "unheard_of")
    ]
    tools = [{"type": "image_generation", "partial_images": 1}]
    with ResponsesSimulator(model=ScriptedModel([turn]), strict=False) as simulator:
        events = events_of(ask(simulator, model="gpt-5.6", tools=tools, stream=True))
    found = dict(orders_in(events))
    assert found.pop("unheard_of") == []
    assert found.pop("shell_call") == RECORDED["shell_call"] * 2
    assert found == {kind: order for kind, order in RECORDED.items() if kind != "shell_call"}
    compaction = next(event["item"] for event in events if "cmp_" in str(event.get("item")))
    assert compaction["encrypted_content"]


def test_items_are_added_as_they_were_recorded(server, ask, events_of):
    tools = [tool for tool, _ in TOOLS.values()]
    question = ". ".join(question for _, question in TOOLS.values())
    body = {"model": "gpt-5.6", "input": question, "tools": tools, "stream": True}
    events = events_of(ask(server, body))
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
def test_details_come_only_with_their_include(server, ask, name, include, path):
    tool, question = TOOLS[name]
    body = {"input": question, "tools": [tool]}

    def shown(response):
        found = items_in(response)[f"{name}_call"]
        for key in path:
            found = found.get(key)
        return found

    assert shown(ask(server, body)) is None
    assert shown(ask(server, body, include=[include]))


def test_answers_cite_what_was_found(server, ask):
    names = ("web_search", "file_search", "code_interpreter")
    question = "! ".join(TOOLS[name][1] for name in names)
    response = ask(server, input=question, tools=[TOOLS[name][0] for name in names])
    part = response.json()["output"][-1]["content"][0]
    web, file, made = part["annotations"]
    text = part["text"]
    cited = text[web["start_index"] : web["end_index"]]
    assert (web["type"], cited) == ("url_citation", f"([en.example.org]({web['url']}))")
    assert text[: file["index"]].endswith("30 days of leave a year.")
    assert text[made["start_index"] : made["end_index"]] == "sandbox:/mnt/data/primes.csv"
    assert made["container_id"] == items_in(response)["code_interpreter_call"]["container_id"]


def test_indexes_count_characters_and_annotations_follow_their_text(server, ask, events_of):
    question = "Search the web for Tokyo and Paris"
    body = {"input": question, "tools": [{"type": "web_search"}], "stream": True}
    said = ""
    for event in events_of(ask(server, body)):
        if event["type"] == "response.output_text.delta":
            said += event["delta"]
        if event["type"] == "response.output_text.annotation.added":
            note = event["annotation"]
            assert said[note["start_index"] : note["end_index"]].endswith(f"({note['url']}))")
    assert "東京" in said


def test_annotations_beyond_the_text_come_before_its_end(ask, events_of):
    note = {"type": "file_path", "file_id": "file-1", "index": 99}
    script = ScriptedModel([[Text(text="Hi", annotations=[note])]])
    with ResponsesSimulator(model=script) as simulator:
        kinds = [event["type"] for event in events_of(ask(simulator, stream=True))]
    assert kinds[kinds.index("response.output_text.done") - 1].endswith("annotation.added")


@pytest.mark.parametrize("output_format", ["png", "jpeg", "webp", "gif"])
@pytest.mark.parametrize("size", ["1024x1536", "48x16", "auto"])
def test_pictures_are_real_ones(server, ask, output_format, size):
    tool = {"type": "image_generation", "output_format": output_format, "size": size}
    response = ask(server, input="Draw a house", tools=[tool])
    item = items_in(response)["image_generation_call"]
    picture = base64.b64decode(item["result"])
    wanted = (1024, 1024) if size == "auto" else tuple(map(int, size.split("x")))
    assert imagesize.get(io.BytesIO(picture)) == wanted
    assert item["size"] == "x".join(map(str, wanted))
    assert (item["output_format"], item["status"]) == (output_format, "completed")
    assert len(picture) < 50_000
    usage = response.json()["tool_usage"]["image_gen"]
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"] > 0


def test_a_picture_may_be_grey_and_large(ask):
    table = {"image_generation": [{"colour": [128, 128, 128]}]}
    sizes = {"jpeg": "64x64", "gif": "4000x2400", "png": "17x3"}
    with ResponsesSimulator(hosted_results=table, strict=False) as simulator:
        for output_format, size in sizes.items():
            tool = {"type": "image_generation", "output_format": output_format, "size": size}
            item = items_in(ask(simulator, tools=[tool]))["image_generation_call"]
            picture = io.BytesIO(base64.b64decode(item["result"]))
            assert imagesize.get(picture) == tuple(map(int, size.split("x")))


def test_a_drawing_of_vectors_is_text(server, ask):
    tool = {"type": "image_generation", "output_format": "svg", "size": "64x32"}
    item = items_in(ask(server, input="Draw a house", tools=[tool]))["image_generation_call"]
    drawing = base64.b64decode(item["result"]).decode()
    assert drawing.startswith("<svg")
    assert 'width="64" height="32"' in drawing


def test_partial_images_come_as_often_as_asked(server, ask, events_of):
    for number in (0, 3):
        tool = {"type": "image_generation", "partial_images": number}
        events = events_of(ask(server, input="Draw a house", tools=[tool], stream=True))
        parts = [event for event in events if event["type"].endswith("partial_image")]
        assert [part["partial_image_index"] for part in parts] == list(range(number))
        assert all(part["partial_image_b64"] and part["output_format"] for part in parts)


def test_searches_are_billed(ask):
    actions = [
        {"type": "search", "query": "q", "queries": ["q"]},
        {"type": "open_page", "url": "https://a.example"},
        {"type": "find_in_page", "url": "https://a.example", "pattern": "p"},
    ]
    table = {"web_search": [{"text": "Found", "actions": actions}]}
    with ResponsesSimulator(hosted_results=table) as simulator:
        response = ask(simulator, input="search", tools=[{"type": "web_search"}]).json()
    calls = [item["action"] for item in response["output"] if item["type"] == "web_search_call"]
    assert calls == actions
    assert response["tool_usage"]["web_search"] == {"num_requests": 1}


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


def test_a_call_of_a_server_waits_for_approval(server, ask):
    first = ask(server, input="Roll the dice", tools=[MCP]).json()
    request = first["output"][-1]
    assert (request["type"], request["name"], first["status"]) == (
        "mcp_approval_request",
        "roll",
        "completed",
    )
    assert "mcp_list_tools" in {item["type"] for item in first["output"]}
    answer = {"type": "mcp_approval_response", "approval_request_id": request["id"]}
    more = {"tools": [MCP], "previous_response_id": first["id"]}
    yes = ask(server, more, input=[answer | {"approve": True}])
    no = ask(server, more, input=[answer | {"approve": False}])
    assert items_in(yes)["mcp_call"]["approval_request_id"] == request["id"]
    assert items_in(yes)["mcp_call"]["output"] == "7"
    assert "mcp_list_tools" not in items_in(yes)
    assert "roll: 7" in text_of(yes)
    assert "mcp_call" not in items_in(no)
    assert "not approved" in text_of(no)


def test_approval_works_without_a_store(server, ask):
    question = {"role": "user", "content": "Roll the dice"}
    body = {"store": False, "tools": [MCP], "include": ["reasoning.encrypted_content"]}
    output = ask(server, body, input=[question]).json()["output"]
    answer = {
        "type": "mcp_approval_response",
        "approval_request_id": output[-1]["id"],
        "approve": True,
    }
    second = ask(server, body, input=[question, *output, answer])
    assert items_in(second)["mcp_call"]["output"] == "7"
    again = ask(server, body, input=[question, *output, answer, *second.json()["output"][:-1]])
    assert "mcp_call" not in items_in(again)
    assert "roll: 7" in text_of(again)


@pytest.mark.parametrize(
    ("asked", "is_free"),
    [
        (None, False),
        ("always", False),
        ("never", True),
        ({"never": {"tool_names": ["roll"]}}, True),
        ({"never": {"tool_names": ["other"]}}, False),
        ({"always": {"tool_names": ["roll"]}}, False),
        ({"always": {"tool_names": ["other"]}}, True),
        ({"never": {"read_only": True}}, False),
        ({"never": {"read_only": False}}, True),
    ],
)
def test_which_calls_need_approval(server, ask, asked, is_free):
    tool = MCP | ({} if asked is None else {"require_approval": asked})
    kinds = items_in(ask(server, input="Roll the dice", tools=[tool]))
    assert ("mcp_call" in kinds, "mcp_approval_request" in kinds) == (is_free, not is_free)


@pytest.mark.parametrize(
    ("allowed", "listed"),
    [
        (None, True),
        (["roll"], True),
        (["other"], False),
        ({"tool_names": ["roll"]}, True),
        ({"read_only": True}, False),
        ("roll", False),
    ],
)
def test_a_server_offers_the_allowed_tools_only(ask, allowed, listed):
    tool = FREE | {"allowed_tools": allowed}
    with ResponsesSimulator(strict=False) as simulator:
        kinds = items_in(ask(simulator, input="Roll the dice", tools=[tool]))
    assert bool(kinds["mcp_list_tools"]["tools"]) is listed
    assert ("mcp_call" in kinds) is listed


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


def test_a_call_that_fails_says_so(ask, events_of):
    table = {
        "mcp": [
            {"tool": {"name": "roll"}, "error": "the server is gone"},
            {"tool": {"name": "toss"}, "error": {"type": "mcp_tool_execution_error"}},
        ],
        "image_generation": [{"match": "sword", "error": "refused"}],
        "code_interpreter": [{"match": "primes", "code": "1/0", "error": "ZeroDivisionError"}],
    }
    tools = [FREE, TOOLS["image_generation"][0], TOOLS["code_interpreter"][0]]
    with ResponsesSimulator(hosted_results=table) as simulator:
        response = ask(simulator, input="Draw a sword, compute primes", tools=tools)
        events = events_of(ask(simulator, input="Draw a sword", tools=tools, stream=True))
    items = items_in(response)
    failed = ("mcp_call", "image_generation_call", "code_interpreter_call")
    assert {items[kind]["status"] for kind in failed} == {"failed"}
    assert items["mcp_call"]["error"] == {"type": "mcp_tool_execution_error"}
    assert items["image_generation_call"]["error"]["message"] == "refused"
    orders = orders_in(events)
    assert [order[-1] for kind, order in orders if kind == "mcp_call"] == ["mcp_call.failed"] * 2
    assert dict(orders)["image_generation_call"][-1] == "image_generation_call.generating"
    assert "refused" in text_of(response)
    error = {"type": "http_error", "code": 424, "message": "the server is gone"}
    assert [item.get("error") for item in response.json()["output"]].count(error) == 1


def test_a_local_shell_and_a_patch_wait_for_the_client(server, ask):
    tools = [{"type": "shell"}, {"type": "apply_patch"}]
    body = {"model": "gpt-5.2", "tools": tools}
    question = {"role": "user", "content": "List my files with the shell, patch the notes"}
    first = ask(server, body, input=[question])
    kinds = items_in(first)
    assert {"shell_call", "apply_patch_call"} <= set(kinds)
    assert "message" not in kinds
    outcome = {"type": "exit", "exit_code": 0}
    shell = {
        "type": "shell_call_output",
        "call_id": kinds["shell_call"]["call_id"],
        "output": [{"stdout": "notes.txt", "stderr": "", "outcome": outcome}],
    }
    patch = {
        "type": "apply_patch_call_output",
        "call_id": kinds["apply_patch_call"]["call_id"],
        "status": "completed",
        "output": "Created",
    }
    second = ask(server, body, input=[shell, patch], previous_response_id=first.json()["id"])
    assert text_of(second).splitlines()[1:] == ["- shell: notes.txt", "- apply_patch: Created"]


def test_a_hosted_shell_says_what_was_printed(ask, events_of):
    rows = [
        {"match": "fail", "commands": ["false"], "stderr": "no", "exit_code": 1},
        {"match": "quiet", "commands": ["true"]},
    ]
    tool = {"type": "shell", "environment": {"type": "container_reference", "container_id": "c"}}
    with ResponsesSimulator(hosted_results={"shell": rows}) as simulator:
        failed = ask(simulator, input="fail in the shell", tools=[tool], model="gpt-5.2")
        quiet = ask(simulator, input="quiet", tools=[tool], model="gpt-5.2", stream=True)
    output = items_in(failed)["shell_call_output"]["output"][0]
    assert output["outcome"] == {"type": "exit", "exit_code": 1}
    assert "shell: no" in text_of(failed)
    assert "shell_call_output_content.delta" not in quiet.text
    assert "(nothing)" in events_of(quiet)[-1]["response"]["output"][-1]["content"][0]["text"]


def test_tools_are_found_by_a_search(server, ask):
    space = {"type": "namespace", "name": "city", "description": "Cities", "tools": [DEFERRED]}
    for tool, namespace in ((DEFERRED, "get_weather"), (space, "city")):  # a tool, a group of them
        body = {"model": "gpt-5.4", "tools": [tool, {"type": "tool_search"}]}
        question = {"role": "user", "content": "What is the weather in Tokyo?"}
        first = ask(server, body, input=[question])
        items = items_in(first)
        path = "get_weather" if tool is DEFERRED else "city.get_weather"
        assert items["tool_search_call"]["arguments"] == {"paths": [path]}
        assert items["tool_search_call"]["call_id"] is None
        assert items["tool_search_output"]["tools"][0]["name"] == namespace
        call = items["function_call"]
        assert (call["namespace"], call["arguments"]) == (namespace, '{"city":"Tokyo"}')
        answer = {"type": "function_call_output", "call_id": call["call_id"], "output": "Rain"}
        second = ask(server, body, input=[question, *first.json()["output"], answer])
        assert "get_weather: Rain" in text_of(second)


def test_nothing_is_searched_for_without_need(server, ask):
    tools = [DEFERRED, {"type": "tool_search"}]
    kinds = items_in(ask(server, model="gpt-5.4", input="Hello", tools=tools))
    assert set(kinds) == {"message"}


def test_a_client_searches_for_tools_itself(server, ask):
    parameters = {"type": "object", "properties": {"goal": {"type": "string"}}}
    search = {"type": "tool_search", "execution": "client", "description": "Find tools"}
    search["parameters"] = parameters | {"required": ["goal"]}
    body = {"model": "gpt-5.4", "tools": [search]}
    first = ask(server, body, input="What is the weather in Tokyo?").json()
    call = first["output"][-1]
    assert (call["type"], call["execution"]) == ("tool_search_call", "client")
    assert set(call["arguments"]) == {"goal"}
    found = {"type": "tool_search_output", "call_id": call["call_id"], "execution": "client"}
    found |= {"status": "completed", "tools": [DEFERRED]}
    more = {"input": [found], "previous_response_id": first["id"]}
    second = ask(server, body, **more)
    assert items_in(second)["function_call"]["name"] == "get_weather"
    none = ask(server, body, **more | {"input": [found | {"tools": []}]})
    assert set(items_in(none)) == {"message"}


def test_tools_can_be_added_in_the_conversation(server, ask):
    added = {"type": "additional_tools", "role": "developer", "tools": [DEFERRED]}
    question = {"role": "user", "content": "What is the weather in Tokyo?"}
    items = items_in(ask(server, model="gpt-5.4", input=[added, question]))
    assert items["function_call"]["name"] == "get_weather"


def test_hosted_calls_and_function_calls_go_together(server, ask, clock):
    question = {
        "role": "user",
        "content": "Search the web for Paris. What time is it in Europe/Rome?",
    }
    body = {"tools": [{"type": "web_search"}, clock], "store": False}
    body["include"] = ["reasoning.encrypted_content"]
    output = ask(server, body, input=[question]).json()["output"]
    assert [item["type"] for item in output] == ["reasoning", "web_search_call", "function_call"]
    answer = {"type": "function_call_output", "call_id": output[-1]["call_id"], "output": "noon"}
    second = ask(server, body, input=[question, *output, answer])
    assert set(items_in(second)) == {"reasoning", "message"}
    assert "clock: noon" in text_of(second)
    assert "web search: Paris" in text_of(second)
    assert second.json()["output"][-1]["content"][0]["annotations"]


@pytest.mark.parametrize(
    ("choice", "made"),
    [
        ({"type": "web_search"}, {"web_search_call"}),
        ({"type": "image_generation"}, {"image_generation_call"}),
        ({"type": "mcp", "server_label": "dice"}, {"mcp_list_tools", "mcp_call"}),
        ({"type": "allowed_tools", "mode": "auto", "tools": [{"type": "web_search"}]}, set()),
        (
            {"type": "allowed_tools", "mode": "required", "tools": [{"type": "web_search"}]},
            {"web_search_call"},
        ),
        ("none", set()),
        ("required", {"web_search_call", "mcp_list_tools"}),
        ("auto", {"mcp_list_tools"}),
    ],
)
def test_the_choice_of_tools_holds_for_hosted_ones(server, ask, choice, made):
    tools = [{"type": "web_search"}, {"type": "image_generation"}, FREE]
    kinds = set(items_in(ask(server, input="Hello", tools=tools, tool_choice=choice)))
    assert kinds - {"reasoning", "message"} == made


def test_every_hosted_tool_can_be_forced_without_a_result(ask):
    tools = [tool for name, (tool, _) in TOOLS.items() if name not in {"tool_search", "mcp"}]
    with ResponsesSimulator(hosted_results={}) as simulator:
        for tool in tools:
            body = {"model": "gpt-5.2", "tools": [tool], "tool_choice": "required"}
            kinds = items_in(ask(simulator, body, input="Hello"))
            assert f"{tool['type']}_call" in kinds


@pytest.mark.parametrize(
    ("filters", "is_found"),
    [
        ({"allowed_domains": ["example.org"]}, True),
        ({"allowed_domains": ["other.org"]}, False),
        ({"blocked_domains": ["en.example.org"]}, False),
        ({"blocked_domains": ["other.org"]}, True),
        (None, True),
    ],
)
def test_searches_keep_to_their_domains(server, ask, filters, is_found):
    tool = {"type": "web_search", "filters": filters}
    text = text_of(ask(server, input="Search the web for Paris", tools=[tool]))
    assert ("en.example.org" in text) is is_found


def test_a_source_may_be_cited_without_a_link(ask):
    rows = [
        {"match": "one", "text": "Bare.", "url": "https://a.example/1", "link": False},
        {"match": "one", "text": "Nowhere."},
    ]
    with ResponsesSimulator(hosted_results={"web_search": rows}) as simulator:
        response = ask(simulator, input="one", tools=[{"type": "web_search"}]).json()
    part = response["output"][-1]["content"][0]
    (note,) = part["annotations"]
    assert part["text"][note["start_index"] : note["end_index"]] == "Bare."
    assert note["title"] == note["url"]


def test_a_container_of_ones_own_is_used(server, ask):
    tool = {"type": "code_interpreter", "container": "cntr_mine"}
    item = items_in(ask(server, input="Compute primes", tools=[tool]))["code_interpreter_call"]
    assert item["container_id"] == "cntr_mine"


@pytest.mark.parametrize("kind", ["web_search_2025_08_26", "web_search_preview_2025_03_11"])
def test_a_dated_tool_is_the_tool(server, ask, kind):
    response = ask(server, input="Search the web for Paris", tools=[{"type": kind}])
    assert "web_search_call" in items_in(response)
    assert response.json()["tools"][0]["search_context_size"] == "medium"


def test_structured_answers_have_no_citations(server, ask):
    schema = {"type": "object", "properties": {"answer": {"type": "string"}}}
    schema |= {"required": ["answer"], "additionalProperties": False}
    shape = {"format": {"type": "json_schema", "name": "a", "schema": schema, "strict": True}}
    tools = [{"type": "web_search"}]
    response = ask(server, input="Search the web for Paris", tools=tools, text=shape).json()
    assert response["output"][-1]["content"][0]["annotations"] == []


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
    operation = {"type": "delete_file", "path": "old.md"}
    with ResponsesSimulator(hosted_results={"apply_patch": [{"operation": operation}]}) as server:
        body = {"model": "gpt-5.2", "tools": [{"type": "apply_patch"}], "stream": True}
        orders = dict(orders_in(events_of(ask(server, body))))
    assert orders["apply_patch_call"] == []


def test_the_official_client_reads_every_hosted_tool(server):
    tools = [tool for tool, _ in TOOLS.values()]
    question = ". ".join(q for name, (_, q) in TOOLS.items() if name != "apply_patch")
    asked = {"model": "gpt-5.6", "input": question, "tools": [*tools, DEFERRED]}
    with OpenAI(base_url=server.base_url, api_key="sk-test", max_retries=0) as client:
        created = client.responses.create(**asked)
        with client.responses.stream(**asked) as stream:
            streamed = stream.get_final_response()
        events = list(client.responses.create(**asked, stream=True))
    kinds = [item.type for item in created.output]
    assert kinds == [item.type for item in streamed.output]
    assert kinds == [item.type for item in events[-1].response.output]
    assert len(kinds) >= 9
    assert isinstance(Response.model_validate(created.to_dict()), Response)
