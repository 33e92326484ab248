"""Write the blocking twins of asynchronous modules: `python tools/repository/blocking.py`.

A module that only awaits what it calls is written once, asynchronously, and its blocking twin made of it by replacing words, as
`scripts/unasync.py` of httpcore does (the library unasync, 0.6.0, leaves docstrings, imports and the format as they were). What waits, cancels or
reads in a way of its own is written by hand, behind names that both twins call.

To add one, name it in `TWINS`, with whatever else the two call differently.
"""

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path


ROOT = Path(__file__).parents[2]
_RESPONSES = "packages/gpt5-responses/src/gpt5_responses"
_SERVER_CLIENT = "servers/agent-server/src/agent_server/_client"
_DRIVER = "packages/agent-driver/src/agent_driver/_drive"
_DRIVE = """The tools of a round run at once, each in a thread of its own. Whoever holds the generator may stop at any event
    and close it: the model's answer is let go of, and so are tools that still run. What the model's client raises ends
    the run with its text, and goes to the log `agent_driver` whole; so does what tools raise, of which the model reads
    only that they failed. What is no `Exception`, such as `SystemExit`, ends a tool alone, and leaves through the
    generator where the model's client raises it."""

TWINS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    f"{_RESPONSES}/_async_client.py": (
        f"{_RESPONSES}/_client.py",
        {
            "An asynchronous client for one model. Use it as an asynchronous context manager, or call `aclose`.": "A blocking client for one model. It may be used as a context manager; connections that nobody uses are closed after a while anyway.",
            "Return a session for one run; use it as an asynchronous context manager, or call `aclose`.": "Return a session for one run; use it as a context manager, or call `close`.",
            "the server runs by itself.\n": "the server runs by itself.\n        transport: Who sends; the process's own by default.\n",
            "Return the response to a request as a stream of events; the request is sent when the stream is entered.": "Send a request and return its response as a stream of events.",
            "AsyncSide": "BlockingSide",
            "async_stream": "stream",
        },
    ),
    f"{_RESPONSES}/_http/async_network.py": (
        f"{_RESPONSES}/_http/network.py",
        {
            '_BACKEND: httpcore.AsyncNetworkBackend = cast("Any", httpcore.AnyIOBackend)()': "_BACKEND = httpcore.SyncBackend()",
            "import asyncio\n": "",
            "await asyncio.to_thread(resolve, host)": "resolve(host)",
            "asyncio.sleep(0)": "time.sleep(0)",
            "Awaitable[bytes]": "bytes",
            "import Awaitable, Callable": "import Callable",
            "one asynchronous connection": "one blocking connection",
            "An asynchronous connection": "A blocking connection",
        },
    ),
    f"{_RESPONSES}/_streams/async_body_reads.py": (
        f"{_RESPONSES}/_streams/body_reads.py",
        {
            "        limits: How long to wait.\n": "        limits: How long to wait.\n        pause: Called when everything that has arrived has been yielded, if given.\n",
            "async_iter_batches(\n    answer: HttpAnswer, reader: ResponseReader, limits: TimeLimits\n": "iter_batches(\n    answer: HttpAnswer, reader: ResponseReader, limits: TimeLimits, pause: Pause | None\n",
            "async_waiting(answer.stream, reader, limits)": "waiting(answer.stream, reader, limits, pause)",
            "import async_waiting": "import Pause, waiting",
            "for events in reader.feed(data):\n                yield events": "yield from reader.feed(data)",
            "for events in reader.close():\n            yield events": "yield from reader.close()",
            "aiter_stream": "iter_stream",
        },
    ),
    f"{_SERVER_CLIENT}/asynchronous.py": (
        f"{_SERVER_CLIENT}/blocking.py",
        {
            "The client for asyncio, from which the blocking one is generated.": "The client that waits for each answer.",
            "A client for asyncio; close it, or use it as a context manager. Bound a wait with `asyncio.timeout`.": "A client for programs that wait for each answer; close it, or use it as a context manager.",
            "print((await client.get(run.run_id)).output)": "print(client.get(run.run_id).output)",
            '(await self._call(build_call("GET", "agents"), AgentsDocument)).agents': 'self._call(build_call("GET", "agents"), AgentsDocument).agents',
            "for run in page.runs:\n                yield run": "yield from page.runs",
            "from asyncio import sleep": "from time import sleep",
            "aclosing": "closing",
            "aiter_sse": "iter_sse",
            "aread": "read",
        },
    ),
    f"{_DRIVER}/async_drive.py": (
        f"{_DRIVER}/drive.py",
        {
            """As `drive`, in the running event loop: tools with `async` run as tasks, the others in threads, and so does a model
    whose answer is an ordinary iterable. When the task that reads the events is cancelled, or the generator is closed
    with `aclose`, everything that runs is let go of.""": _DRIVE,
            "If an argument is of a kind that cannot be it.": "If an argument is of a kind that cannot be it, or, with the first request, if the model has to be awaited.",
            "adrive": "drive",
            "aclosing": "closing",
            "async_": "",
        },
    ),
    f"{_DRIVER}/async_stream.py": (
        f"{_DRIVER}/stream.py",
        {
            "as an asynchronous iterator": "as an iterator",
            "it is an asynchronous context manager": "it is a context manager",
            "adrive": "drive",
            "aclosing": "closing",
            "async_": "",
            "async for event in events:\n                yield event": "yield from events",
        },
    ),
}
"""The asynchronous modules, each with its blocking twin and what is replaced there besides `_WORDS`: text by text."""

_WORDS = {
    r"async (def|for|with)\b": r"\1",
    r"await ": "",
    r"\bAsync(?=[A-Z])": "",
    r"\b_async_": "_",
    r"__a(enter|exit|iter|next)__": r"__\1__",
    r"\ba(close|iter|next)\b": r"\1",
    r"\basynccontextmanager\b": "contextmanager",
    r"\bStopAsyncIteration\b": "StopIteration",
}


def write_blocking(source: str) -> str:
    """Return the blocking twin of an asynchronous module, by its path below the root."""
    _, replaced = TWINS[source]
    text = (ROOT / source).read_text(encoding="utf-8")
    for old, new in replaced.items():
        if old not in text:
            raise ValueError(f"{source} holds no {old!r}")
        text = text.replace(old, new)
    for pattern, word in _WORDS.items():
        text = re.sub(pattern, word, text)
    text = f"# Generated from {Path(source).name} by tools/repository/blocking.py (nox -s blocking).\n{text}"
    return _ruff("format", _ruff("check", text, "--fix-only", "--select=I"))


def _ruff(command: str, text: str, *options: str) -> str:
    called = [sys.executable, "-m", "ruff", command, *options, "--quiet", "--stdin-filename"]
    return subprocess.run(
        [*called, str(ROOT / "packages/twin.py"), "-"],
        input=text,
        capture_output=True,
        check=True,
        text=True,
        encoding="utf-8",
        cwd=ROOT,
    ).stdout


if __name__ == "__main__":
    for source, (target, _) in TWINS.items():
        (ROOT / target).write_text(write_blocking(source), encoding="utf-8")
