"""The openai client for Python against served agents."""

import json
from operator import attrgetter

import openai
import pytest
from openai import OpenAI
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import BaseModel, TypeAdapter

from answers import WEATHER, approvals_in, outputs_for
from served_agents import Step, Sum


EVENTS = TypeAdapter(ResponseStreamEvent)


class Other(BaseModel):
    sum: float


@pytest.fixture
def client(base_url):
    with OpenAI(base_url=base_url, api_key="k1", max_retries=0) as client:
        yield client


def test_an_answer_has_the_form_that_it_knows(client):
    response = client.responses.create(
        model="thinker", input="Which?", metadata={"a": "b"}, reasoning={"effort": "high"}
    )

    assert response.output_text == "It is that. "
    thought, message = response.output
    assert (thought.type, thought.summary[0].text) == ("reasoning", "First this, then that.")
    assert (message.type, message.status) == ("message", "completed")
    assert response.usage.total_tokens == 10
    assert response.metadata == {"a": "b"}
    plain = response.model_dump(exclude_unset=True)
    assert Response.model_validate(plain, strict=False) == response


def test_a_stream_comes_in_events_that_it_knows(client):
    with client.responses.create(model="thinker", input="Which?", stream=True) as stream:
        events = list(stream)

    assert [event.sequence_number for event in events] == list(range(len(events)))
    for event in events:
        plain = event.model_dump(exclude_unset=True)
        assert type(EVENTS.validate_python(plain)) is type(event)
    texts = [one.delta for one in events if one.type == "response.output_text.delta"]
    assert "".join(texts) == events[-1].response.output_text == "It is that. "
    assert len(texts) > 1
    thoughts = [one.delta for one in events if one.type == "response.reasoning_summary_text.delta"]
    assert "".join(thoughts) == "First this, then that."
    assert events[-1].type == "response.completed"


def test_the_stream_helper_accumulates_what_the_response_has(client):
    with client.responses.stream(model="adder", input="Add.") as stream:
        events = list(stream)
        final = stream.get_final_response()

    assert final.output_text == "The sums are 3 and 7. "
    calls = [one for one in final.output if one.type == "mcp_call"]
    assert [(one.name, one.server_label, one.output) for one in calls] == [
        ("add", "adder", "3"),
        ("add", "adder", "7"),
    ]
    assert [one.arguments for one in calls] == ['{"a": 1, "b": 2}', '{"a": 3, "b": 4}']
    done = [one for one in events if one.type == "response.output_text.done"]
    assert [one.text for one in done] == ["The sums are 3 and 7. "]
    stored = client.responses.retrieve(final.id)
    assert [one.id for one in stored.output] == [one.id for one in final.output]


async def test_the_asynchronous_one_does_the_same(openai_client):
    response = await openai_client.responses.create(model="talker", input="Hello.")
    assert response.output_text == "This is answer 1. "
    stream = await openai_client.responses.create(
        model="talker", input="Again.", previous_response_id=response.id, stream=True
    )
    events = [event async for event in stream]
    assert events[-1].response.output_text == "This is answer 2. "
    assert events[-1].response.previous_response_id == response.id
    async with openai_client.responses.stream(model="adder", input="Add.") as helper:
        async for _ in helper:
            pass
        assert (await helper.get_final_response()).output_text == "The sums are 3 and 7. "


def test_a_conversation_goes_on_by_the_id_and_by_its_history(client):
    first = client.responses.create(model="talker", input="One.")
    second = client.responses.create(model="talker", input="Two.", previous_response_id=first.id)
    assert second.output_text == "This is answer 2. "

    history = [{"role": "user", "content": "One."}, *first.output, {"role": "user", "content": "2"}]
    plain = [one if isinstance(one, dict) else one.model_dump() for one in history]
    third = client.responses.create(model="talker", input=plain, store=False)
    assert third.output_text == "This is answer 2. "
    with pytest.raises(openai.BadRequestError) as caught:
        client.responses.create(model="talker", input="?", previous_response_id=third.id)
    assert caught.value.code == "previous_response_not_found"


@pytest.mark.parametrize("is_stored", [True, False])
def test_its_own_tools_are_called_by_itself(is_stored, client):
    first = client.responses.create(
        model="asker", input="How is the weather?", tools=WEATHER, store=is_stored
    )
    calls = [one for one in first.output if one.type == "function_call"]
    assert [(one.name, json.loads(one.arguments)) for one in calls] == [
        ("get_weather", {"city": "Paris"}),
        ("get_time", {"zone": "Paris"}),
    ]
    assert [one.type for one in first.output] == ["message", "function_call", "function_call"]
    answers = outputs_for(calls)
    if is_stored:
        given = {"input": answers, "previous_response_id": first.id}
    else:
        question = {"role": "user", "content": "How is the weather?"}
        output = [one.model_dump(exclude_none=True) for one in first.output]
        given = {"input": [question, *output, *answers]}
    second = client.responses.create(model="asker", tools=WEATHER, store=is_stored, **given)
    assert second.output_text == "The client says: get_weather: fine and get_time: fine "


def test_the_stream_helper_puts_calls_of_its_tools_together(client):
    with client.responses.stream(model="asker", input="Weather?", tools=WEATHER) as stream:
        events = list(stream)
        final = stream.get_final_response()
    done = [one for one in events if one.type == "response.function_call_arguments.done"]
    assert [(one.name, one.arguments) for one in done] == [
        ("get_weather", '{"city": "Paris"}'),
        ("get_time", '{"zone": "Paris"}'),
    ]
    calls = [one for one in final.output if one.type == "function_call"]
    with client.responses.stream(
        model="asker", input=outputs_for(calls), previous_response_id=final.id
    ) as stream:
        assert "get_time: fine" in stream.get_final_response().output_text


@pytest.mark.parametrize(
    ("approve", "said"),
    [(True, "The bank says: 30 euros are on their way. "), (False, "too much")],
)
def test_a_person_is_asked_and_the_response_goes_on(approve, said, client):
    first = client.responses.create(model="payer", input="Refund me.")
    [asked] = first.output
    assert (asked.type, asked.name, asked.server_label) == ("mcp_approval_request", "pay", "payer")
    assert (first.status, asked.arguments) == ("completed", '{"euros": 30}')
    answers = approvals_in(first.output, approve=approve, reason="too much")
    with client.responses.stream(
        model="payer", input=answers, previous_response_id=first.id
    ) as stream:
        final = stream.get_final_response()
    assert said in final.output_text
    if approve:
        assert final.output[0].approval_request_id == asked.id
    items = client.responses.input_items.list(final.id)
    assert [(one.type, one.approve) for one in items.data] == [("mcp_approval_response", approve)]


def test_a_background_response_is_polled_and_its_stream_taken_up_again(client):
    started = client.responses.create(model="adder", input="Add.", background=True)
    assert started.status in {"queued", "in_progress"}
    with client.responses.retrieve(started.id, stream=True) as stream:
        events = list(stream)
    assert events[-1].response.status == "completed"
    with client.responses.retrieve(started.id, stream=True, starting_after=5) as stream:
        assert list(stream) == events[6:]
    assert client.responses.retrieve(started.id).output_text == "The sums are 3 and 7. "
    # The helper takes up a stream as well.
    with client.responses.stream(response_id=started.id, starting_after=5) as stream:
        assert list(stream)[-1].type == "response.completed"


def test_a_background_stream_that_breaks_off_goes_on(client):
    read = []
    with client.responses.create(
        model="adder", input="Add.", background=True, stream=True
    ) as stream:
        for event in stream:
            read.append(event)
            if len(read) == 4:
                break
    response_id = read[0].response.id
    with client.responses.retrieve(
        response_id, stream=True, starting_after=read[-1].sequence_number
    ) as stream:
        read += list(stream)
    assert [event.sequence_number for event in read] == list(range(len(read)))
    assert read[-1].response.output_text == "The sums are 3 and 7. "


def test_a_response_is_cancelled_and_deleted(client):
    started = client.responses.create(model="sleeper", input="?", background=True)
    with pytest.raises(openai.ConflictError):
        client.responses.delete(started.id)
    cancelled = client.responses.cancel(started.id)
    assert (cancelled.id, cancelled.status) == (started.id, "cancelled")
    assert client.responses.cancel(started.id) == cancelled
    client.responses.delete(started.id)
    with pytest.raises(openai.NotFoundError) as caught:
        client.responses.retrieve(started.id)
    assert caught.value.code == "not_found"


def test_input_items_come_in_pages(client):
    messages = [{"role": "user", "content": f"{n}"} for n in range(5)]
    response = client.responses.create(model="talker", input=messages)
    page = client.responses.input_items.list(response.id, limit=2, order="asc")
    assert page.has_more
    assert [one.content for one in page] == ["0", "1", "2", "3", "4"]


def test_files_come_as_data_urls_and_no_address_is_fetched(client):
    picture = {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,AAAA"}
    document = {
        "type": "input_file",
        "filename": "a.pdf",
        "file_data": "data:application/pdf;base64,AAAA",
    }
    text = {"type": "input_text", "text": "What?"}
    asked = [{"role": "user", "content": [text, picture, document]}]
    response = client.responses.create(model="reader", input=asked, instructions="Be brief.")
    system, (role, content) = json.loads(response.output_text)
    assert system == ["system", "Read.\n\nBe brief."]
    assert (role, content) == ("user", [text, picture, document])

    asked[0]["content"][1] = picture | {"image_url": "https://example.com/a.png"}
    with pytest.raises(openai.BadRequestError) as caught:
        client.responses.create(model="reader", input=asked)
    assert caught.value.param == "input[0].content[1].image_url"


def test_the_models_are_the_agents(client):
    names = {model.id for model in client.models.list()}
    assert {"talker", "adder", "payer", "reader", "thinker", "asker"} <= names
    assert client.models.retrieve("talker").object == "model"
    with pytest.raises(openai.NotFoundError) as caught:
        client.models.retrieve("nobody")
    assert caught.value.code == "model_not_found"


def test_a_request_with_an_idempotency_key_is_made_once(client):
    made = [
        client.responses.create(
            model="talker", input="Once.", extra_headers={"Idempotency-Key": "key-1"}
        )
        for _ in range(2)
    ]
    assert made[0] == made[1]
    with pytest.raises(openai.BadRequestError):
        client.responses.create(
            model="talker", input="Twice.", extra_headers={"Idempotency-Key": "key-1"}
        )


@pytest.mark.parametrize(
    ("asked", "param", "code"),
    [
        ({"max_tool_calls": 1}, "max_tool_calls", "unsupported_parameter"),
        ({"tool_choice": "required"}, "tool_choice", "unsupported_parameter"),
        ({"conversation": "conv_1"}, "conversation", "unsupported_parameter"),
        ({"tools": [{"type": "web_search"}]}, "tools[0].type", "unsupported_value"),
        ({"model": "nobody"}, "model", "model_not_found"),
        (
            {"previous_response_id": "resp_1"},
            "previous_response_id",
            "previous_response_not_found",
        ),
        ({"input": [{"type": "item_reference", "id": "x"}]}, "input[0].id", "item_not_found"),
        ({"extra_body": {"wrong": 1}}, "wrong", "unknown_parameter"),
    ],
)
def test_an_error_names_the_parameter(asked, param, code, client):
    with pytest.raises(openai.BadRequestError) as caught:
        client.responses.create(**({"model": "talker", "input": "?"} | asked))
    assert (caught.value.param, caught.value.code) == (param, code)


def test_a_conversation_goes_on_by_references(client):
    first = client.responses.create(model="talker", input="One.", max_output_tokens=100)
    said = [{"type": "item_reference", "id": item.id} for item in first.output]
    again = client.responses.create(model="talker", input=[*said, {"role": "user", "content": "?"}])

    assert (first.max_output_tokens, again.max_output_tokens) == (100, None)
    assert again.output_text == "This is answer 2. "


def test_chat_completions_are_refused_by_the_name_of_the_right_route(client):
    with pytest.raises(openai.NotFoundError, match="POST /v1/responses"):
        client.chat.completions.create(model="talker", messages=[])


def test_an_unknown_key_and_a_failed_model_are_told(client):
    with pytest.raises(openai.AuthenticationError):
        client.with_options(api_key="x").responses.create(model="talker", input="?")
    response = client.responses.create(model="failing", input="?")
    assert response.status == "failed"
    assert response.error.message


def test_an_answer_is_parsed_only_in_the_form_that_the_agent_has(client):
    parsed = client.responses.parse(model="filler", input="?", text_format=Sum)
    assert parsed.output_parsed == Sum(total=4)
    nested = client.responses.parse(model="planner", input="?", text_format=Step)
    inner = Step(name="left", weight=None, steps=[])
    assert nested.output_parsed == Step(name="go", weight=2, steps=[inner])
    for model in ("filler", "talker"):
        with pytest.raises(openai.BadRequestError) as caught:
            client.responses.parse(model=model, input="?", text_format=Other)
        assert caught.value.param == "text.format"


@pytest.mark.parametrize("name", ["compact", "input_tokens.count"])
def test_a_call_that_is_not_offered_is_an_error(name, client):
    call = attrgetter(name)(client.responses)
    with pytest.raises(openai.APIStatusError) as caught:
        call(model="talker", input="?")
    assert caught.value.status_code == 405
