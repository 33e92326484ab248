"""Tool calls: what reaches a tool, what comes of it, and what the model may read of a failure."""

import base64
import json

import pytest

from scripted_dify import DifyError, call, chunk, parameter, text_message, tool


ECHO = tool("echo", parameter("text"))


def run_call(agent, arguments, *tools, messages=None, name="echo"):
    agent.dify.model = [[chunk(calls=[call(name, arguments)])], [chunk("Done.")]]
    agent.dify.tools.setdefault(name, messages or [text_message("ok")])
    transcript = agent.run(tools=list(tools or [ECHO]))
    last = agent.dify.model_requests[1]["prompt_messages"][-1]
    return transcript, last["content"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ('{"text": ', "tool arguments parse error: tool arguments must be valid JSON object"),
        ("[1, 2]", "tool arguments parse error: tool arguments must be a JSON object"),
        (
            '{"other": 1}',
            "tool arguments validation error: unknown parameters ['other']",
        ),
    ],
)
def test_arguments_that_do_not_fit_never_reach_the_tool(agent, arguments, sentence):
    """C1 and C2: the official strategy dies of them."""
    transcript, observation = run_call(agent, arguments)
    assert observation == sentence
    assert agent.dify.tool_requests == []
    assert transcript.text.endswith("Done.")
    assert transcript.logs["CALL echo"]["status"] == "error"


ZONED = tool(
    "echo", parameter("text"), parameter("zone", form="form"), runtime_parameters={"zone": "UTC+7"}
)


def test_an_argument_that_the_form_has_set_is_dropped_and_the_result_says_so_without_its_value(
    agent,
):
    _, observation = run_call(agent, '{"text": "hi", "zone": "Mars"}', ZONED)
    assert observation == "note: not used, because the app has set it already: zone\nok"
    [request] = agent.dify.tool_requests
    assert request["tool_parameters"] == {"text": "hi", "zone": "UTC+7"}


def test_an_argument_for_what_the_form_has_left_unset_is_dropped_too(agent):
    """As `ensure_ascii` of Dify's JSON tools, which models know."""
    echo = tool(
        "echo",
        parameter("text"),
        parameter("ensure_ascii", "boolean", form="form", default=True),
        parameter("sort", form="form"),
    )
    _, observation = run_call(agent, '{"text": "hi", "ensure_ascii": false, "sort": "a"}', echo)
    assert (
        observation == "note: not used, because the app has set it already: ensure_ascii, sort\nok"
    )
    [request] = agent.dify.tool_requests
    assert request["tool_parameters"] == {"text": "hi", "ensure_ascii": True}


def test_a_failure_begins_with_that_note_too(agent):
    broken = [DifyError("broken")]
    _, observation = run_call(agent, '{"zone": "Mars"}', ZONED, messages=broken)
    assert observation.startswith("note: not used, because the app has set it already: zone\n")
    assert observation.endswith("tool invoke error: failed to execute tool")


def test_json_that_a_tool_says_as_text_as_well_is_read_once(agent):
    """Dify's workflow tools and API tools give their result as both."""
    said = [
        text_message('{"b": 1, "a": 2}'),
        {"type": "json", "message": {"json_object": {"a": 2, "b": 1}}},
    ]
    assert run_call(agent, "{}", messages=said)[1] == '{"b": 1, "a": 2}'


def test_broken_arguments_go_back_as_an_object_that_any_model_plugin_can_read(agent):
    run_call(agent, '{"text": ')
    assistant = agent.dify.model_requests[1]["prompt_messages"][-2]
    assert assistant["tool_calls"][0]["function"]["arguments"] == (
        '{"invalid_arguments": "{\\"text\\": "}'
    )


def test_an_unknown_tool_is_answered_for(agent):
    _, observation = run_call(agent, "{}", name="missing")
    assert observation == "there is not a tool named missing"


def test_the_cause_of_a_failure_goes_to_the_log_and_to_nobody_else(agent):
    """C7: the official strategy hands the exception's text to the model."""
    transcript, observation = run_call(
        agent, "{}", messages=[DifyError("no route to 10.0.0.1, password=hunter2")]
    )
    assert observation == "tool invoke error: failed to execute tool"
    log = transcript.logs["CALL echo"]
    assert log["error"] == "Exception: no route to (address), password=[redacted]"
    assert "the tool echo failed: no route to 10.0.0.1, password=[redacted]" in agent.log


def test_a_secret_in_a_long_error_is_taken_out_before_the_error_is_cut(agent):
    secret = "hunter2-correct-horse-battery-staple"
    keyed = tool(
        "echo", parameter("key", "secret-input", form="form"), runtime_parameters={"key": secret}
    )
    broken = [DifyError(f"{'w' * 466} {secret} tail")]
    transcript, _ = run_call(agent, "{}", keyed, messages=broken)
    assert "hunter2" not in json.dumps(transcript.logs)


def test_the_log_has_what_another_plugin_says_without_its_traceback(agent):
    """Who uses an app by the service API gets the node's log."""
    told = {"args": {"traceback": "Traceback: /srv/x.py"}, "error_type": "ValueError"}
    error = json.dumps(told | {"message": "no such city in /srv/plugins/cities.csv"})
    wrapped = f"read tool response failed: request failed: req_id: 1a PluginInvokeError: {error}"
    transcript, _ = run_call(agent, "{}", messages=[DifyError(wrapped)])
    assert transcript.logs["CALL echo"]["error"] == "Exception: no such city in (file)"
    assert "10.0.0.1" not in transcript.text


def test_what_a_tool_said_before_it_failed_is_kept(agent):
    """C8: the official strategy throws it away."""
    _, observation = run_call(agent, "{}", messages=[text_message("half"), DifyError("late")])
    assert observation == "half\ntool invoke error: failed to execute tool"


def test_a_failing_call_does_not_touch_its_neighbours(agent):
    agent.dify.model = [
        [chunk(calls=[call("bad"), call("echo", '{"text": "x"}', id_="c2")])],
        [chunk("Done.")],
    ]
    agent.dify.tools = {"bad": [DifyError("broken")], "echo": [text_message("x")]}
    agent.run(tools=[tool("bad"), ECHO])
    observations = [m["content"] for m in agent.dify.model_requests[1]["prompt_messages"][-2:]]
    assert observations == ["tool invoke error: failed to execute tool", "x"]


def test_a_call_that_failed_is_not_made_again(agent):
    """C9: the official strategy makes it every round."""
    agent.dify.model = [[chunk(calls=[call("echo", id_=f"c{n}")])] for n in range(3)] + [
        [chunk("Done.")]
    ]
    agent.dify.tools["echo"] = [DifyError("broken")]
    agent.run(tools=[ECHO])
    assert len(agent.dify.tool_requests) == 1
    assert agent.dify.model_requests[-1]["prompt_messages"][-1]["content"] == (
        "tool invoke error: repeated failure detected; skipped duplicate call"
    )


def test_a_call_that_keeps_succeeding_is_answered_from_memory(agent):
    agent.dify.model = [[chunk(calls=[call("echo", id_=f"c{n}")])] for n in range(3)] + [
        [chunk("Done.")]
    ]
    agent.dify.tools["echo"] = [text_message("same")]
    transcript = agent.run(tools=[ECHO])
    assert len(agent.dify.tool_requests) == 2
    observation = agent.dify.model_requests[-1]["prompt_messages"][-1]["content"]
    assert observation.startswith("this call was already made")
    assert observation.endswith("same")
    assert transcript.logs["CALL echo"]["status"] == "success"


def test_a_call_that_comes_many_times_in_one_round_is_made_twice(agent):
    calls = [call("echo", '{"text": "x"}', id_=f"c{number}") for number in range(4)]
    agent.dify.model = [[chunk(calls=calls)], [chunk("Done.")]]
    agent.dify.tools["echo"] = [text_message("same")]
    agent.run(tools=[ECHO])
    assert len(agent.dify.tool_requests) == 2
    results = agent.dify.model_requests[1]["prompt_messages"][-4:]
    assert [message["tool_call_id"] for message in results] == ["c0", "c1", "c2", "c3"]
    assert [message["content"] for message in results[:2]] == ["same", "same"]
    assert all(message["content"].startswith("this call was already") for message in results[2:])


def test_the_model_cannot_reach_hidden_parameters(agent):
    """C6: through the official strategy it can override them."""
    search = tool(
        "search",
        parameter("query", required=True),
        parameter("api_base", form="form", required=True),
        parameter("limit", "number", form="form", default=5, required=True),
        runtime_parameters={"api_base": "https://safe.example"},
    )
    agent.dify.model = [
        [chunk(calls=[call("search", '{"query": "x", "api_base": "https://evil.example"}')])],
        [chunk(calls=[call("search", '{"query": "x"}', id_="c2")])],
        [chunk("Done.")],
    ]
    agent.dify.tools["search"] = [text_message("ok")]
    agent.run(tools=[search])
    shown = agent.dify.model_requests[0]["tools"][0]["parameters"]["properties"]
    assert list(shown) == ["query"]
    values = {"api_base": "https://safe.example", "query": "x", "limit": 5}
    assert [request["tool_parameters"] for request in agent.dify.tool_requests] == [values, values]


def test_the_chosen_credentials_are_passed_on(agent):
    """C13: the official strategy forgets them."""
    run_call(agent, "{}", {**ECHO, "credential_id": "cred-1", "provider_type": "api"})
    [request] = agent.dify.tool_requests
    assert (request["tool_type"], request["credential_id"]) == ("api", "cred-1")


def test_tools_of_the_same_name_are_both_usable(agent):
    """C12: in the official strategy the last one wins."""
    first = tool("search", provider="a/b/google")
    second = tool("search", provider="c/d/bing")
    agent.dify.model = [
        [chunk(calls=[call("google_search"), call("bing_search", id_="c2")])],
        [chunk("Done.")],
    ]
    agent.dify.tools["search"] = [text_message("ok")]
    agent.run(tools=[first, second])
    providers = sorted(request["provider"] for request in agent.dify.tool_requests)
    assert providers == ["a/b/google", "c/d/bing"]


def test_a_tool_that_cannot_be_read_is_left_out_with_a_warning(agent):
    stale = tool("stale", {"name": "p", "type": "string", "form": "nonsense"})
    odd = {**tool("odd"), "provider_type": "nonsense"}
    agent.dify.model = [[chunk("Done.")]]
    transcript = agent.run(tools=[stale, odd, None, {"identity": {"name": "half"}}, ECHO])
    offered, _ = agent.dify.model_requests[0]["tools"]  # the other is `read_result`
    assert offered["name"] == "echo"
    left_out = transcript.logs["Tools left out"]["data"]["left_out"]
    assert [line.split(":")[0] for line in left_out] == [
        "stale",
        "odd",
        "a tool without a name",
        "half",
    ]


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"parameters": {"text": {}}}, "parameter name must be"),
        ({"parameters": [{**parameter("p"), "type": 5}]}, "parameter type must be"),
        ({"parameters": [{**parameter("p"), "input_schema": "{}"}]}, "parameter input_schema must"),
        ({"runtime_parameters": ["text"]}, "runtime_parameters must be values by name"),
        ({"description": "Does it."}, "description must be an object with a text"),
        ({"identity": {"name": "odd"}}, "KeyError"),
    ],
)
def test_a_malformed_declaration_costs_its_own_tool_alone(agent, changed, problem):
    agent.dify.model = [[chunk("Done.")]]
    transcript = agent.run(tools=[{**tool("odd"), **changed}, ECHO])
    offered = [tool["name"] for tool in agent.dify.model_requests[0]["tools"]]
    assert offered == ["echo", "read_result"]
    [line] = transcript.logs["Tools left out"]["data"]["left_out"]
    assert line.startswith("odd: ")
    assert problem in line
    assert "\n" not in line
    assert transcript.text == "Done."


def test_a_bare_declaration_is_enough(agent):
    bare = {"identity": {"name": "now", "provider": "someone"}}
    agent.dify.model = [[chunk(calls=[call("now", "")])], [chunk("Done.")]]
    agent.dify.tools["now"] = [text_message("noon")]
    agent.run(tools=[bare])
    offered, _ = agent.dify.model_requests[0]["tools"]  # the other is `read_result`
    assert offered["parameters"] == {"type": "object", "properties": {}, "required": []}
    assert agent.dify.tool_requests[0]["tool_parameters"] == {}


def test_one_parameter_of_an_unknown_type_does_not_spoil_the_request(agent):
    agent.dify.model = [[chunk(calls=[call("odd", '{"p": "x"}')])], [chunk("Done.")]]
    agent.dify.tools["odd"] = [text_message("ok")]
    agent.run(tools=[tool("odd", parameter("p", "a type of tomorrow"))])
    offered, _ = agent.dify.model_requests[0]["tools"]  # the other is `read_result`
    assert offered["parameters"]["properties"]["p"]["type"] == "string"
    assert agent.dify.tool_requests[0]["tool_parameters"] == {"p": "x"}


def test_no_bytes_and_no_repr_reach_the_model(agent):
    """C11: the official strategy puts the repr of such messages into the prompt."""
    log = {"type": "log", "message": {"id": "1", "label": "l", "status": "success", "data": {}}}
    resources = {
        "type": "retriever_resources",
        "message": {"retriever_resources": [{"content": "fact"}], "context": ""},
    }
    json_message = {"type": "json", "message": {"json_object": {"a": "ä"}}}
    link = {"type": "link", "message": {"text": "https://example.org"}}
    messages = [log, resources, text_message(" text "), json_message, link]
    _, observation = run_call(agent, "{}", messages=messages)
    assert observation == (
        'fact text tool response: {"a": "ä"}.'
        "result link: https://example.org. please tell user to check it."
    )


def test_an_image_is_passed_on_once(agent):
    image = {
        "type": "image_link",
        "message": {"text": "/files/tools/a.png?sign=x"},
        "meta": {"tool_file_id": "a", "mime_type": "image/png"},
    }
    transcript, observation = run_call(agent, "{}", messages=[image])
    assert transcript.of("image_link") == [image]
    assert transcript.of("blob") == []
    assert observation == (
        "image generated and sent to user. Tell user to review it now.\n"
        "[image omitted: its link has no address: FILES_URL is not set in Dify]"
    )


def test_a_file_outside_the_folder_is_not_read(agent):
    """C5: the official strategy reads it, whatever its size, and shows it as an image."""
    image = {"type": "image", "message": {"text": "/files/../etc/hostname"}}
    transcript, observation = run_call(agent, "{}", messages=[image])
    assert observation == "Failed to process generated image file."
    assert "Failed to process generated image file." in transcript.text
    assert transcript.of("blob") == transcript.of("image") == []


@pytest.mark.parametrize("size", [3, 9_000, 6 * 1024 * 1024])
def test_a_file_of_any_size_passes_whole(agent, size):
    """A line of over 5 MiB would kill the plugin, so it must have left in pieces."""
    data = bytes(range(256)) * (size // 256 + 1)
    data = data[:size]
    pieces = [data[start : start + 8192] for start in range(0, size, 8192)]
    messages = [
        {
            "type": "blob_chunk",
            "message": {
                "id": "f",
                "sequence": sequence,
                "total_length": size,
                "blob": base64.b64encode(piece).decode(),
                "end": sequence == len(pieces),
            },
            "meta": {"mime_type": "application/zip"},
        }
        for sequence, piece in enumerate([*pieces, b""])
    ]
    transcript, observation = run_call(agent, "{}", messages=messages)
    [blob] = transcript.of("blob")
    assert base64.b64decode(blob["message"]["blob"]) == data
    assert blob["meta"] == {"mime_type": "application/zip"}
    assert observation == "Generated file ... "


def test_a_whole_file_passes_too(agent):
    blob = {"type": "blob", "message": {"blob": base64.b64encode(b"abc").decode()}, "meta": None}
    transcript, _ = run_call(agent, "{}", messages=[blob])
    assert base64.b64decode(transcript.of("blob")[0]["message"]["blob"]) == b"abc"


def test_a_file_whose_pieces_do_not_add_up_is_a_failure(agent):
    piece = {"id": "f", "sequence": 0, "total_length": 9, "blob": "YWJj", "end": False}
    message = {"type": "blob_chunk", "message": piece}
    _, observation = run_call(agent, "{}", messages=[message])
    assert observation == "tool invoke error: failed to execute tool"


def test_a_linked_file_is_passed_on_and_a_plain_link_is_not(agent):
    plain = {"type": "link", "message": {"text": "https://example.org"}, "meta": None}
    linked = {"type": "link", "message": {"text": "/f/a.pdf"}, "meta": {"tool_file_id": "a"}}
    transcript, _ = run_call(agent, "{}", messages=[plain, linked])
    assert transcript.of("link") == [linked]


def test_a_result_that_was_cut_is_read_on_without_calling_the_tool_again(agent):
    text = "".join(f"line {number}\n" for number in range(50_000))
    asked = [{"id": "r1", "offset": 200_000}, {"id": "r1", "pattern": "line 4[0-9]999\\b"}]
    calls = [
        call("read_result", json.dumps(arguments), id_=f"c{n}") for n, arguments in enumerate(asked)
    ]
    agent.dify.model = [
        [chunk(calls=[call("echo", "{}", id_="c9")])],
        [chunk(calls=calls)],
        [chunk("Done.")],
    ]
    agent.dify.tools["echo"] = [text_message(text)]
    agent.run(tools=[ECHO])
    page, found = [
        message["content"] for message in agent.dify.model_requests[2]["prompt_messages"][-2:]
    ]
    assert page.startswith(text[200_000:250_000])
    assert found.count("line 4") > found.count("offset ") == 10
    assert len(agent.dify.tool_requests) == 1
    offered = [request["tools"] for request in agent.dify.model_requests]
    assert offered[0] == offered[1] == offered[2]
