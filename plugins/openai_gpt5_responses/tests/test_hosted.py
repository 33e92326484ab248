"""OpenAI's own tools, through the plugin's process: what is asked for, what comes out, what goes back."""

import base64
import json
from typing import Any

import pytest

from gpt5_simulator import (
    FunctionCall,
    HttpError,
    OutputItem,
    Reasoning,
    ResponsesSimulator,
    ScriptedModel,
    Text,
)
from model_plugin import Answer, ModelPlugin, credentials_for


MODEL = "gpt-6-luna"
CLOCK = {
    "name": "clock",
    "description": "Tell the time of a city",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}
LINE_BYTES = 5 * 1024 * 1024
URL = "https://paris.example.org/a"


def ask(plugin: ModelPlugin, server: ResponsesSimulator, **parameters: Any) -> Answer:
    return plugin.invoke(server, "Tell me.", model=MODEL, model_parameters=parameters)


def saying(*items: Any) -> ResponsesSimulator:
    return ResponsesSimulator(model=ScriptedModel([list(items)]))


def hosted(kind: str, **fields: Any) -> OutputItem:
    return OutputItem(item={"type": kind, **fields})


def drawn(size: int, **fields: Any) -> OutputItem:
    """Return an image of so many bytes."""
    data = base64.b64encode(b"\xff\xd8\xff" + b"\0" * (size - 3)).decode()
    told = {"status": "completed", "result": data, "output_format": "jpeg", "size": "1024x1024"}
    return hosted("image_generation_call", **{**told, **fields})


def cited(url: str, title: str) -> dict[str, Any]:
    return {"type": "url_citation", "url": url, "title": title, "start_index": 0, "end_index": 4}


def plain(text: str) -> str:
    return text.replace("\u2063", "")


def tools_of(server: ResponsesSimulator) -> list[dict[str, Any]]:
    return server.requests[-1].body["tools"]


def test_each_parameter_asks_for_its_tool(plugin: ModelPlugin) -> None:
    extra = {"type": "shell", "environment": {"type": "container_auto"}}
    mcp = {"server_label": "docs", "server_url": "https://mcp.example.com"}
    with saying(Text(text="Done.")) as server:
        credentials = {
            **credentials_for(server, "key"),
            "mcp_tokens": json.dumps(
                {"docs": {"token": "tok-12345", "host": "mcp.example.com"}, "other": "tok-67890"}
            ),
        }
        answer = plugin.invoke(
            server,
            model=MODEL,
            credentials=credentials,
            tools=[CLOCK],
            model_parameters={
                "web_search": "high",
                "web_search_domains": "example.org\n-bad.example",
                "file_search_stores": "vs_1\nvs_2",
                "code_interpreter": True,
                "image_generation": True,
                "mcp_servers": json.dumps([mcp]),
                "extra_tools": json.dumps([extra]),
                "allowed_tools": "clock\nweb_search\ndocs",
                "max_tool_calls": 3,
                "service_tier": "priority",
                "reasoning_mode": "pro",
                "reasoning_context": "all_turns",
                "prompt_cache_ttl": "12h",
            },
        )

    assert (answer.error, answer.text) == (None, "Done.")
    by_type = {tool["type"]: tool for tool in tools_of(server)}
    assert list(by_type) == [
        *("function", "web_search", "file_search", "code_interpreter", "image_generation"),
        *("mcp", "shell"),
    ]
    assert by_type["web_search"]["search_context_size"] == "high"
    assert by_type["web_search"]["filters"] == {
        "allowed_domains": ["example.org"],
        "blocked_domains": ["bad.example"],
    }
    assert by_type["file_search"]["vector_store_ids"] == ["vs_1", "vs_2"]
    assert by_type["mcp"]["authorization"] == "tok-12345"
    body = server.requests[0].body
    assert [tool.get("name", tool.get("server_label", tool["type"])) for tool in body["tool_choice"]["tools"]] == ["clock", "web_search", "docs"]  # fmt: skip
    assert (body["max_tool_calls"], body["service_tier"]) == (3, "priority")
    assert body["reasoning"]["mode"] == "pro"
    assert body["reasoning"]["context"] == "all_turns"
    assert body["prompt_cache_options"] == {"ttl": "12h"}
    assert "tok-67890" not in json.dumps(body)


def test_sources_that_the_text_does_not_link_follow_it_and_do_not_go_back(
    plugin: ModelPlugin,
) -> None:
    found = Text(text="Paris is large.", annotations=[cited(URL, "All of Paris")])
    script = ScriptedModel([[hosted("web_search_call"), found], [Text(text="You are welcome.")]])
    with ResponsesSimulator(model=script) as server:
        answer = plugin.invoke(
            server,
            "Search the web for Paris",
            model=MODEL,
            model_parameters={"web_search": "low"},
        )
        history = [
            {"role": "user", "content": "Search the web for Paris"},
            {"role": "assistant", "content": answer.text},
            {"role": "user", "content": "Thanks."},
        ]
        plugin.invoke(server, history, model=MODEL)

    assert plain(answer.text).endswith("- [All of Paris](https://paris.example.org/a)")
    *sent, _ = server.requests[1].body["input"]
    assert "web_search_call" in [item.get("type") for item in sent]
    assert "[All of Paris](" not in json.dumps(sent)
    assert "Paris is large." in json.dumps(sent)


def test_sources_that_the_text_links_are_not_told_twice(plugin: ModelPlugin) -> None:
    text = Text(text=f"Large ([paris.example.org]({URL})).", annotations=[cited(URL, "Paris")])
    with saying(text) as server:
        assert ask(plugin, server).text == text.text


def test_text_streams_on_as_it_comes_and_what_is_added_comes_after_it(plugin: ModelPlugin) -> None:
    text = Text(text="Four words are said.", annotations=[cited("https://a.example", "A")])
    with saying(text) as server:
        answer = ask(plugin, server)

    texts = [text for text, _ in answer.texts]
    assert "".join(texts[:-2]) == "Four words are said."
    assert plain(texts[-2]).strip() == "- [A](https://a.example)"
    assert texts[-1] == ""


@pytest.mark.parametrize("stream", [True, False])
def test_an_image_is_dify_s_own_content(plugin: ModelPlugin, *, stream: bool) -> None:
    with saying(drawn(30_000), Text(text="Here it is.")) as server:
        answer = plugin.invoke(server, model=MODEL, stream=stream)

    [image] = answer.images
    assert (image["format"], image["mime_type"]) == ("jpeg", "image/jpeg")
    assert len(base64.b64decode(image["base64_data"])) == 30_000
    assert answer.text == "Here it is."
    assert len(answer.chunks) == 1 or stream
    assert answer.last["message"]["opaque_body"] is not None


def test_an_image_of_three_megabytes_passes(plugin: ModelPlugin) -> None:
    with saying(drawn(3_000_000), Text(text="Large.")) as server:
        answer = ask(plugin, server)

    assert answer.error is None
    assert len(answer.images[0]["base64_data"]) == 4_000_000
    assert all(len(json.dumps(chunk)) < LINE_BYTES for chunk in answer.chunks)
    # The image would fill the one line that a strategy has for all of its history.
    carried = answer.last["message"]["opaque_body"]["responses_output"]
    assert [item["type"] for item in carried] == ["message", "message"]
    assert "4000000 characters are too many to be carried" in json.dumps(carried[0])


@pytest.mark.parametrize("stream", [True, False])
def test_an_image_that_does_not_fit_is_told_with_its_size(
    plugin: ModelPlugin, *, stream: bool
) -> None:
    with saying(drawn(4_500_000), drawn(9_000), Text(text="Two.")) as server:
        answer = plugin.invoke(server, model=MODEL, stream=stream)

    assert answer.error is None
    assert [len(image["base64_data"]) for image in answer.images] == [12_000]
    assert "An image (1024x1024 jpeg, 4.5 MB) was left out" in answer.text


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"output_format": "webp"}, ("webp", "image/webp")),
        ({"output_format": "svg"}, ("svg", "image/svg+xml")),
        ({"output_format": "../../a"}, ("png", "image/png")),
        ({"output_format": None}, ("jpeg", "image/jpeg")),
    ],
)
def test_an_image_has_a_format_that_dify_can_name_a_file_by(
    plugin: ModelPlugin, fields: dict[str, Any], kind: tuple[str, str]
) -> None:
    with saying(drawn(3_000, **fields)) as server:
        [image] = ask(plugin, server).images

    assert (image["format"], image["mime_type"]) == kind
    assert image["filename"] == f"image.{kind[0]}"


@pytest.mark.parametrize("data", ["%%%", "QUJ", "QUJD QUJD", "é"])
def test_an_image_that_is_none_fails_no_node(plugin: ModelPlugin, data: str) -> None:
    with saying(drawn(3_000, result=data), Text(text="Here.")) as server:
        answer = ask(plugin, server)

    assert (answer.error, answer.images) == (None, [])
    assert answer.text.startswith("Here.")
    assert "left out" in answer.text


def test_what_a_server_calls_its_tools_and_states_makes_no_line_of_its_own(
    plugin: ModelPlugin,
) -> None:
    plugin.notices.clear()
    odd = hosted("my\nnew_call", status="well\nso")
    with ResponsesSimulator(model=ScriptedModel([[odd, Text(text="Hi.")]]), strict=False) as server:
        assert ask(plugin, server).text == "Hi."

    told = [notice.text for notice in plugin.notices if "OpenAI ran" in notice.text]
    assert told == ["OpenAI ran another tool: other"]


def test_two_images_that_do_not_fit_into_one_chunk_are_told_where_there_is_but_one(
    plugin: ModelPlugin,
) -> None:
    turn = (drawn(2_400_000), drawn(2_400_000), Text(text="Two."))
    with saying(*turn) as server:
        streamed = plugin.invoke(server, model=MODEL)
    with saying(*turn) as server:
        whole = plugin.invoke(server, model=MODEL, stream=False)

    assert (streamed.error, whole.error) == (None, None)
    assert (len(streamed.images), len(whole.images)) == (2, 1)
    assert "left out" in whole.text
    assert "left out" not in streamed.text


def test_files_that_code_has_made_are_named(plugin: ModelPlugin) -> None:
    code = "import math\nprint(list(range(2, 30)))"
    made = {
        "type": "container_file_citation",
        "container_id": "cntr_1",
        "file_id": "cfile_1",
        "filename": "primes.csv",
        "start_index": 0,
        "end_index": 5,
    }
    ran = hosted("code_interpreter_call", code=code, container_id="cntr_1", outputs=[])
    with saying(ran, Text(text="Here you are.", annotations=[made])) as server:
        answer = ask(plugin, server, code_interpreter=True)

    assert "Files of the code interpreter: `primes.csv`" in plain(answer.text)
    assert "import" not in answer.text
    assert "range(2, 30)" not in answer.text


@pytest.mark.parametrize("field", ["mcp_servers", "extra_tools"])
@pytest.mark.parametrize(
    ("token", "url"),
    [
        ({"token": "tok-12345", "host": "mcp.example.com"}, "https://evil.example/mcp"),
        ({"token": "tok-12345", "host": "mcp.example.com"}, "http://mcp.example.com/mcp"),
        ("tok-12345", "https://mcp.example.com/mcp"),
    ],
)
def test_a_token_does_not_go_to_the_address_that_an_app_gives_its_label(
    plugin: ModelPlugin, field: str, token: object, url: str
) -> None:
    tool = {"type": "mcp", "server_label": "docs", "server_url": url}
    with saying(Text(text="Never.")) as server:
        credentials = {
            **credentials_for(server, "key"),
            "mcp_tokens": json.dumps({"docs": token}),
        }
        answer = plugin.invoke(
            server,
            model=MODEL,
            credentials=credentials,
            model_parameters={field: json.dumps([tool])},
        )

    assert answer.error is not None
    assert answer.error.error_type == "InvokeBadRequestError"
    assert f"{field}: the token of 'docs' in mcp_tokens" in str(answer.error)
    assert "12345" not in str(answer.error)
    assert server.requests == []


def test_what_ran_stands_in_the_log_and_its_content_only_where_the_operator_wants_it(
    plugin: ModelPlugin, configured_plugin: ModelPlugin
) -> None:
    code = hosted(
        "code_interpreter_call",
        code="print(secret_of_code)",
        container_id="cntr_1",
        outputs=[{"type": "logs", "logs": "tok-12345 printed\n"}],
    )
    told = []
    for each in (plugin, configured_plugin):
        each.notices.clear()
        with saying(code, Text(text="Ran.")) as server:
            tokens = json.dumps({"docs": "tok-12345"})
            credentials = {**credentials_for(server, "key"), "mcp_tokens": tokens}
            parameters = {"code_interpreter": True}
            answer = each.invoke(
                server, model=MODEL, credentials=credentials, model_parameters=parameters
            )
        assert answer.text == "Ran."
        told.append("\n".join(notice.text for notice in each.notices))

    assert "code_interpreter_call: completed" in told[0]
    assert "secret_of_code" not in told[0]
    assert "print(secret_of_code)" in told[1]
    assert "[redacted] printed" in told[1]


def test_a_call_that_waits_for_leave_is_told_and_never_granted(plugin: ModelPlugin) -> None:
    server_object = {"server_label": "dice", "server_url": "https://dice.example.com"}
    request = hosted("mcp_approval_request", name="roll", arguments="{}", server_label="dice")
    with saying(request) as server:
        answer = plugin.invoke(
            server,
            "Roll dice",
            model=MODEL,
            model_parameters={"mcp_servers": json.dumps([server_object])},
        )

    assert "asks for approval to call `dice.roll`" in answer.text
    assert "nothing was called" in answer.text
    assert len(server.requests) == 1


def test_a_tool_that_has_failed_is_told_without_a_token(plugin: ModelPlugin) -> None:
    failed = hosted(
        "mcp_call",
        name="roll",
        server_label="dice",
        arguments="{}",
        status="failed",
        error={"type": "http_error", "code": 401, "message": "tok-12345 is no token"},
    )
    with saying(failed, Text(text="It did not work.")) as server:
        tokens = json.dumps({"dice": "tok-12345"})
        credentials = {**credentials_for(server, "key"), "mcp_tokens": tokens}
        answer = plugin.invoke(server, model=MODEL, credentials=credentials)

    assert "The tool `dice.roll` failed: [redacted] is no token." in plain(answer.text)
    carried = answer.last["message"]["opaque_body"]["responses_output"]
    assert carried[0]["error"]["message"] == "[redacted] is no token"
    assert "tok-12345" not in json.dumps(answer.chunks)


def test_a_call_that_nobody_here_answers_is_told(plugin: ModelPlugin) -> None:
    call = hosted(
        "shell_call",
        call_id="call_1",
        action={"commands": ["ls"], "timeout_ms": None, "max_output_length": None},
    )
    with saying(call) as server:
        answer = ask(plugin, server, extra_tools='[{"type": "shell"}]')

    assert "The model called the tool `shell`, which nobody here can answer." in answer.text


def test_json_stays_json(plugin: ModelPlugin) -> None:
    text = Text(text='{"a": 1}', annotations=[cited("https://a.example", "A")])
    failed = hosted("web_search_call", status="failed", action={"type": "search", "queries": []})
    with saying(failed, text) as server:
        answer = ask(
            plugin, server, response_format="json_schema", json_schema='{"type": "object"}'
        )

    assert answer.text == '{"a": 1}'


def test_nothing_is_added_to_an_answer_that_a_stop_sequence_has_ended(plugin: ModelPlugin) -> None:
    text = Text(text="One STOP two", annotations=[cited("https://a.example", "A")])
    with saying(drawn(3_000), text) as server:
        answer = plugin.invoke(server, model=MODEL, stop=["STOP"])

    assert answer.text == "One "
    assert answer.images == []


@pytest.mark.parametrize("carries", [True, False], ids=["opaque_body", "memory"])
def test_hosted_items_come_back_with_reasoning_and_function_calls(
    plugin: ModelPlugin, *, carries: bool
) -> None:
    search = {"type": "search", "query": "time", "queries": ["time"]}
    rounds = [
        [
            Reasoning(summary=("Look first.",)),
            hosted("web_search_call", action=search),
            hosted("web_search_call", status="failed", action=search),
            Reasoning(),
            FunctionCall(name="clock", arguments={"city": "Paris"}, call_id="call_1"),
        ],
        [Reasoning(), FunctionCall(name="clock", arguments={"city": "Rome"}, call_id="call_2")],
        [Text(text="Noon in both.")],
    ]
    messages: list[dict[str, Any]] = [{"role": "user", "content": "What time is it?"}]
    with ResponsesSimulator(model=ScriptedModel(rounds)) as server:
        for _ in rounds:
            answer = plugin.invoke(
                server,
                messages,
                model=MODEL,
                tools=[CLOCK],
                model_parameters={"web_search": "low"},
            )
            assert answer.error is None
            said = answer.last["message"]
            messages += [
                {
                    "role": "assistant",
                    "content": answer.text,
                    "tool_calls": said["tool_calls"],
                    "opaque_body": said["opaque_body"] if carries else None,
                },
                *(
                    {"role": "tool", "content": "noon", "tool_call_id": call["id"]}
                    for call in said["tool_calls"]
                ),
            ]

    first, second, third = (request.body["input"] for request in server.requests)
    kinds = [item.get("type", "message") for item in third]
    assert kinds == [
        *("message", "reasoning", "web_search_call", "reasoning", "function_call"),
        *("function_call_output", "reasoning", "function_call", "function_call_output"),
    ]
    assert third[: len(second)] == second
    assert second[: len(first)] == first
    assert answer.text == "Noon in both."


COMBINATIONS = [
    ({"web_search_domains": "example.org"}, "web_search_domains"),
    ({"web_search": "often"}, "web_search"),
    ({"web_search": "low", "web_search_domains": "not a domain"}, "web_search_domains"),
    ({"flex_fallback": True}, "flex_fallback"),
    ({"service_tier": "ultrafast"}, "service_tier"),
    ({"service_tier": "cheap"}, "service_tier"),
    ({"mcp_servers": "docs"}, "mcp_servers"),
    ({"mcp_servers": '[{"server_url": "https://a.example"}]'}, "mcp_servers"),
    ({"mcp_servers": '[{"server_label": "a", "server_url": "https://a.example", "authorization": "tok-12345"}]'}, "mcp_servers"),
    ({"extra_tools": "[1]"}, "extra_tools"),
    ({"allowed_tools": "nothing"}, "allowed_tools"),
    ({"max_tool_calls": 0}, "max_tool_calls"),
    ({"prompt_cache_ttl": "1h"}, "prompt_cache_ttl"),
    ({"code_interpreter": "maybe"}, "code_interpreter"),
]  # fmt: skip


@pytest.mark.parametrize(("parameters", "field"), COMBINATIONS)
def test_what_cannot_be_is_a_bad_request_that_names_the_form_s_field(
    plugin: ModelPlugin, parameters: dict[str, Any], field: str
) -> None:
    with saying(Text(text="Never.")) as server:
        answer = ask(plugin, server, **parameters)

    assert answer.error is not None
    assert answer.error.error_type == "InvokeBadRequestError"
    assert field in str(answer.error)
    assert "tok-12345" not in str(answer.error)
    assert server.requests == []


@pytest.mark.parametrize(
    "tokens",
    [
        *("tok-12345", '["tok-12345"]', '{"docs": 12345}', '{"": "t"}'),
        '{"docs": {"token": "tok-12345"}}',
        '{"docs": {"token": "tok-12345", "host": "https://mcp.example.com"}}',
    ],
)
def test_tokens_that_cannot_be_used_are_refused_by_their_field_and_not_shown(
    plugin: ModelPlugin, server: ResponsesSimulator, tokens: str
) -> None:
    checked = plugin.validate(server, mcp_tokens=tokens)
    of_model = plugin.validate(server, model=MODEL, mcp_tokens=tokens)
    credentials = {**credentials_for(server, "key"), "mcp_tokens": tokens}
    called = plugin.invoke(server, model=MODEL, credentials=credentials)

    for answer in (checked, of_model, called):
        assert answer.error is not None
        assert "mcp_tokens" in str(answer.error)
        assert "12345" not in str(answer.error)
    assert server.requests == []


def test_reasoning_is_not_shared_between_tokens(plugin: ModelPlugin) -> None:
    rounds = [
        [Reasoning(), FunctionCall(name="clock", arguments={}, call_id="call_1")],
        [Text(text="Noon.")],
    ]
    question = {"role": "user", "content": "What time is it?"}
    with ResponsesSimulator(model=ScriptedModel(rounds)) as server:
        credentials = credentials_for(server, "key")
        first = plugin.invoke(
            server,
            [question],
            model=MODEL,
            tools=[CLOCK],
            credentials={**credentials, "mcp_tokens": '{"docs": "tok-12345"}'},
        )
        calls = first.last["message"]["tool_calls"]
        history = [
            question,
            {"role": "assistant", "content": "", "tool_calls": calls},
            {"role": "tool", "content": "noon", "tool_call_id": "call_1"},
        ]
        plugin.invoke(server, history, model=MODEL, tools=[CLOCK], credentials=credentials)

    kinds = [item.get("type") for item in server.requests[1].body["input"]]
    assert "reasoning" not in kinds


FLEX = {"service_tier": "flex", "flex_fallback": True}


def test_a_flex_tier_without_room_is_left_where_that_is_asked_for(
    configured_plugin: ModelPlugin,
) -> None:
    configured_plugin.notices.clear()
    with ResponsesSimulator(faults=[HttpError(status=429), None]) as server:
        answer = ask(configured_plugin, server, **FLEX)

    assert answer.error is None
    assert [request.body["service_tier"] for request in server.requests] == ["flex", "default"]
    told = "\n".join(notice.text for notice in configured_plugin.notices)
    assert '"left_out": "without_flex"' in told
    assert '"service_tier": "default"' in told


@pytest.mark.parametrize(
    "parameters",
    [{"service_tier": "flex"}, {**FLEX, "flex_fallback": False}, {**FLEX, "flex_fallback": " "}],
)
def test_and_only_there(plugin: ModelPlugin, parameters: dict[str, Any]) -> None:
    with ResponsesSimulator(faults=[HttpError(status=429), None]) as server:
        answer = ask(plugin, server, **parameters)

    assert answer.error is not None
    assert answer.error.error_type == "InvokeRateLimitError"
    assert [request.body["service_tier"] for request in server.requests] == ["flex"]


def prices(answer: Answer) -> tuple[float, float]:
    usage = answer.last["usage"]
    return float(usage["prompt_price"]), float(usage["total_price"])


def test_the_tier_that_answers_is_the_one_that_is_priced(plugin: ModelPlugin) -> None:
    told = {}
    for tier in ("default", "flex", "priority"):
        with saying(Text(text="Done.")) as server:
            told[tier] = prices(ask(plugin, server, service_tier=tier))

    for position in (0, 1):
        default = told["default"][position]
        assert told["flex"][position] == pytest.approx(default / 2, abs=2e-7)
        assert told["priority"][position] == pytest.approx(default * 2, abs=2e-7)


def test_what_tools_cost_is_in_the_price(plugin: ModelPlugin) -> None:
    search = {"type": "search", "query": "x", "queries": ["x"]}
    items = [
        hosted("web_search_call", action=search),
        hosted("web_search_call", action=search),
        hosted("web_search_call", action={"type": "open_page", "url": "https://a.example"}),
        hosted("file_search_call", queries=["x"], results=[]),
        hosted("code_interpreter_call", code="1", container_id="cntr_1", outputs=[]),
        hosted("code_interpreter_call", code="2", container_id="cntr_1", outputs=[]),
    ]
    with saying(Text(text="Done.")) as server:
        _, without = prices(ask(plugin, server))
    with saying(*items, Text(text="Done.")) as server:
        _, with_tools = prices(ask(plugin, server))

    assert with_tools - without == pytest.approx(2 * 0.01 + 0.0025 + 0.03, abs=1e-4)
