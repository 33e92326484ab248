import threading
import time
from contextlib import suppress

import httpx
import pytest
from openai import APIError, NotFoundError, OpenAI

from gpt5_simulator import FunctionCall, OutputItem, ResponsesSimulator, ScriptedModel, Text


KEY = {"authorization": "Bearer sk-test"}
STORY = ScriptedModel([[Text(text="Once upon a time there was a simulator.")]], repeat=True)
FOUND = {"type": "search", "query": "q", "sources": [{"type": "url", "url": "https://a.example"}]}


class Clock:
    """A clock that a test moves."""

    def __init__(self):
        self.now = 1_000_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def slow(clock):
    """A simulator whose background responses take 100 seconds of the clock that a test moves."""
    with ResponsesSimulator(model=STORY, background_seconds=100, clock=clock) as simulator:
        yield simulator


@pytest.fixture(scope="module")
def call():
    """Send a request to a simulator."""
    with httpx.Client(timeout=120, headers=KEY) as client:

        def send(method, simulator, path, **more):
            return client.request(method, f"{simulator.base_url}/responses{path}", **more)

        yield send


def client_of(simulator):
    return OpenAI(base_url=simulator.base_url, api_key="sk-test", max_retries=0)


def test_a_background_response_is_queued_then_in_progress_then_completed(slow, clock, ask, call):
    made = ask(slow, background=True).json()
    assert (made["status"], made["output"], made["usage"]) == ("queued", [], None)
    assert made["background"] is True

    def status():
        return call("GET", slow, f"/{made['id']}").json()["status"]

    seen = [status()]
    for _ in range(4):
        clock.now += 25
        seen.append(status())
    assert seen == ["queued", "in_progress", "in_progress", "in_progress", "completed"]
    done = call("GET", slow, f"/{made['id']}").json()
    assert "simulator" in done["output"][0]["content"][0]["text"]
    assert done["usage"]["output_tokens"] > 0


def test_without_a_time_it_is_done_at_the_first_look(server, ask, call):
    made = ask(server, background=True).json()
    assert made["status"] == "queued"
    assert call("GET", server, f"/{made['id']}").json()["status"] == "completed"


def test_a_background_response_can_fail(ask, call, events_of):
    with ResponsesSimulator(model=ScriptedModel([])) as simulator:
        made = ask(simulator, background=True).json()
        found = call("GET", simulator, f"/{made['id']}").json()
        events = events_of(ask(simulator, background=True, stream=True))
        plain = ask(simulator)
    assert made["status"] == "queued"
    assert found["status"] == "failed"
    assert found["error"] == {"code": "server_error", "message": "The script has no more turns."}
    assert events[-1]["type"] == "response.failed"
    assert plain.status_code == 500


def test_a_background_stream_begins_as_recorded(server, ask, events_of):
    events = events_of(ask(server, background=True, stream=True))
    assert [event["type"] for event in events[:3]] == [
        "response.created",
        "response.queued",
        "response.in_progress",
    ]
    statuses = [event["response"]["status"] for event in events[:3]]
    assert statuses == ["queued", "queued", "in_progress"]
    assert events[-1]["response"]["status"] == "completed"
    assert [event["sequence_number"] for event in events] == list(range(len(events)))


def test_a_stream_is_resumed_after_any_event(server, ask, call, events_of):
    body = {"background": True, "stream": True, "stream_options": {"include_obfuscation": False}}
    events = events_of(ask(server, body))
    path = f"/{events[0]['response']['id']}"
    for after in (-1, 0, 1, 5, len(events) - 2, len(events) - 1, 999):
        query = {"stream": "true", "include_obfuscation": "false"}
        query |= {} if after < 0 else {"starting_after": after}
        resumed = events_of(call("GET", server, path, params=query))
        assert resumed == events[after + 1 :]


def test_a_resumed_stream_waits_for_what_is_still_made(slow, clock):
    started = threading.Event()
    streams = []

    def create():
        with httpx.Client(headers=KEY, timeout=120) as client:
            body = {"model": "gpt-5", "input": "Hi", "background": True, "stream": True}
            with client.stream("POST", f"{slow.base_url}/responses", json=body) as response:
                lines = b""
                for chunk in response.iter_raw():
                    lines += chunk
                    if b"response.queued" in lines:
                        started.set()
                streams.append(lines)

    thread = threading.Thread(target=create)
    thread.start()
    assert started.wait(120)
    time.sleep(0.05)
    clock.now += 101
    thread.join(120)
    assert b"response.completed" in streams[0]
    assert streams[0].count(b"event: response.queued") == 1


def test_a_response_is_cancelled(slow, clock, ask, call):
    made = ask(slow, background=True).json()
    clock.now += 50
    first = call("POST", slow, f"/{made['id']}/cancel")
    clock.now += 100
    again = call("POST", slow, f"/{made['id']}/cancel")
    assert (first.status_code, first.json()["status"]) == (200, "cancelled")
    assert again.json() == first.json() == call("GET", slow, f"/{made['id']}").json()


def test_background_responses_are_counted_by_what_became_of_them(slow, clock, ask, call):
    made = [ask(slow, background=True).json() for _ in range(3)]
    clock.now += 50
    call("POST", slow, f"/{made[0]['id']}/cancel")
    counts = slow.background
    assert (counts.begun, counts.running, counts.done, counts.cancelled) == (3, 2, 0, 1)
    clock.now += 60
    call("DELETE", slow, f"/{made[1]['id']}")
    ask(slow)
    counts = slow.background
    assert (counts.begun, counts.running, counts.done, counts.cancelled) == (3, 0, 2, 1)


def test_what_is_done_is_not_cancelled(server, ask, call):
    made = ask(server, background=True).json()
    assert call("POST", server, f"/{made['id']}/cancel").json()["status"] == "completed"


def test_only_background_responses_are_cancelled(server, ask, call):
    refused = call("POST", server, f"/{ask(server).json()['id']}/cancel")
    assert refused.status_code == 400
    assert refused.json()["error"]["message"] == "Cannot cancel a synchronous response."


def test_a_cancelled_stream_ends_without_a_last_event(slow, clock, call, events_of):
    with httpx.Client(headers=KEY, timeout=120) as client:
        body = {"model": "gpt-5", "input": "Hi", "background": True, "stream": True}
        with client.stream("POST", f"{slow.base_url}/responses", json=body) as response:
            chunks = response.iter_raw()
            begin = next(chunks)
            made = begin.decode().split('"id":"')[1].partition('"')[0]
            clock.now += 60
            while b"output_text.delta" not in begin:
                begin += next(chunks)
            call("POST", slow, f"/{made}/cancel")
            rest = b"".join(chunks)
    assert b"response.completed" not in begin + rest
    clock.now += 100
    resumed = events_of(call("GET", slow, f"/{made}", params={"stream": "true"}))
    kinds = [event["type"] for event in resumed]
    assert "response.output_text.delta" in kinds
    assert "response.completed" not in kinds


@pytest.mark.parametrize(
    ("body", "query", "refusal"),
    [
        (
            {"background": True, "stream": True},
            {"stream": "true"},
            (301, "more than 5 minutes old"),
        ),
        ({"background": True}, {"stream": "true"}, (0, "not created with")),
        ({}, {"stream": "true"}, (0, "not created with")),
        ({}, {"stream": "maybe"}, (0, "Supported values are: 'true' and 'false'")),
        (
            {"background": True, "stream": True},
            {"stream": "true", "starting_after": "x"},
            (0, "expected an integer"),
        ),
        (
            {"background": True, "stream": True},
            {"stream": "true", "starting_after": "-1"},
            (0, "Expected a value >= 0"),
        ),
        ({}, {"include[]": "everything"}, (0, "Invalid value: 'everything'")),
        (
            {"background": True},
            {"include": "reasoning.encrypted_content"},
            (0, "Encrypted content cannot be requested for persisted responses"),
        ),
    ],
)
def test_what_cannot_be_retrieved_is_refused(ask, call, body, query, refusal):
    wait, part = refusal
    clock = Clock()
    with ResponsesSimulator(clock=clock) as simulator:
        made = ask(simulator, body)
        found = made.text.split('"id":"')[1].partition('"')[0]
        clock.now += wait
        refused = call("GET", simulator, f"/{found}", params=query)
    assert refused.status_code == 400
    assert part in refused.json()["error"]["message"]


def test_a_background_response_without_a_store_is_kept_for_ten_minutes(ask, call):
    clock = Clock()
    with ResponsesSimulator(clock=clock) as simulator:
        made = ask(simulator, background=True, store=False).json()
        clock.now += 599
        seen = call("GET", simulator, f"/{made['id']}")
        clock.now += 2
        gone = call("GET", simulator, f"/{made['id']}")
        built_on = ask(simulator, previous_response_id=made["id"])
    assert (seen.status_code, gone.status_code) == (200, 404)
    assert built_on.json()["error"]["code"] == "previous_response_not_found"


def test_details_are_kept_for_whoever_includes_them_later(ask, call):
    search = OutputItem(item={"type": "web_search_call", "action": FOUND})
    include = "web_search_call.action.sources"
    with ResponsesSimulator(model=ScriptedModel([[search]])) as simulator:
        made = ask(simulator, include=[include]).json()
        bare = call("GET", simulator, f"/{made['id']}").json()
        full = call("GET", simulator, f"/{made['id']}", params={"include[]": include}).json()
    assert full == made != bare
    assert "sources" not in str(bare["output"])


def test_encrypted_reasoning_is_shown_only_once(server, ask, call):
    made = ask(server, include=["reasoning.encrypted_content"]).json()
    found = call("GET", server, f"/{made['id']}").json()
    assert "encrypted_content" in made["output"][0]
    assert "encrypted_content" not in found["output"][0]


def test_a_deleted_response_is_gone(server, ask, call):
    made = ask(server).json()["id"]
    answer = {"id": made, "object": "response.deleted", "deleted": True}
    assert call("DELETE", server, f"/{made}").json() == answer
    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/cancel"), ("GET", "/input_items")):
        refused = call(method, server, f"/{made}{path}")
        assert refused.status_code == 404
        assert refused.json()["error"]["message"] == f"Response with id '{made}' not found."
    assert ask(server, previous_response_id=made).status_code == 400


def test_nobody_deletes_the_response_of_another(server, ask, call):
    made = ask(server).json()["id"]
    other = {"authorization": "Bearer sk-other"}
    assert call("DELETE", server, f"/{made}", headers=other).status_code == 404
    assert call("GET", server, f"/{made}").status_code == 200


def test_input_items_come_in_pages(server, ask, call):
    items = [{"role": "user", "content": f"Question {number}"} for number in range(5)]
    made = ask(server, input=items).json()["id"]

    def page(**query):
        return call("GET", server, f"/{made}/input_items", params=query).json()

    whole = page(order="asc")
    assert [item["content"][0]["text"] for item in whole["data"]] == [
        f"Question {number}" for number in range(5)
    ]
    assert whole["object"] == "list"
    assert whole["data"][0]["content"][0]["type"] == "input_text"
    first = page(limit=2)
    assert first["data"] == whole["data"][:2:-1]
    assert first["has_more"] is True
    assert (first["first_id"], first["last_id"]) == (
        first["data"][0]["id"],
        first["data"][1]["id"],
    )
    rest = page(after=first["last_id"])
    assert rest["data"] == whole["data"][2::-1]
    assert rest["has_more"] is False
    empty = page(after=rest["last_id"])
    assert (empty["data"], empty["first_id"], empty["last_id"]) == ([], None, None)


def test_input_items_of_every_kind_are_listed(server, ask, call, clock_tool):
    question = {"role": "user", "content": [{"type": "input_text", "text": "The time in UTC?"}]}
    call_item = {"type": "function_call", "call_id": "c", "name": "clock", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c", "output": "noon"}
    said = {"role": "assistant", "content": "Hello"}
    made = ask(server, input=[said, question, call_item, output], tools=[clock_tool]).json()["id"]
    data = call("GET", server, f"/{made}/input_items", params={"order": "asc"}).json()["data"]
    assert [item["type"] for item in data] == [
        "message",
        "message",
        "function_call",
        "function_call_output",
    ]
    assert data[0]["content"] == [{"type": "output_text", "text": "Hello"}]
    assert all(item["id"] for item in data)


@pytest.fixture
def clock_tool(function_tool):
    return function_tool("clock", "Tell the time.", timezone={"type": "string"})


@pytest.mark.parametrize(
    ("query", "status"),
    [({"limit": 0}, 400), ({"limit": 101}, 400), ({"order": "up"}, 400), ({"after": "x"}, 404)],
)
def test_pages_that_do_not_exist_are_refused(server, ask, call, query, status):
    made = ask(server).json()["id"]
    refused = call("GET", server, f"/{made}/input_items", params=query)
    assert refused.status_code == status
    assert [refused.json()["error"]["param"]] == list(query)


def test_tokens_are_counted_as_they_are_billed(server, ask, call):
    tools = [{"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}]
    body = {"model": "gpt-5.2", "instructions": "Be kind", "input": "Hello", "tools": tools}
    counted = call("POST", server, "/input_tokens", json=body).json()
    assert counted["object"] == "response.input_tokens"
    assert counted["input_tokens"] == ask(server, body).json()["usage"]["input_tokens"]
    made = ask(server, body).json()["id"]
    more = call("POST", server, "/input_tokens", json={"input": "x", "previous_response_id": made})
    assert more.json()["input_tokens"] > 1


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        ("/input_tokens", {"model": "gpt-5", "input": "x", "stream": True}, "stream"),
        ("/input_tokens", {"model": "gpt-5"}, "input"),
        ("/compact", {"input": "x"}, "model"),
        ("/compact", {"model": "gpt-5", "input": "x", "tools": []}, "tools"),
        ("/compact", {"model": "gpt-5"}, "input"),
    ],
)
def test_calls_take_their_own_parameters_only(server, call, path, body, param):
    refused = call("POST", server, path, json=body)
    assert refused.status_code == 400
    assert refused.json()["error"]["param"] == param


def test_a_conversation_is_compacted(server, ask, call):
    items = [
        {"role": "user", "content": "First question"},
        {"role": "assistant", "content": "A long answer. " * 200},
        {"role": "user", "content": "Second question"},
    ]
    short = call("POST", server, "/compact", json={"model": "gpt-5.2", "input": items}).json()
    assert short["object"] == "response.compaction"
    assert [item["type"] for item in short["output"]] == ["message", "message", "compaction"]
    assert short["output"][0]["content"] == [{"type": "input_text", "text": "First question"}]
    assert short["usage"]["input_tokens"] > short["usage"]["output_tokens"] > 0
    more = [*short["output"], {"role": "user", "content": "Third question"}]
    answer = ask(server, model="gpt-5.2", input=more)
    assert "Third question" in answer.text
    assert answer.json()["usage"]["input_tokens"] < short["usage"]["input_tokens"]


def test_a_compacted_window_goes_on_whole_or_is_refused(server, ask, call):
    items = [
        {"role": "user", "content": [{"type": "input_text", "text": "First question"}]},
        {"role": "assistant", "content": "An answer"},
        {"role": "user", "content": "Second question"},
    ]
    window = call("POST", server, "/compact", json={"model": "gpt-5.2", "input": items}).json()
    more, system = {"role": "user", "content": "Third"}, {"role": "system", "content": "Be kind."}
    for pruned in (window["output"][1:], window["output"][2:]):
        refused = ask(server, model="gpt-5.2", input=[*pruned, more])
        assert refused.status_code == 400
        assert "as it came, with the 2 messages" in refused.json()["error"]["message"]
    assert ask(server, model="gpt-5.2", input=[system, *window["output"], more]).status_code == 200


def test_a_threshold_has_a_minimum(ask, server):
    rule = [{"type": "compaction", "compact_threshold": 999}]
    refused = ask(server, input="x", context_management=rule)
    assert refused.json()["error"]["param"] == "context_management[0].compact_threshold"
    assert ask(server, input="x", context_management=[{"type": "compaction"}]).status_code == 200


def test_a_compaction_of_another_is_refused(server, ask, call):
    body = {"model": "gpt-5.2", "input": "Hi"}
    other = {"authorization": "Bearer sk-other"}
    item = call("POST", server, "/compact", json=body, headers=other).json()["output"][-1]
    refused = ask(server, input=[item, {"role": "user", "content": "Go on"}])
    assert refused.json()["error"]["code"] == "invalid_encrypted_content"


def test_a_stored_conversation_is_compacted(server, ask, call):
    made = ask(server, input="First question").json()["id"]
    body = {"model": "gpt-5", "previous_response_id": made}
    output = call("POST", server, "/compact", json=body).json()["output"]
    assert [item["type"] for item in output] == ["message", "compaction"]


def test_a_long_conversation_compacts_itself(server, ask, events_of):
    rule = [{"type": "compaction", "compact_threshold": 1000}]
    long = [
        {"role": "user", "content": "word " * 1000},
        {"role": "assistant", "content": "Yes"},
        {"role": "user", "content": "Go on"},
    ]
    body = {"model": "gpt-5.2", "context_management": rule}
    short = ask(server, body, input="Hi").json()
    first = ask(server, body, input=long).json()
    assert [item["type"] for item in short["output"]] == ["message"]
    assert [item["type"] for item in first["output"]] == ["message", "compaction"]
    then = ask(server, body, input="And now?", previous_response_id=first["id"]).json()
    assert then["usage"]["input_tokens"] < first["usage"]["input_tokens"] / 4
    asked = [*long[:1], {"type": "compaction_trigger"}]
    events = events_of(ask(server, model="gpt-5.2", input=asked, stream=True))
    added = [event["item"] for event in events if event["type"].endswith("item.added")]
    assert added[-1]["type"] == "compaction"
    final = events[-1]["response"]["output"][-1]
    assert final["encrypted_content"] != added[-1]["encrypted_content"]


def test_a_request_asks_for_its_own_fault_in_every_call(server, ask, call, events_of):
    made = ask(server, background=True, stream=True)
    path = f"/{events_of(made)[0]['response']['id']}"
    wrong = call("GET", server, path, headers={"x-simulator-fault": "overloaded"})
    assert wrong.status_code == 503
    cut = {"x-simulator-fault": "cut;after_events=4"}
    with pytest.raises(httpx.RemoteProtocolError):
        call("GET", server, path, params={"stream": "true"}, headers=cut)
    nonsense = call("GET", server, path, headers={"x-simulator-fault": "nonsense"})
    assert nonsense.status_code == 400


def test_a_cut_background_stream_goes_on_where_it_was(call, events_of):
    with ResponsesSimulator(model=STORY) as simulator:
        body = {"background": True, "stream": True}
        header = {"x-simulator-fault": "cut;after_events=6"}
        url = f"{simulator.base_url}/responses"
        seen = b""
        request = {"model": "gpt-5", "input": "Hi"} | body
        with (
            httpx.stream("POST", url, json=request, headers=KEY | header) as response,
            suppress(httpx.RemoteProtocolError),
        ):
            for chunk in response.iter_raw():
                seen += chunk
        found = seen.decode().split('"id":"')[1].partition('"')[0]
        query = {"stream": "true", "starting_after": seen.count(b"event: ") - 1}
        rest = events_of(call("GET", simulator, f"/{found}", params=query))
    assert rest[0]["sequence_number"] == seen.count(b"event: ") == 6
    assert rest[-1]["type"] == "response.completed"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/conversations"),
        ("GET", "/v1/files"),
        ("GET", "/v1/containers/c/files/f/content"),
        ("POST", "/v1/images/generations"),
    ],
)
def test_what_is_absent_is_a_clear_404(server, method, path):
    url = server.base_url.removesuffix("/v1")
    refused = httpx.request(method, f"{url}{path}", headers=KEY)
    assert refused.status_code == 404
    assert refused.json()["error"]["message"] == f"Invalid URL ({method} {path})"


def test_the_official_client_makes_every_call(slow, clock):
    with client_of(slow) as client:
        made = client.responses.create(model="gpt-5", input="Hi", background=True)
        assert client.responses.retrieve(made.id).status == "queued"
        clock.now += 101
        done = client.responses.retrieve(made.id)
        assert (done.status, done.output_text[:4]) == ("completed", "Once")
        items = list(client.responses.input_items.list(made.id, limit=1))
        assert [item.type for item in items] == ["message"]
        counted = client.responses.input_tokens.count(model="gpt-5", input="Hi")
        assert counted.input_tokens == done.usage.input_tokens
        window = client.responses.compact(model="gpt-5", input="Hi", previous_response_id=made.id)
        assert window.output[-1].type == "compaction"
        other = client.responses.create(model="gpt-5", input="Hi", background=True)
        assert client.responses.cancel(other.id).status == "cancelled"
        client.responses.delete(made.id)
        with pytest.raises(NotFoundError):
            client.responses.retrieve(made.id)
        with pytest.raises(APIError, match="synchronous"):
            client.responses.cancel(client.responses.create(model="gpt-5", input="Hi").id)


def test_the_official_client_resumes_a_stream(server):
    with client_of(server) as client:
        stream = client.responses.create(model="gpt-5", input="Hi", background=True, stream=True)
        first = [event for event, _ in zip(stream, range(5), strict=False)]
        found = first[0].response.id
        after = first[-1].sequence_number
        rest = list(client.responses.retrieve(found, stream=True, starting_after=after))
        numbers = [event.sequence_number for event in (*first, *rest)]
        assert numbers == list(range(len(numbers)))
        with client.responses.stream(response_id=found, starting_after=after) as again:
            final = again.get_final_response()
    assert final.output_text == rest[-1].response.output_text


def test_references_stand_for_stored_items(ask):
    turn = [FunctionCall(name="f", arguments={}, call_id="call_1")]
    script = ScriptedModel([turn, *([Text(text=text)] for text in ("Done", "Again", "Other"))])
    with ResponsesSimulator(model=script) as simulator:
        call_item = ask(simulator).json()["output"][0]
        answer = {"type": "function_call_output", "call_id": "call_1", "output": "x"}
        items = [{"type": "item_reference", "id": call_item["id"]}, answer]
        done = ask(simulator, input=items)
        bare = ask(simulator, input=[{"id": call_item["id"]}, answer])
        ask(simulator, key="sk-other")
        lost = ask(simulator, input=[{"type": "item_reference", "id": "fc_none"}])
    assert done.json()["output"][0]["content"][0]["text"] == "Done"
    assert bare.json()["output"][0]["content"][0]["text"] == "Again"
    assert lost.status_code == 404
    assert "Items are not persisted" in lost.json()["error"]["message"]


def test_a_picture_is_replayed_by_its_id_if_it_is_stored(ask):
    picture = OutputItem(item={"type": "image_generation_call", "result": "aGk="})
    question = {"role": "user", "content": "Bigger"}
    with ResponsesSimulator(model=ScriptedModel([[picture]], repeat=True)) as simulator:
        [item] = ask(simulator).json()["output"]
        bare = {"type": item["type"], "id": item["id"]}
        for replayed in (bare, item):
            assert ask(simulator, input=[replayed, question]).status_code == 200
        [gone] = ask(simulator, store=False).json()["output"]
        for unknown in ("ig_none", gone["id"]):
            refused = ask(simulator, input=[bare | {"id": unknown}, question])
            assert refused.status_code == 404
