# /// script
# requires-python = ">=3.12"
# dependencies = ["pydantic-ai-slim[openai]==2.68.0"]
#
# [tool.uv]
# exclude-newer = "2026-11-22T00:00:00Z"
# ///
"""A console agent with Pydantic AI: streamed, stateless, its reasoning carried from round to round."""

import asyncio
import sys

from pydantic_ai import Agent, PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta
from pydantic_ai.models.openai import OpenAIResponsesModel, OpenAIResponsesModelSettings


def search(text: str, limit: int) -> str:
    """Search the library.

    Args:
        text: What to look for.
        limit: How many books at most.
    """
    return f"{limit} books about {text}. ".ljust(5_000, ".")


def read_page(book: str, page: int) -> str:
    """Read a page of a book.

    Args:
        book: The title of the book.
        page: The number of the page, from 1.
    """
    return f"Page {page} of {book}. ".ljust(5_000, ".")


agent = Agent(
    OpenAIResponsesModel("gpt-5.2", settings=OpenAIResponsesModelSettings(openai_store=False)),
    instructions="Answer from the library.",
    tools=[search, read_page],
)


async def answer(question: str) -> None:
    async with agent.run_stream_events(question) as events:
        async for event in events:
            match event:
                case PartStartEvent(part=TextPart(content=text)):
                    print(text, end="", flush=True)
                case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                    print(text, end="", flush=True)
                case _:
                    pass
    print()


async def main() -> None:
    while question := await asyncio.to_thread(sys.stdin.readline):
        await answer(question)


asyncio.run(main())
