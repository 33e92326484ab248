# /// script
# requires-python = ">=3.12"
# dependencies = ["gpt5-agent-driver", "gpt5-responses"]
#
# [tool.uv]
# exclude-newer = "2026-11-22T00:00:00Z"
#
# [tool.uv.sources]
# gpt5-agent-driver = { path = "../../../packages/agent-driver", editable = true }
# gpt5-responses = { path = "../../../packages/gpt5-responses", editable = true }
# ///
"""The same as `ours.py`, asynchronous."""

import asyncio
import sys

from agent_driver import Agent, ShowText
from gpt5_responses import AsyncResponsesClient, ModelConfig


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


async def answer(agent: Agent, question: str) -> None:
    async with agent.astream(question) as events:
        async for event in events:
            if isinstance(event, ShowText):
                print(event.text, end="", flush=True)
    print()


async def main() -> None:
    async with AsyncResponsesClient(ModelConfig.from_env(model="gpt-5.2")) as client:
        agent = Agent(
            client,
            [search, read_page],
            instruction="Answer from the library.",
            maximum_iterations=20,
        )
        while question := await asyncio.to_thread(sys.stdin.readline):
            await answer(agent, question)


asyncio.run(main())
