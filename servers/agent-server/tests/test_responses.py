import asyncio

import pytest
from agents import PATIENCE
from talking import (
    Talker,
    created,
    events_of,
    post,
    say,
    talking,
    use,
)
from web import asked, executor, until

from agent_server.executor import InputRequest, RunResult, Waiting, WaitingCall


_MINE = [{"type": "function", "name": "mine", "parameters": {"type": "object"}}]


def error_of(answer, status=400):
    """Return the field and the code that an error in the API's shape names."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    error = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["message"]
    return error["param"], error["code"]


def texts(response):
    """Return the texts of a response's messages."""
    items = [one for one in response["output"] if one["type"] == "message"]
    return [part["text"] for one in items for part in one["content"]]


async def got(client, response_id, is_so):
    """Return once a response is so."""
    async with asyncio.timeout(PATIENCE):
        while not is_so((await client.get(f"/v1/responses/{response_id}")).json()):  # noqa: ASYNC110 - over HTTP
            await asyncio.sleep(0.01)


def kinds(response):
    return [one["type"] for one in response["output"]]


def answers(response, output="7", *, approve=True):
    """Return the answers to what the agent `ask` waits for."""
    call, request = response["output"][-2:]
    return [
        {"type": "function_call_output", "call_id": call["call_id"], "output": output},
        {
            "type": "mcp_approval_response",
            "approval_request_id": request["id"],
            "approve": approve,
            "reason": "why",
        },
    ]


async def test_a_model_is_an_agent_and_a_response_has_what_it_put_out(tmp_path):
    async with talking(tmp_path) as (client, _):
        response = await created(
            client, input="hi", instructions="Be brief.", metadata={"a": "b"}, temperature=2
        )

        assert kinds(response) == ["reasoning", "message"]
        assert texts(response) == ["You said hi."]
        assert response["status"] == "completed"
        assert response["instructions"] == "Be brief."
        assert response["metadata"] == {"a": "b"}
        assert response["usage"]["total_tokens"] == 8
        assert response["usage"]["input_tokens_details"]["cached_tokens"] == 2
        got = await client.get(f"/v1/responses/{response['id']}?include[]=x&include=y")
        assert got.json() == response


async def test_a_response_has_every_member_that_the_schema_of_open_responses_requires(tmp_path):
    """Source: openresponses/openresponses at 92c12d9, `src/generated/kubb/zod/responseResourceSchema.ts`; found by its compliance tests."""
    async with talking(tmp_path) as (client, _):
        response = await created(client, input="hi", temperature=2)

    numbers = ("temperature", "top_p", "presence_penalty", "frequency_penalty", "top_logprobs")
    assert [response[name] for name in numbers] == [1, 1, 0, 0, 0]
    assert response["service_tier"] == "default"
    unset = ("max_output_tokens", "max_tool_calls", "safety_identifier", "prompt_cache_key")
    assert [response[name] for name in unset] == [None] * 4


async def test_a_limit_is_a_hint_that_every_response_of_the_run_tells(tmp_path):
    async with talking(tmp_path) as (client, _):
        first = await created(client, "ask", max_output_tokens=100)
        again = await created(
            client, "ask", answers(first), previous_response_id=first["id"], max_output_tokens=100
        )

    assert [one["max_output_tokens"] for one in (first, again)] == [100, 100]


async def test_a_message_begins_without_the_line_break_that_parts_it_from_another(tmp_path):
    async def ask(run):
        await say(run, "Let me see.")
        await use(run, "a1")
        await say(run, "\nIt is", "\n7.", round_=2)
        await use(run, "a2")
        await say(run, "\n", round_=3)
        return RunResult(status="succeeded", output="7")

    async with talking(tmp_path, Talker(ask=ask)) as (client, _):
        response = await created(client, "ask", input="hi")

    assert kinds(response) == ["message", "mcp_call", "message", "mcp_call", "message"]
    assert texts(response) == ["Let me see.", "It is\n7.", "7"]


async def test_a_response_goes_on_with_a_conversation(tmp_path):
    async def recall(run):
        return RunResult(status="succeeded", output=run.request["history"])

    async with talking(tmp_path, Talker(recall=recall)) as (client, _):
        first = await created(client, input="one")
        second = await created(client, input="two", previous_response_id=first["id"])

        assert second["id"] != first["id"]
        assert second["previous_response_id"] == first["id"]
        third = await client.get(f"/v1/runs/{_run_id(second)}")
        assert third.json()["output"] == "You said two."


def _run_id(response):
    text = response["id"].split("_")[1]
    return "-".join([text[:8], text[8:12], text[12:16], text[16:20], text[20:]])


async def test_an_answer_that_no_model_told_is_a_message(tmp_path):
    async def give(run):
        await use(run, "call_1")
        return RunResult(status="succeeded", output={"a": 1})

    async def blank(_run):
        return RunResult(status="succeeded", output="")

    async with talking(tmp_path, Talker(give=give, blank=blank)) as (client, _):
        response = await created(client, "give")

        assert kinds(response) == ["mcp_call", "message"]
        assert texts(response) == ['{"a": 1}']
        assert texts(await created(client, "blank")) == [""]


async def test_calls_of_the_agents_own_tools_are_those_of_a_server(tmp_path):
    async def work(run):
        await say(run, "I look.")
        await use(run, "call_1")
        await use(run, "call_2", output=None, error="It is gone.")
        await say(run, "hidden", path=("call_3",), round_=1)
        await say(run, "Done.", round_=2)
        return RunResult(status="succeeded", output="Done.")

    async with talking(tmp_path, Talker(work=work)) as (client, _):
        response = await created(client, "work")

        assert kinds(response) == ["message", "mcp_call", "mcp_call", "message"]
        good, bad = response["output"][1:3]
        assert (good["server_label"], good["output"], good["error"]) == ("work", "found", None)
        assert (bad["status"], bad["output"]) == ("failed", None)
        assert bad["error"]["content"] == [{"type": "text", "text": "It is gone."}]
        # What an agent used that was called as a tool counts as well.
        assert response["usage"]["total_tokens"] == 24


async def test_a_run_waits_and_goes_on_as_another_response(tmp_path):
    async with talking(tmp_path) as (client, _):
        first = await created(client, "ask", tools=_MINE)
        assert first["status"] == "completed"
        assert kinds(first) == ["reasoning", "function_call", "mcp_approval_request"]
        assert first["output"][2]["server_label"] == "files"
        assert first["tools"][0]["name"] == "mine"

        second = await created(
            client, "ask", answers(first), previous_response_id=first["id"], tools=_MINE
        )

        assert kinds(second) == ["mcp_call", "message"]
        assert texts(second) == ["It is 7."]
        assert second["output"][0]["approval_request_id"] == first["output"][2]["id"]
        assert second["previous_response_id"] == first["id"]
        assert _run_id(second) == _run_id(first)
        assert (await client.get(f"/v1/responses/{first['id']}")).json() == first
        # A client that did not get the answer asks again, and one that asks something else is told so.
        again = await created(client, "ask", answers(first), previous_response_id=first["id"])
        assert again == second
        other = await post(client, "ask", answers(first, "8"), previous_response_id=first["id"])
        assert error_of(other, 409) == (None, None)
        third = await created(client, "greet", "and?")
        wrong = await post(client, "greet", answers(first), previous_response_id=third["id"])
        assert error_of(wrong) == ("input[0].call_id", "invalid_value")
        wrong = await post(client, "greet", answers(first)[1:], previous_response_id=third["id"])
        assert error_of(wrong) == ("input[0]", "invalid_value")


async def test_a_refused_call_is_not_made(tmp_path):
    async with talking(tmp_path) as (client, _):
        first = await created(client, "ask")
        given = answers(first, [{"type": "input_text", "text": "x"}], approve=False)
        second = await created(client, "ask", given, previous_response_id=first["id"])

        assert kinds(second) == ["message"]


async def test_what_waits_has_to_be_answered_together_and_with_nothing_else(tmp_path):
    async with talking(tmp_path) as (client, _):
        first = await created(client, "ask", tools=_MINE)
        call, request = answers(first)
        before = {"previous_response_id": first["id"]}

        half = await post(client, "ask", [call], **before)
        assert error_of(half) == ("input", "missing_answers")
        assert request["approval_request_id"] in half.json()["error"]["message"]
        none = await post(client, "ask", "hi", **before)
        assert error_of(none) == ("input[0]", "invalid_value")
        twice = await post(client, "ask", [call, request, call], **before)
        assert error_of(twice) == ("input[2]", "invalid_value")
        more = await post(client, "ask", [call, {"type": "reasoning", "summary": []}], **before)
        assert error_of(more) == ("input[1]", "invalid_value")
        for field, value in {
            "instructions": "Other.",
            "metadata": {"a": "b"},
            "store": False,
            "tools": [{"type": "function", "name": "other"}],
            "text": {"format": {"type": "json_object"}},
        }.items():
            other = await post(client, "ask", [call, request], **before, **{field: value})
            assert error_of(other)[0] == field
        other = await post(client, "greet", [call, request], **before)
        assert error_of(other) == ("model", "invalid_value")


@pytest.mark.parametrize(
    ("schema", "said", "answer"),
    [
        (None, "1", "1"),
        ('{"type": "string"}', "1", "1"),
        ('{"type": "integer"}', "1", "1"),
        ('{"type": "object"}', '{"a": 1}', '{"a": 1}'),
        ('{"type": "integer"}', "one", "one"),
    ],
)
async def test_a_question_is_a_message_that_is_answered_by_one(tmp_path, schema, said, answer):
    async with talking(tmp_path) as (client, _):
        first = await created(client, "wonder", instructions=schema)
        assert texts(first) == ["Who?"]

        nothing = await post(
            client,
            "wonder",
            [{"role": "assistant", "content": "x"}],
            previous_response_id=first["id"],
        )
        assert error_of(nothing) == ("input[0]", "invalid_value")
        second = await created(client, "wonder", said, previous_response_id=first["id"])

        assert texts(second) == [answer]
        items = await client.get(f"/v1/responses/{second['id']}/input_items")
        assert items.json()["data"][0]["content"] == [{"type": "input_text", "text": said}]


async def test_null_answers_no_question(tmp_path):
    async with talking(tmp_path, api_keys="ada:both,ada:only:start") as (client, _):
        client.headers["X-Api-Key"] = "both"
        first = await created(client, "wonder", instructions='{"type": ["integer", "null"]}')
        client.headers["X-Api-Key"] = "only"
        null = await post(client, "wonder", "null", previous_response_id=first["id"])
        assert error_of(null) == ("input[0]", "invalid_value")
        run = (await client.get(f"/v1/runs/{_run_id(first)}")).json()
        body = {"wait_id": run["waiting_for"]["wait_id"], "answer": None}
        refused = await client.post(f"/v1/runs/{_run_id(first)}/input", json=body)

    assert refused.status_code == 422
    assert refused.json()["errors"] == [{"field": "answer", "message": "expected to be present"}]


async def test_an_approval_is_that_of_one_call_though_a_later_one_has_its_id(tmp_path):
    async def work(run):
        if run.resumption is None:
            approvals = [WaitingCall(call_id="call_1", name="delete", arguments="{}")]
            return Waiting(request=InputRequest(approvals=approvals), state=b"s")
        if run.part == 1:
            for path, name in (((), "delete"), (("call_1",), "in"), ((), "look")):
                for kind in ("started", "ended"):
                    data = {"call_id": "call_1", "path": path, "name": name, "arguments": "{}"}
                    await run.tell(f"tool_{kind}", data | {"output": "found", "error": None})
            results = [WaitingCall(call_id="call_1", name="mine", arguments="{}")]
            return Waiting(request=InputRequest(results=results), state=b"s")
        await use(run, "call_1")
        return RunResult(status="succeeded", output="ok")

    async with talking(tmp_path, Talker(work=work)) as (client, _):
        first = await created(client, "work", tools=_MINE)
        approval = first["output"][-1]["id"]
        given = {"type": "mcp_approval_response", "approval_request_id": approval, "approve": True}
        second = await created(client, "work", [given], previous_response_id=first["id"])
        call_id = second["output"][-1]["call_id"]
        given = {"type": "function_call_output", "call_id": call_id, "output": "7"}
        third = await created(client, "work", [given], previous_response_id=second["id"])

    shown = [
        (one["name"], one["approval_request_id"])
        for one in [*second["output"], *third["output"]]
        if one["type"] == "mcp_call"
    ]
    assert shown == [("delete", approval), ("look", None), ("look", None)]


async def test_a_client_that_keeps_the_history_itself_goes_on_with_the_run_that_waits(tmp_path):
    async with talking(tmp_path) as (client, _):
        first = await created(client, "ask", store=False)
        history = [{"role": "user", "content": "hi"}, *first["output"]]
        half = await post(client, "ask", [*history, answers(first)[1]], store=False)
        assert error_of(half) == ("input", "missing_answers")
        whole = [*history, *answers(first)]
        # With other instructions it would begin a run, which no approval can.
        changed = await post(client, "ask", whole, instructions="Be brief.", store=False)
        assert error_of(changed) == ("input[5]", "invalid_value")

        second = await created(client, "ask", whole, store=False)
        assert _run_id(second) == _run_id(first)
        assert texts(second) == ["It is 7."]

        # From there on, and where the answer or the run is another, the history begins a run of its own.
        history = [*whole, *second["output"], {"role": "user", "content": "?"}]
        third = await created(client, "greet", history, store=False)
        assert _run_id(third) != _run_id(first)
        other = [*history[:4], answers(first)[1], answers(first, "8")[0]]
        fourth = await created(client, "ask", other, store=False)
        assert _run_id(fourth) != _run_id(first)
        fifth = await created(client, "greet", other, store=False)
        assert fifth["model"] == "greet"
        items = await client.get(f"/v1/responses/{fifth['id']}/input_items?order=asc")
        assert len(items.json()["data"]) == len(other)
        unknown = other[-1] | {"call_id": f"call_{'0' * 32}_0_0"}
        call = other[2] | {"call_id": unknown["call_id"]}
        sixth = await created(client, "greet", [call, unknown])
        assert sixth["status"] == "completed"
        ended = [call | {"call_id": f"call_{sixth['id'][5:]}_0"}]
        ended.append({"type": "function_call_output", "output": "", "call_id": ended[0]["call_id"]})
        assert (await created(client, "greet", ended))["status"] == "completed"


def reference(item_id):
    return {"type": "item_reference", "id": item_id}


async def test_a_reference_stands_for_an_item_of_a_stored_response(tmp_path):
    async with talking(tmp_path, api_keys="ada:k1,bob:k2", key="k1") as (client, _):
        first = await created(client, "ask")
        second = await created(client, "ask", answers(first), previous_response_id=first["id"])
        place = f"/v1/responses/{second['id']}/input_items?order=asc"
        given = (await client.get(place)).json()["data"]
        place = f"/v1/responses/{first['id']}/input_items"
        question = (await client.get(place)).json()["data"][0]
        hi = {"role": "user", "content": "hi"}
        ids = [one["id"] for one in (question, *first["output"], *given, *second["output"])]

        # The last one comes twice, and the first without the name of its kind.
        referring = [{"id": ids[0]}, *map(reference, ids[1:]), reference(ids[-1]), hi]
        third = await created(client, "greet", referring)
        items = (await client.get(f"/v1/responses/{third['id']}/input_items?limit=50")).json()
        assert [one["type"] for one in items["data"][::-1]] == [
            *("message", "reasoning", "function_call", "mcp_approval_request"),
            *("function_call_output", "mcp_approval_response", "mcp_call", "message", "message"),
        ]
        assert items["data"][1]["content"][0]["text"] == "It is 7."
        assert texts(third) == ["You said hi."]

        unstored = await created(client, store=False)
        at_work = reference(f"msg_{second['id'][5:]}_7")
        for wrong in (reference(unstored["output"][0]["id"]), at_work, reference("msg_1")):
            refused = await post(client, input=[hi, wrong])
            assert error_of(refused) == ("input[1].id", "item_not_found")
            assert "`store: false`" in refused.json()["error"]["message"]
        client.headers["Authorization"] = "Bearer k2"
        refused = await post(client, input=[reference(ids[0])])
        assert error_of(refused) == ("input[0].id", "item_not_found")


async def test_what_a_conversation_has_already_does_not_come_again_by_a_reference(tmp_path):
    async with talking(tmp_path) as (client, _):
        first = await created(client)
        before = {"previous_response_id": first["id"]}
        again = reference(first["output"][1]["id"])
        second = await created(client, input=[again, {"role": "user", "content": "x"}], **before)
        items = await client.get(f"/v1/responses/{second['id']}/input_items")
        assert [one["content"] for one in items.json()["data"]] == ["x"]
        assert error_of(await post(client, input=[again], **before)) == ("input", "invalid_value")


async def test_a_last_turn_that_comes_again_as_a_whole_is_passed_over(tmp_path):
    """Source: strands-agents 1.62.0 with `stateful=True`."""
    hi = {"role": "user", "content": [{"type": "input_text", "text": "hi"}]}
    async with talking(tmp_path) as (client, _):
        first = await created(client, "ask", "hi")
        _, call, request = first["output"]
        output, approval = answers(first)
        before = {"previous_response_id": first["id"]}
        foreign = call | {"call_id": f"call_{'0' * 32}_0_0"}
        for changed in (
            [hi | {"content": "ho"}, call],
            [hi, hi, call],
            [hi, hi | {"role": "system"}, call],
            [hi, foreign, call],
            [hi, foreign],
            [hi, request],
            [request],
        ):
            refused = await post(client, "ask", [*changed, output, approval], **before)
            assert error_of(refused) == ("input[0]", "invalid_value")

        for turn in (
            [hi, call, output, approval],
            [hi, call, request, output, approval],
            [hi, call, request, approval, output],
            [call, output, approval],
        ):
            second = await created(client, "ask", turn, **before)
            assert (_run_id(second), texts(second)) == (_run_id(first), ["It is 7."])
        second_again = await created(client, "ask", [hi, output, call, request, approval], **before)
        assert second_again == second

        # The turn may be over, too.
        said = {"role": "assistant", "content": "It is 7."}
        before = {"previous_response_id": second["id"]}
        for whole, new in (
            ([hi, call, output, said], [hi]),
            ([hi, call, output], [hi]),
            ([hi, call, output], [said | {"content": "It was."}, hi]),
        ):
            third = await created(client, "ask", [*whole, *new], **before)
            place = f"/v1/responses/{third['id']}/input_items"
            assert len((await client.get(place)).json()["data"]) == len(new)
        refused = await post(client, "ask", [hi, call, output, said], **before)
        assert error_of(refused) == ("input", "invalid_value")


async def test_equal_words_alone_are_never_passed_over(tmp_path):
    async with talking(tmp_path) as (client, _):
        first = await created(client)
        hi, said = (
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": texts(first)[0]},
        )
        second = await created(client, input=[hi, said, hi], previous_response_id=first["id"])
        items = await client.get(f"/v1/responses/{second['id']}/input_items")
        assert len(items.json()["data"]) == 3


async def test_a_turn_goes_on_though_each_step_names_the_response_before_it(tmp_path):
    """Source: @ai-sdk/openai 3.0.141 with `previousResponseId` and more than one step."""
    hi = {"role": "user", "content": "hi"}
    async with talking(tmp_path) as (client, _):
        first = await created(client, "ask")
        second = await created(client, "ask", answers(first), previous_response_id=first["id"])
        before = {"previous_response_id": second["id"]}
        third = await created(client, "ask", [hi], **before)
        turn = [hi, *third["output"], *answers(third)]
        fourth = await created(client, "ask", turn, **before)
        other = await created(client, "ask", [hi])
        turn = [hi, *other["output"][:2], answers(other)[0]]
        fifth = await created(client, "ask", turn, **before)

    assert (_run_id(fourth), fourth["previous_response_id"]) == (_run_id(third), third["id"])
    assert _run_id(fifth) not in {_run_id(third), _run_id(other)}


async def test_what_is_referred_to_is_no_larger_than_a_request(tmp_path):
    async with talking(tmp_path, max_request_bytes=3000) as (client, _):
        said = [await created(client, input="x" * 1500) for _ in "12"]
        referring = [reference(one["output"][1]["id"]) for one in said]
        assert error_of(await post(client, input=referring)) == ("input[1].id", "invalid_value")
        await created(client, input=referring[1:])


async def test_a_response_that_is_not_stored_cannot_be_gone_on_from(tmp_path):
    async with talking(tmp_path) as (client, app):
        response = await created(client, store=False)
        assert response["store"] is False

        refused = await post(client, previous_response_id=response["id"])
        assert error_of(refused) == ("previous_response_id", "previous_response_not_found")
        for unknown in ("resp_x", f"resp_{'0' * 32}_0", response["id"][:-1] + "1"):
            refused = await post(client, previous_response_id=unknown)
            assert error_of(refused) == ("previous_response_id", "previous_response_not_found")
        failed = await created(client, "fail")
        refused = await post(client, "fail", previous_response_id=failed["id"])
        assert error_of(refused) == ("previous_response_id", "previous_response_not_found")
        run = await app.state.runs.get(_run_id(response), tenant="default")
        assert not run.is_kept


async def test_a_response_in_the_background_is_got_later_and_can_be_cancelled(tmp_path):
    go = asyncio.Event()

    async def wait(run):
        await say(run, "I wait.")
        await go.wait()
        return RunResult(status="succeeded", output="Done.")

    async with talking(tmp_path, Talker(wait=wait)) as (client, _):
        response = await created(client, "wait", background=True)
        assert response["status"] in {"queued", "in_progress"}
        place = f"/v1/responses/{response['id']}"
        await got(client, response["id"], lambda one: one["output"])
        early = await post(client, "wait", previous_response_id=response["id"])
        assert error_of(early, 409) == (None, "response_not_ended")
        active = await client.delete(place)
        assert error_of(active, 409) == (None, None)

        cancelled = await client.post(f"{place}/cancel")

        assert cancelled.status_code == 200
        assert cancelled.json()["status"] == "cancelled"
        assert cancelled.json()["error"] is None
        assert (await client.post(f"{place}/cancel")).json() == cancelled.json()
        events = events_of(await client.get(f"{place}?stream=true"))
        assert [one["type"] for one in events[:3]] == [
            "response.created",
            "response.queued",
            "response.in_progress",
        ]
        assert events[-1]["type"] == "response.failed"
        assert events[-1]["response"] == cancelled.json()
        deleted = await client.delete(place)
        assert deleted.json() == {
            "id": response["id"],
            "object": "response.deleted",
            "deleted": True,
        }
        assert error_of(await client.get(place), 404) == (None, "not_found")


async def test_what_an_agent_says_without_its_model_counts_as_well(tmp_path):
    async def apologise(run):
        await say(run, "I ")
        await run.tell("text", {"round": 1, "path": (), "text": "Sorry."})
        return RunResult(status="succeeded", output="Sorry.")

    async with talking(tmp_path, Talker(apologise=apologise)) as (client, _):
        assert texts(await created(client, "apologise")) == ["I ", "Sorry."]


async def test_a_failed_run_is_a_failed_response(tmp_path):
    async with talking(tmp_path) as (client, _):
        response = await created(client, "fail")

        assert response["status"] == "failed"
        assert response["error"] == {
            "type": "model_error",
            "code": "model_error",
            "message": "The model is gone.",
        }


async def test_a_stream_is_told_again_from_any_event(tmp_path):
    async with talking(tmp_path) as (client, _):
        events = events_of(await post(client, stream=True))

        assert [one["sequence_number"] for one in events] == list(range(len(events)))
        place = f"/v1/responses/{events[-1]['response']['id']}"
        assert (await client.get(place)).json() == events[-1]["response"]
        for after in (0, 5, len(events) - 1, 1000):
            again = await client.get(f"{place}?stream=true&starting_after={after}")
            assert events_of(again) == events[after + 1 :]
        head = await client.head(f"{place}?stream=true")
        assert head.headers["content-type"] == "application/json"
        wrong = await client.get(f"{place}?stream=1x")
        assert error_of(wrong) == ("stream", None)


async def test_a_model_call_that_is_made_again_comes_at_the_next_place(tmp_path):
    async def stutter(run):
        for again in (False, True):
            await run.tell("model_started", {"round": 1, "path": (), "again": again})
            await run.tell("reasoning", {"round": 1, "path": (), "text": "Hm."})
            await run.tell("text", {"round": 1, "path": (), "text": ""})
            await run.tell("text", {"round": 1, "path": (), "text": "He"})
        picture = {"round": 1, "path": (), "media_type": "image/png", "data": "AA=="}
        await run.tell("file", picture)
        await run.tell("file", picture | {"media_type": "text/plain"})
        await run.tell("model_ended", {"round": 1, "path": (), "usage": None})
        await run.tell("later", {"path": ()})
        started = {"call_id": "c", "path": (), "name": "look", "arguments": "{}"}
        await run.tell("tool_started", started)
        return RunResult(status="succeeded", output="He")

    async with talking(tmp_path, Talker(stutter=stutter)) as (client, _):
        events = events_of(await post(client, "stutter", stream=True))

        done = [one for one in events if one["type"] == "response.output_item.done"]
        states = [(one["output_index"], one["item"]["type"], one["item"]["status"]) for one in done]
        assert states == [
            (0, "reasoning", "completed"),
            (1, "message", "incomplete"),
            (2, "reasoning", "completed"),
            (3, "message", "completed"),
            (4, "image_generation_call", "completed"),
            (5, "mcp_call", "incomplete"),
        ]
        response = events[-1]["response"]
        assert kinds(response) == ["reasoning", "message", "image_generation_call"]
        assert response["usage"] is None


async def test_a_call_that_waits_ends_in_a_later_response(tmp_path):
    async def nest(run):
        call = {"call_id": "outer", "path": (), "name": "agent", "arguments": "{}"}
        if run.resumption is None:
            await run.tell("tool_started", call)
            waiting = WaitingCall(call_id="inner", name="delete", arguments="{}")
            return Waiting(request=InputRequest(approvals=[waiting]), state=b"s")
        if run.part == 1:
            waiting = WaitingCall(call_id="mine", name="mine", arguments="{}")
            return Waiting(request=InputRequest(results=[waiting]), state=b"s")
        ended = {"call_id": "outer", "path": (), "name": "agent", "output": "x", "error": None}
        await run.tell("tool_ended", ended)
        mine = {"call_id": "mine", "path": (), "name": "mine", "arguments": "{}"}
        await run.tell("tool_started", mine)
        await run.tell("tool_ended", ended | mine)
        return RunResult(status="succeeded")

    async with talking(tmp_path, Talker(nest=nest)) as (client, _):
        first = await created(client, "nest", tools=_MINE)
        assert kinds(first) == ["mcp_approval_request"]
        given = {"type": "mcp_approval_response", "approve": True}
        given["approval_request_id"] = first["output"][0]["id"]
        second = await created(client, "nest", [given], previous_response_id=first["id"])
        assert kinds(second) == ["function_call"]
        output = {"type": "function_call_output", "output": "y"}
        output["call_id"] = second["output"][0]["call_id"]
        third = await created(client, "nest", [output], previous_response_id=second["id"])

        assert kinds(third) == ["mcp_call"]
        assert third["output"][0]["output"] == "x"


async def test_the_input_of_a_response_is_listed_in_pages(tmp_path):
    async with talking(tmp_path) as (client, _):
        items = [{"role": "user", "content": text} for text in "abc"]
        response = await created(client, input=items)
        place = f"/v1/responses/{response['id']}/input_items"

        newest = (await client.get(place, params={"limit": 2})).json()
        assert [one["content"] for one in newest["data"]] == ["c", "b"]
        assert newest["has_more"] is True
        rest = (await client.get(place, params={"after": newest["last_id"]})).json()
        assert [one["content"] for one in rest["data"]] == ["a"]
        assert rest["has_more"] is False
        oldest = (await client.get(place, params={"order": "asc"})).json()
        assert [one["content"] for one in oldest["data"]] == ["a", "b", "c"]
        nothing = (await client.get(place, params={"after": rest["last_id"]})).json()
        assert (nothing["data"], nothing["first_id"]) == ([], None)
        wrong = await client.get(place, params={"after": "x"})
        assert error_of(wrong) == ("after", "invalid_value")


async def test_the_same_key_makes_the_same_response(tmp_path):
    async with talking(tmp_path) as (client, _):
        body = {"model": "greet", "input": "hi"}
        key = {"Idempotency-Key": "k"}
        first = await client.post("/v1/responses", json=body, headers=key)
        again = await client.post("/v1/responses", json=body, headers=key)
        assert again.json() == first.json()
        other = await client.post("/v1/responses", json=body | {"input": "x"}, headers=key)
        assert error_of(other) == ("Idempotency-Key", None)


async def test_the_models_are_the_agents(tmp_path):
    async with talking(tmp_path) as (client, _):
        models = (await client.get("/v1/models")).json()["data"]
        assert "greet" in [one["id"] for one in models]
        one = await client.get("/v1/models/greet")
        assert one.json() in models
        assert error_of(await client.get("/v1/models/x"), 404) == (None, "model_not_found")
        assert error_of(await post(client, "x")) == ("model", "model_not_found")


async def test_agents_that_cannot_be_talked_to_have_no_such_face(tmp_path):
    async with asked(tmp_path, executor()) as client:
        assert error_of(await client.get("/v1/models"), 404) == (None, "not_found")
    async with talking(tmp_path, responses=False) as (client, _):
        assert error_of(await client.get("/v1/models"), 404) == (None, "not_found")


async def test_a_run_that_was_begun_elsewhere_is_no_response(tmp_path):
    async with talking(tmp_path) as (client, _):
        run = (await client.post("/v1/runs", json={"agent": "echo", "question": "why"})).json()
        response_id = f"resp_{run['run_id'].replace('-', '')}_0"
        assert error_of(await client.get(f"/v1/responses/{response_id}"), 404)


async def test_errors_have_the_shape_of_the_api(tmp_path):
    keys = "ada:k1,ada:k2:start,ada:k3:answer,bob:k4"
    async with talking(tmp_path, api_keys=keys) as (client, app):

        def of(key):
            return {"Authorization": f"Bearer {key}"}

        missing = await post(client)
        assert error_of(missing, 401) == (None, "invalid_api_key")
        assert missing.headers["www-authenticate"] == "Bearer"
        client.headers.update(of("k2"))
        first = await created(client, "ask")
        refused = await post(client, "ask", answers(first), previous_response_id=first["id"])
        assert error_of(refused, 403) == (None, "insufficient_permissions")
        client.headers.update(of("k3"))
        assert error_of(await post(client), 403) == (None, "insufficient_permissions")
        foreign = await client.get(f"/v1/responses/{first['id']}", headers=of("k4"))
        assert error_of(foreign, 404) == (None, "not_found")
        client.headers.update(of("k1"))
        second = await created(client, "ask", answers(first), previous_response_id=first["id"])
        assert second["status"] == "completed"

        async def away(*_args, **_options):
            raise ValueError

        app.state.runs.create = away
        assert error_of(await post(client), 500) == (None, None)
        wrong = await client.post(
            "/v1/responses", content=b"{", headers={"content-type": "application/json"}
        )
        assert error_of(wrong) == ("body", None)
        assert error_of(await client.put("/v1/responses"), 405) == (None, None)
        other = await client.get("/v1/responsesx")
        assert other.headers["content-type"] == "application/problem+json"


async def test_only_so_many_wait_and_watch(tmp_path):
    async with talking(tmp_path, max_watchers=1) as (client, app):
        app.state.watchers.admit("default")
        assert error_of(await post(client), 429) == (None, "rate_limit_exceeded")
        assert (await client.get("/v1/runs")).json()["runs"] == []
        response = await created(client, background=True)
        place = f"/v1/responses/{response['id']}"
        answer = await client.get(place, params={"stream": "true"})
        assert error_of(answer, 429) == (None, "rate_limit_exceeded")


async def test_a_large_request_is_as_good_as_any(tmp_path):
    items = [{"role": "user", "content": "x" * 200_000}, {"role": "user", "content": "hi"}]
    async with talking(tmp_path) as (client, _):
        response = await created(client, input=items)

        assert texts(response) == ["You said hi."]
        place = f"/v1/responses/{response['id']}/input_items"
        listed = (await client.get(place, params={"order": "asc"})).json()["data"]
        assert [one["content"] for one in listed] == [one["content"] for one in items]


class Shown(Talker):
    """Notes the types of the events that somebody who watches was shown."""

    def __init__(self, **scripts):
        super().__init__(**scripts)
        self.shown = []

    def show(self, event):
        self.shown.append(event.type)
        return super().show(event)


async def test_a_client_that_goes_away_or_a_server_that_stops_ends_no_run(tmp_path):
    go = asyncio.Event()

    async def wait(run):
        await say(run, "I wait.")
        await go.wait()
        return RunResult(status="succeeded", output="Done.")

    talker = Shown(wait=wait)
    async with talking(tmp_path, talker) as (client, app):
        asking = asyncio.create_task(post(client, "wait"))
        await until(lambda: "text" in talker.shown)
        app.state.watchers.close()
        answer = (await asking).json()
        assert answer["status"] == "in_progress"
        go.set()
        await got(client, answer["id"], lambda one: one["status"] == "completed")


async def test_a_stream_that_begins_as_the_server_stops_ends_before_its_run(tmp_path):
    async def wait(_run):
        await asyncio.Event().wait()

    async with talking(tmp_path, Talker(wait=wait)) as (client, app):
        app.state.watchers.close()
        answer = await post(client, "wait", stream=True)

    assert (answer.status_code, answer.content) == (200, b"")


async def test_a_stream_goes_on_at_another_server_where_the_first_has_died(tmp_path):
    async def think(run):
        head = {"round": 1, "path": ()}
        if run.attempt == 1:
            await run.tell("model_started", {**head, "again": False})
            await run.tell("text", {**head, "text": "Per"})
            await asyncio.sleep(600)
        await run.tell("model_started", {**head, "again": True})
        await run.tell("text", {**head, "text": "Perhaps."})
        await run.tell("model_ended", {**head, "usage": None})
        return RunResult(status="succeeded", output="Perhaps.")

    talker = Shown(think=think)
    async with talking(tmp_path, talker) as (client, app):
        asking = asyncio.create_task(post(client, "think", stream=True))
        await until(lambda: "text" in talker.shown)
        app.state.watchers.close()
        seen = events_of(await asking)

    async with talking(tmp_path, Talker(think=think)) as (client, _):
        place = f"/v1/responses/{seen[0]['response']['id']}?stream=true"
        rest = events_of(await client.get(f"{place}&starting_after={len(seen) - 1}"))
        whole = events_of(await client.get(place))

    assert seen[-1]["type"] == "response.output_text.delta"
    assert [*seen, *rest] == whole
    assert [one["sequence_number"] for one in whole] == list(range(len(whole)))
    assert texts(whole[-1]["response"]) == ["Perhaps."]
    done = [one["item"]["status"] for one in whole if one["type"] == "response.output_item.done"]
    assert done == ["incomplete", "completed"]
