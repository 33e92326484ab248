# /// script
# requires-python = ">=3.12"
# dependencies = ["openai-agents==0.24.0"]
#
# [tool.uv]
# exclude-newer = "2026-11-22T00:00:00Z"
# ///
"""A console agent with openai-agents: streamed, stateless, its reasoning carried from round to round."""

import asyncio
import sys

from agents import Agent, ModelSettings, Runner, function_tool, set_tracing_disabled


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


set_tracing_disabled(disabled=True)
agent = Agent(
    name="librarian",
    instructions="Answer from the library.",
    model="gpt-5.2",
    model_settings=ModelSettings(store=False, response_include=["reasoning.encrypted_content"]),
    tools=[function_tool(search), function_tool(read_page)],
)


async def answer(question: str) -> None:
    result = Runner.run_streamed(agent, question, max_turns=20)
    async for event in result.stream_events():
        if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
            print(event.data.delta, end="", flush=True)
    print()


async def main() -> None:
    while question := await asyncio.to_thread(sys.stdin.readline):
        await answer(question)


asyncio.run(main())
