"""A plugin whose process has died: the daemon says nothing, and the call ends all the same."""

import asyncio
import math

import anyio
import httpx
import pytest
from pydantic_ai.exceptions import ModelTimeoutError
from pydantic_ai.messages import ModelRequest, TextPart
from pydantic_ai.models import ModelRequestParameters

from dify_agent.plugin_daemon_transport import SilenceLimits


QUESTION = [ModelRequest.user_text_prompt("hi")], None, ModelRequestParameters()
LONG = 60
MOMENT = 0.005


@pytest.fixture
async def _steady_clock():
    """Let a moment pass at most at once by the loop's clock: while the process stood still, nobody was silent.

    So short a moment that what is under way arrives within a few of them, on a busy machine as well.
    """
    loop = asyncio.get_running_loop()
    read = loop.time
    shown = last = read()

    def time():
        nonlocal shown, last
        now = read()
        shown, last = shown + min(now - last, MOMENT), now
        return shown

    async def look_often():
        while True:  # noqa: ASYNC110 - nothing is waited for
            await asyncio.sleep(MOMENT)

    loop.time = time
    looking = asyncio.create_task(look_often())
    yield
    looking.cancel()


@pytest.fixture
async def build_model(daemon, slow_daemon, _steady_clock):
    # The client's own timeout for reading is short: it must not count.
    timeout = httpx.Timeout(5, read=0.01)
    async with httpx.AsyncClient(timeout=timeout, verify=False) as http_client:

        def build(**seconds):
            limits = {"model_seconds": LONG, "keep_alive_seconds": LONG, **seconds}
            return daemon.model(
                daemon.provider(
                    plugin_daemon_url=slow_daemon.url,
                    http_client=http_client,
                    silence=SilenceLimits(**limits),
                )
            )

        yield build


async def read(model):
    """Return the parts of an answer and what it ended with."""
    async with model.request_stream(*QUESTION) as response:
        try:
            async for _ in response:
                pass
        except ModelTimeoutError as error:
            return response.get().parts, str(error)
    return response.get().parts, None


async def test_a_reply_that_never_begins_ends(slow_daemon, build_model):
    with anyio.fail_after(60), pytest.raises(ModelTimeoutError) as caught:
        await read(build_model(model_seconds=0.05))

    assert "has sent nothing for 0.05 seconds: the plugin's process may have died" in str(
        caught.value
    )
    if slow_daemon.asked.is_set():  # A busy machine may give up before the daemon has heard of it.
        with anyio.fail_after(60):
            await slow_daemon.gone.wait()


async def test_a_daemon_that_does_not_even_answer_is_silent(daemon):
    async def never(_):
        await asyncio.Event().wait()

    async with httpx.AsyncClient(transport=httpx.MockTransport(never)) as http_client:
        limits = SilenceLimits(model_seconds=0.05)
        model = daemon.model(daemon.provider(http_client=http_client, silence=limits))
        with anyio.fail_after(60), pytest.raises(ModelTimeoutError, match=r"for 0\.05 seconds"):
            await model.request(*QUESTION)


async def test_what_was_said_before_the_silence_stays(daemon, slow_daemon, build_model):
    slow_daemon.send(daemon.chunk("Hel"))
    with anyio.fail_after(60):
        parts, error = await read(build_model(model_seconds=0.3))
    assert parts == [TextPart("Hel")]
    assert "nothing for 0.3 seconds" in error


async def test_a_model_that_sends_keep_alives_may_be_silent_for_less(
    daemon, slow_daemon, build_model
):
    model = build_model(keep_alive_seconds=0.3)
    for chunk in (daemon.chunk("Hel"), daemon.chunk("lo"), daemon.chunk("")):
        slow_daemon.send(chunk)
    with anyio.fail_after(60):
        parts, error = await read(model)
    assert parts == [TextPart("Hello")]
    assert "nothing for 0.3 seconds, though this model sends keep-alives" in error


async def test_of_a_model_that_sends_keep_alives_it_is_remembered(daemon, slow_daemon, build_model):
    model = build_model(keep_alive_seconds=0.3)
    for chunk in (daemon.chunk(""), daemon.chunk(""), daemon.chunk("4", finish_reason="stop")):
        slow_daemon.send(chunk)
    slow_daemon.pieces.put_nowait(b"data:")  # and then it dies
    with anyio.fail_after(60):
        await read(model)
        with pytest.raises(ModelTimeoutError, match="keep-alives"):
            await read(model)


async def test_keep_alives_keep_a_call_alive(daemon, slow_daemon, build_model):
    async def speak():
        for _ in range(8):
            slow_daemon.send(daemon.chunk(""))
            await asyncio.sleep(0.1)
        slow_daemon.send(daemon.chunk("4"))
        slow_daemon.pieces.put_nowait(None)

    speaking = asyncio.create_task(speak())
    with pytest.raises(Exception, match="peer closed"):
        await read(build_model(model_seconds=0.5, keep_alive_seconds=0.5))
    await speaking


EMPTY_PARTS = [{"type": "text", "data": ""}]


@pytest.mark.parametrize(
    "said",
    [
        {"content": "lo"},
        {"content": " "},
        {"content": [{"type": "text", "data": "lo"}]},
        {"content": "", "usage": True},
        {"content": "", "finish_reason": "stop"},
        {"content": "", "opaque_body": {"items": []}},
        {"content": [*EMPTY_PARTS, {"type": "image", "url": "http://x/a.png"}]},
    ],
)
async def test_a_chunk_that_says_something_is_no_keep_alive(daemon, slow_daemon, build_model, said):
    if said.pop("usage", False):
        said["usage"] = daemon.usage()
    slow_daemon.send(daemon.chunk("Hel"))
    slow_daemon.send(daemon.chunk(said.pop("content"), **said))
    with anyio.fail_after(60):
        _, error = await read(build_model(model_seconds=0.5, keep_alive_seconds=0.1))
    assert "nothing for 0.5 seconds:" in error


async def test_a_keep_alive_may_have_parts(daemon, slow_daemon, build_model):
    slow_daemon.send(daemon.chunk("Hel"))
    slow_daemon.send(daemon.chunk(EMPTY_PARTS))
    with anyio.fail_after(60):
        _, error = await read(build_model(keep_alive_seconds=0.1))
    assert "nothing for 0.1 seconds, though" in error


async def test_an_empty_beginning_is_no_keep_alive(daemon, slow_daemon, build_model):
    """Many plugins begin so, and then wait for their server as long as it takes."""
    slow_daemon.send(daemon.chunk(""))
    with anyio.fail_after(60):
        _, error = await read(build_model(model_seconds=1.3, keep_alive_seconds=1.2))
    assert "nothing for 1.3 seconds:" in error


async def test_an_empty_beginning_after_a_pause_is_a_keep_alive(daemon, slow_daemon, build_model):
    async def begin():
        # The pause counts from the call on, however late that comes.
        await slow_daemon.asked.wait()
        await asyncio.sleep(0.1)
        slow_daemon.send(daemon.chunk(""))

    beginning = asyncio.create_task(begin())
    with anyio.fail_after(60):
        _, error = await read(build_model(keep_alive_seconds=0.3))
    await beginning
    assert "nothing for 0.3 seconds, though" in error


async def test_comments_say_nothing(slow_daemon, build_model):
    async def comment():
        while True:
            slow_daemon.pieces.put_nowait(b": ping\n\n")
            await asyncio.sleep(0.02)

    commenting = asyncio.create_task(comment())
    with anyio.fail_after(60), pytest.raises(ModelTimeoutError, match=r"for 0\.2 seconds"):
        await read(build_model(model_seconds=0.2))
    commenting.cancel()


async def test_a_reader_who_takes_a_long_time_makes_no_silence(daemon, slow_daemon, build_model):
    slow_daemon.send(daemon.chunk("Hel"))
    async with build_model(model_seconds=0.2).request_stream(*QUESTION) as response:
        events = aiter(response)
        await anext(events)
        slow_daemon.send(daemon.chunk("lo"))
        await asyncio.sleep(0.4)
        while response.get().parts != [TextPart("Hello")]:
            await anext(events)


@pytest.mark.parametrize("seconds", [0, -1, math.nan])
@pytest.mark.parametrize("field", ["model_seconds", "keep_alive_seconds", "tool_seconds"])
def test_a_limit_is_over_nothing(field, seconds):
    with pytest.raises(ValueError, match=f"{field}: expected more than 0 seconds"):
        SilenceLimits(**{field: seconds})
    assert SilenceLimits(**{field: math.inf})
