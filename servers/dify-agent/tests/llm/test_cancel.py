import asyncio

import anyio
import httpx
import pytest
from pydantic_ai.exceptions import ModelConnectionError
from pydantic_ai.messages import ModelRequest, TextPart
from pydantic_ai.models import ModelRequestParameters


QUESTION = [ModelRequest.user_text_prompt("hi")], None, ModelRequestParameters()


@pytest.fixture
async def model(daemon, slow_daemon):
    async with httpx.AsyncClient(trust_env=False, verify=False) as http_client:
        yield daemon.model(
            daemon.provider(plugin_daemon_url=slow_daemon.url, http_client=http_client)
        )


async def test_text_arrives_while_the_model_still_works(daemon, slow_daemon, model):
    slow_daemon.send(daemon.chunk("Hel"))

    async with model.request_stream(*QUESTION) as response:
        await anext(aiter(response))
        early = response.get().parts
        slow_daemon.send(daemon.chunk("lo"))
        slow_daemon.break_off()
        with pytest.raises(ModelConnectionError):
            async for _ in response:
                pass

    assert early == [TextPart("Hel")]
    assert response.get().parts == [TextPart("Hello")]


async def test_cancelling_closes_the_connection_that_another_task_reads(daemon, slow_daemon, model):
    slow_daemon.send(daemon.chunk("Hel"))
    arrived = asyncio.Event()

    async with model.request_stream(*QUESTION) as response:

        async def read() -> None:
            async for _ in response:
                arrived.set()

        reading = asyncio.create_task(read())
        await arrived.wait()
        await response.cancel()
        await slow_daemon.gone.wait()
        await reading

        assert response.get().parts == [TextPart("Hel")]
        assert response.get().state == "interrupted"


async def test_cancelling_between_events_closes_the_connection(daemon, slow_daemon, model):
    slow_daemon.send(daemon.chunk("<think>a</think>Hel<"))

    async with model.request_stream(*QUESTION) as response:
        await anext(aiter(response))
        await response.cancel()
        await slow_daemon.gone.wait()
        rest = [event async for event in response]

    assert [event.event_kind for event in rest].count("part_start") == 1
    assert response.get().state == "interrupted"


async def test_cancelling_a_half_read_call_is_no_error(daemon, slow_daemon, model):
    slow_daemon.send(daemon.chunk("Let me", tool_calls=[daemon.call("c1", None, "{")]))

    async with model.request_stream(*QUESTION) as response:
        await anext(aiter(response))
        await response.cancel()
        async for _ in response:
            pass

    assert response.get().parts == [TextPart("Let me")]


async def test_a_stream_that_is_left_closes_the_connection(daemon, slow_daemon, model):
    slow_daemon.send(daemon.chunk("Hel"))

    async with model.request_stream(*QUESTION) as response:
        async for _ in response:
            break

    await slow_daemon.gone.wait()
    assert response.get().state == "incomplete"


async def test_a_stream_that_is_never_read_closes_the_connection(daemon, slow_daemon, model):
    slow_daemon.send(daemon.chunk("Hel"))

    async with model.request_stream(*QUESTION):
        pass

    await slow_daemon.gone.wait()


@pytest.mark.parametrize("first", [True, False])
async def test_a_cancelled_task_closes_the_connection(daemon, slow_daemon, model, first):
    if first:
        slow_daemon.send(daemon.chunk("Hel"))
    asking = asyncio.create_task(model.request(*QUESTION))
    await slow_daemon.asked.wait()

    asking.cancel()

    with pytest.raises(asyncio.CancelledError):
        await asking
    await slow_daemon.gone.wait()


async def test_a_cancelled_scope_closes_the_connection(daemon, slow_daemon, model):
    slow_daemon.send(daemon.chunk("Hel"))

    with anyio.CancelScope() as scope:
        async with model.request_stream(*QUESTION) as response:
            await anext(aiter(response))
            scope.cancel()
            await anyio.lowlevel.checkpoint()

    assert response.get().parts == [
        TextPart("Hel")
    ]  # kept, so that nothing is closed by being collected
    await slow_daemon.gone.wait()


async def test_closing_twice_at_once_is_one_closing(daemon, slow_daemon, model):
    slow_daemon.send(daemon.chunk("Hel"))

    async with model.request_stream(*QUESTION) as response:
        await anext(aiter(response))
        await asyncio.gather(response.close_stream(), response.close_stream())
        await slow_daemon.gone.wait()
