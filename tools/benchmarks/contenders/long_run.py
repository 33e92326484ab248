"""A console agent of many rounds with `agent_driver` and `gpt5_responses`: `long_run.py [TRANSPORT [SECONDS]]`.

A tool takes so many seconds.
"""

import sys
import time
from dataclasses import replace
from typing import Any

from agent_driver import Agent
from gpt5_responses import ModelConfig, ResponsesClient


transport, seconds = (*sys.argv[1:], "http", "0")[:2]


def search(text: str, limit: int) -> str:
    """Search the library.

    Args:
        text: What to look for.
        limit: How many books at most.
    """
    time.sleep(float(seconds))
    return f"{limit} books about {text}. ".ljust(5_000, ".")


def read_page(book: str, page: int) -> str:
    """Read a page of a book.

    Args:
        book: The title of the book.
        page: The number of the page, from 1.
    """
    return f"Page {page} of {book}. ".ljust(5_000, ".")


# An earlier build has no choice of transports.
chosen: dict[str, Any] = {} if transport == "http" else {"transport": transport}
agent = Agent(
    ResponsesClient(replace(ModelConfig.from_env(model="gpt-5.2"), **chosen)),
    [search, read_page],
    instruction="Answer from the library.",
    maximum_iterations=100,
)
for question in sys.stdin:
    print(agent.run(question).text, flush=True)
