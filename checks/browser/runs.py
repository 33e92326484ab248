"""Runs to look at: an agent that researches for thirty rounds, with everything that goes wrong on the way."""

import base64
import random
import struct
import zlib
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from agent_driver import drive
from agent_loop import AgentRun, Budgets, CallModel
from agent_tooling import ToolError, tool
from run_log import RunLog, list_runs


QUESTION = "Which of the three harbours should the ferry use in winter? Compare depth, ice and cost, with sources."
INSTRUCTION = "You are a port analyst. Use the tools, name your sources, and be brief."
NEEDLE = "the berth at Halden silts up"
HOSTILE = (
    '<script>window.hacked = 1</script><img src=x onerror="window.hacked = 2"><style>*{display:none!important}</style>'
    '<a href="javascript:window.hacked=3">x</a><iframe src="//evil.example"></iframe> \u202etxt.exe\u202c </div></td>\x1b[31m '
)
_WORDS = [
    "harbour",
    "depth",
    "ice",
    "winter",
    "berth",
    "cost",
    "survey",
    "tide",
    "channel",
    "pilot",
    "dredging",
    "ferry",
    "season",
    "metre",
    "report",
    "north",
    "quay",
    "draught",
]


def make_text(seed: int, characters: int) -> str:
    """Return text like a page's."""
    chosen = random.Random(seed)
    lines = []
    while sum(map(len, lines)) < characters:
        lines.append(" ".join(chosen.choices(_WORDS, k=14)).capitalize() + ".")
    return "\n".join(lines)[:characters]


def make_png(seed: int, width: int = 720, height: int = 380) -> bytes:
    """Return a picture of a chart, as large as a photograph: bars on a ground of noise."""
    noise = random.Random(seed).randbytes(width * 3)
    ground = bytes(230 + value % 20 for value in noise)
    rows = bytearray()
    for y in range(height):
        row = bytearray(ground)
        for bar in range(9):
            if y > height - 30 - (bar * seed * 7) % (height - 60):
                left = 3 * (30 + bar * 76)
                row[left : left + 150] = bytes((70, 110, 190)) * 50
        rows += b"\0" + row

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + check

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = (
        chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(rows), 0)) + chunk(b"IEND", b"")
    )
    return b"\x89PNG\r\n\x1a\n" + body


@tool
def search(query: str, limit: int = 5) -> str:
    """Search reports. Returns titles and what they say.

    Args:
        query: What to look for.
        limit: How many.
    """
    return f"{limit} reports on {query}\n" + make_text(len(query), 600)


@tool
def read_report(number: int) -> str:
    """Read a report whole.

    Args:
        number: Its number.
    """
    if number == 13:
        raise ToolError("Report 13 is withdrawn.")
    extra = NEEDLE + ".\n" if number == 7 else ""
    return extra + make_text(number, 24_000)


@tool
def weather(place: str) -> str:
    """Say how the ice is at a place.

    Args:
        place: The place.
    """
    return HOSTILE + f"Ice at {place}: 40 cm."


@tool
def chart(harbour: int) -> list[dict[str, Any]]:
    """Draw a chart of depths.

    Args:
        harbour: The number of the harbour.
    """
    url = "data:image/png;base64," + base64.b64encode(make_png(harbour)).decode()
    text = {"type": "text", "text": f"The depths of harbour {harbour}."}
    return [text, {"type": "image_url", "image_url": {"url": url}}]


TOOLS = [search, read_report, weather, chart]


def answer(call: CallModel) -> Iterator[object]:
    """Answer as a model that works through its list."""
    number = call.round
    usage = {
        "input_tokens": 1800 + 2600 * number,
        "cached_tokens": 0 if number in {1, 12} else 1500 + 2500 * (number - 1),
        "output_tokens": 180 + 7 * number,
        "reasoning_tokens": 64 + 5 * number,
        "total_tokens": 1980 + 2607 * number,
        "total_price": Decimal(31 + 7 * number) / 10_000,
        "currency": "USD",
    }
    thought = f"**Step {number}**\n\nThe next source is report {number}; its depth figures decide between the harbours."
    yield {"text": f"<think>\n{thought}\n</think>"}
    if call.is_closing or number >= 30:
        yield {
            "text": "Use **Moss** in winter: 9.2 m at the quay, the least ice, and dredging costs half of Halden's [7, 21].",
            "phase": "final_answer",
            "usage": usage,
            "finish_reason": "stop",
        }
        return
    yield {"text": f"I read report {number} next.", "phase": "commentary"}
    yield {"tool_calls": _calls(number), "usage": usage, "finish_reason": "tool_calls"}


def _calls(number: int) -> list[dict[str, object]]:
    calls = [
        (
            "read_report",
            f'{{"number": "{number}"}}' if number % 5 == 0 else f'{{"number": {number}}}',
        )
    ]
    if number % 3 == 0:
        calls.append(("search", f'{{"query": "winter depth {number}", "limit": 3}}'))
    if number % 4 == 0:
        calls.append(("weather", '{"place": "Halden"}'))
    if number == 6:
        calls.append(("search", '{"query": "ice", "limit": "many"}'))
    if number in {9, 14, 17, 23}:
        calls.append(("chart", f'{{"harbour": {number}}}'))
    if number == 18:
        calls.append(("teleport", '{"to": "Moss"}'))
    return [
        {"call_id": f"call_{number}_{index}", "name": name, "arguments": arguments, "index": index}
        for index, (name, arguments) in enumerate(calls)
    ]


def write_long_run(folder: Path) -> str:
    """Log a run of thirty rounds and some megabytes; return its name."""
    log = RunLog(
        folder,
        about={"program": "ferry-agent", "model": "gpt-5.5", "effort": "medium", "query": QUESTION},
    )
    messages = [{"role": "system", "content": INSTRUCTION}, {"role": "user", "content": QUESTION}]
    run = AgentRun(
        messages,
        maximum_iterations=40,
        max_request_bytes=3_200_000,
        model="gpt-5.5",
        budgets=Budgets(max_tool_calls=60, max_total_tokens=3_000_000),
    )
    for _ in drive(run, answer, TOOLS, log=log):
        pass
    return list_runs(folder)[0].path.stem
