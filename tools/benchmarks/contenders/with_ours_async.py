# /// script
# requires-python = ">=3.12"
# dependencies = ["gpt5-agent-driver", "gpt5-responses"]
#
# [tool.uv]
# exclude-newer = "2026-11-22T00:00:00Z"
#
# [tool.uv.sources]
# gpt5-agent-driver = { path = "../../packages/agent-driver", editable = true }
# gpt5-responses = { path = "../../packages/gpt5-responses", editable = true }
# ///
"""The same as `ours.py`, asynchronous."""

import asyncio
import os
import sys

from agent_driver import adrive
from agent_loop import AgentRun, ShowText
from gpt5_responses import AsyncResponsesClient, ModelConfig


def search(text: str, limit: int = 5) -> str:
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


config = ModelConfig(
    model_id="gpt-5.2",
    api_key=os.environ["OPENAI_API_KEY"],
    base_url=os.environ["OPENAI_BASE_URL"],
)
instructions = {"role": "system", "content": "Answer from the library."}


async def answer(client: AsyncResponsesClient, question: str) -> None:
    run = AgentRun([instructions, {"role": "user", "content": question}], maximum_iterations=20)
    async for event in adrive(run, client.answer, [search, read_page]):
        if isinstance(event, ShowText):
            print(event.text, end="", flush=True)
    print()


async def main() -> None:
    async with AsyncResponsesClient(config) as client:
        while question := await asyncio.to_thread(sys.stdin.readline):
            await answer(client, question)


asyncio.run(main())
