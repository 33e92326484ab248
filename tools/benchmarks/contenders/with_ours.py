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
"""A console agent with `agent_driver` and `gpt5_responses`: streamed, stateless, its reasoning carried from round to round."""

import sys

from agent_driver import Agent, ShowText
from gpt5_responses import ModelConfig, ResponsesClient


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
    ResponsesClient(ModelConfig.from_env(model="gpt-5.2")),
    [search, read_page],
    instruction="Answer from the library.",
    maximum_iterations=20,
)
for question in sys.stdin:
    with agent.stream(question) as events:
        for event in events:
            if isinstance(event, ShowText):
                print(event.text, end="", flush=True)
    print()
