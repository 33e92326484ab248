"""The openai client against a server that listens."""

from contextlib import asynccontextmanager

import httpx2
import openai
import pytest
from openai import AsyncOpenAI
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter
from talking import Talker
from web import listening


_EVENTS = TypeAdapter(ResponseStreamEvent)
_MINE = [{"type": "function", "name": "mine", "parameters": {"type": "object"}, "strict": False}]


@asynccontextmanager
async def _client(folder):
    async with listening(folder, Talker(), api_keys="ada:k1") as (port, _):
        # Without TLS, for which it would read the machine's certificates.
        http = httpx2.AsyncClient(verify=False)
        base_url = f"http://127.0.0.1:{port}/v1"
        async with AsyncOpenAI(
            base_url=base_url, api_key="k1", http_client=http, max_retries=0
        ) as client:
            yield client


def _validated(response):
    """Return a response after its types were checked, which the client does not do by itself."""
    return Response.model_validate(response.model_dump(exclude_unset=True), strict=False)


async def test_its_types_fit_a_conversation(tmp_path):
    async with _client(tmp_path) as client:
        first = await client.responses.create(model="greet", input="hi")
        second = await client.responses.create(
            model="greet", input="again", previous_response_id=first.id
        )

        assert _validated(first).output_text == "You said hi."
        assert second.output_text == "You said again."
        assert await client.responses.retrieve(first.id) == first
        items = await client.responses.input_items.list(first.id)
        assert [one.content[0].text for one in items.data] == ["hi"]
        assert "greet" in [one.id async for one in client.models.list()]
        assert (await client.models.retrieve("greet")).owned_by == "scripted"
        await client.responses.delete(first.id)
        with pytest.raises(openai.NotFoundError, match="no such response"):
            await client.responses.retrieve(first.id)


async def test_its_types_fit_all_events_of_a_run_that_waits(tmp_path):
    async with _client(tmp_path) as client:
        events = []
        first = None
        for previous in (False, True):
            more = {}
            given = "hi"
            if previous:
                call, request = first.output[-2:]
                given = [
                    {"type": "function_call_output", "call_id": call.call_id, "output": "7"},
                    {
                        "type": "mcp_approval_response",
                        "approval_request_id": request.id,
                        "approve": True,
                    },
                ]
                more = {"previous_response_id": first.id}
            stream = await client.responses.create(
                model="ask", input=given, tools=_MINE, stream=True, **more
            )
            told = [event async for event in stream]
            first = told[-1].response
            _validated(first)
            resumed = await client.responses.retrieve(first.id, stream=True, starting_after=3)
            assert [one async for one in resumed] == told[4:]
            events += told

        assert first.output_text == "It is 7."
        for event in events:
            plain = event.model_dump(exclude_unset=True)
            assert type(_EVENTS.validate_python(plain)) is type(event)
            assert event.type != "error"


async def test_its_stream_helper_puts_the_answer_together(tmp_path):
    async with (
        _client(tmp_path) as client,
        client.responses.stream(model="greet", input="hi") as stream,
    ):
        texts = [
            event.delta async for event in stream if event.type == "response.output_text.delta"
        ]
        final = await stream.get_final_response()

        assert texts == ["You said ", "hi."]
        assert final.output_text == "You said hi."


async def test_its_errors_say_what_is_wrong(tmp_path):
    async with _client(tmp_path) as client:
        with pytest.raises(openai.BadRequestError) as caught:
            await client.responses.create(model="greet", input="hi", max_tool_calls=1)
        assert (caught.value.param, caught.value.code) == (
            "max_tool_calls",
            "unsupported_parameter",
        )
        with pytest.raises(openai.NotFoundError, match="POST /v1/responses"):
            await client.chat.completions.create(model="greet", messages=[])
        with pytest.raises(openai.AuthenticationError):
            await client.with_options(api_key="x").models.list()
        response = await client.responses.create(model="fail", input="hi", background=True)
        stream = await client.responses.retrieve(response.id, stream=True)
        assert [event async for event in stream][-1].response.error.code == "model_error"
