"""An agent behind a web server: each answer streams as plain text, and stops when its reader leaves.

`OPENAI_API_KEY=... uvicorn web_agent:app`, with `gpt5-agent-driver`, `gpt5-responses`, `starlette` and `uvicorn` installed; then
`curl -N -d '{"messages": [{"role": "user", "content": "Hello"}]}' http://127.0.0.1:8000/`. `RUN_LOG` may name a folder to log runs in.
"""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from agent_driver import Agent, ShowText
from agent_loop import MessageError
from gpt5_messages import build_input
from gpt5_responses import AsyncResponsesClient, ModelConfig
from run_log import RunLog


def power(base: int, exponent: int) -> int:
    """Raise a whole number to a power."""
    return int(base ** min(exponent, 1_000))


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncGenerator[None]:
    """Keep one client, and its connections, for all requests."""
    config = ModelConfig.from_env()
    async with AsyncResponsesClient(config) as client:
        app.state.agent = Agent(client, [power], log=RunLog.from_env(known=[config.api_key]))
        yield


async def answer(request: Request) -> Response:
    """Answer a conversation."""
    try:
        messages = (await request.json())["messages"]
        build_input(messages)
    except (ValueError, KeyError, TypeError, MessageError) as error:
        return PlainTextResponse(f"cannot be read: {error}\n", status_code=422)
    agent: Agent = request.app.state.agent

    async def stream() -> AsyncIterator[str]:
        async with agent.astream(messages) as events:
            async for event in events:
                if isinstance(event, ShowText):
                    yield event.text
        yield events.result.error or ""

    return StreamingResponse(stream(), media_type="text/plain")


app = Starlette(routes=[Route("/", answer, methods=["POST"])], lifespan=lifespan)
