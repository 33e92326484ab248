"""Many streams of many keys at once: each has its own text, and when they are over nothing of them is left."""

import logging
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import batched
from typing import Any

import psutil
import pytest

from gpt5_simulator import RawServer
from model_plugin import Answer, ModelPlugin, credentials_for
from raw_answers import json_answers
from soak_server import SAID_BEFORE_THE_END, SoakServer, kind_of, words


LOGGER = logging.getLogger(__name__)  # shown with `--log-cli-level=info`
KEYS = 40
AT_ONCE = 40
QUIET_SECONDS = 120
MEGABYTE = 1024 * 1024


@dataclass(frozen=True)
class Usage:
    """What the plugin has at a time; its `files` are those that are no connections, of which it closes idle ones after five seconds."""

    memory_bytes: int
    threads: int
    files: int
    connections: int


def use_of(plugin: ModelPlugin, server: SoakServer) -> Usage:
    """Measure once nothing is under way any more."""
    process = psutil.Process(plugin.pid)
    deadline = time.monotonic() + QUIET_SECONDS
    while server.open_connections > KEYS and time.monotonic() < deadline:
        time.sleep(0.05)
    connections = len(process.net_connections("tcp"))
    files = process.num_fds() - connections
    return Usage(process.memory_info().rss, process.num_threads(), files, connections)


def mark_of(number: int) -> str:
    return f"k{number % KEYS}s{number}"


def call_of(server: SoakServer, number: int, *later: dict[str, Any]) -> dict[str, Any]:
    credentials = {
        "openai_api_key": f"key-{number % KEYS}",
        "openai_api_base": server.base_url,
        "max_retries": "0",
    }
    return {
        "messages": [{"role": "user", "content": mark_of(number)}, *later],
        "credentials": credentials,
        "most_chunks": 1 if kind_of(number) == "abandoned" else None,
    }


def result_of(answer: Answer) -> list[dict[str, Any]]:
    """Return the messages that answer a tool call, as a platform sends them that drops `opaque_body`."""
    message = answer.last["message"]
    asked = {"role": "assistant", "content": "", "tool_calls": message["tool_calls"]}
    result = {"role": "tool", "content": "4", "tool_call_id": message["tool_calls"][0]["id"]}
    return [asked, result]


def run_streams(plugin: ModelPlugin, server: SoakServer, numbers: Iterable[int]) -> None:
    """Send the streams, answer the tool calls among them, and look at every text."""
    # Of more at a time the plugin would forget answers before their tool calls come back: it remembers a thousand.
    for batch in batched(numbers, 500):
        answers = plugin.invoke_all([call_of(server, number) for number in batch], at_once=AT_ONCE)
        found = dict(zip(batch, answers, strict=True))
        called = [number for number in batch if kind_of(number) == "call"]
        later = [call_of(server, number, *result_of(found[number])) for number in called]
        found |= zip(called, plugin.invoke_all(later, at_once=AT_ONCE), strict=True)
        for number, answer in found.items():
            assert_own(number, answer)


def assert_own(number: int, answer: Answer) -> None:
    whole = "".join(words(mark_of(number)))
    told = answer.text + str(answer.error and vars(answer.error))
    assert set(re.findall(r"k\d+s\d+", told)) <= {mark_of(number)}
    match kind_of(number):
        case "whole" | "call":
            assert (answer.text, answer.error) == (whole, None)
        case "abandoned":
            assert whole.startswith(answer.text)
        case "cut" | "failed":
            assert answer.text == "".join(words(mark_of(number))[:SAID_BEFORE_THE_END])
            assert answer.error is not None
        case _:
            assert answer.error is not None
            assert answer.error.error_type == "InvokeRateLimitError"


@pytest.mark.parametrize("streams", [80, pytest.param(6_000, marks=pytest.mark.long)])
def test_many_streams_of_many_keys_keep_apart_and_leave_nothing(
    start_plugin: Callable[..., ModelPlugin],
    plugin: ModelPlugin,
    streams: int,
) -> None:
    plugin = plugin if streams < 1_000 else start_plugin()
    warm_up = max(KEYS, streams // 4)
    with SoakServer() as server:
        run_streams(plugin, server, range(warm_up))
        before = use_of(plugin, server)
        LOGGER.info("after %d streams: %s", warm_up, before)
        for start in range(warm_up, streams, warm_up):
            run_streams(plugin, server, range(start, start + warm_up))
            after = use_of(plugin, server)
            LOGGER.info("after %d streams: %s", start + warm_up, after)

        assert server.strangers == []
        assert server.replayed >= streams // 10  # those whose call has an id of its own
    assert after.memory_bytes < before.memory_bytes + 16 * MEGABYTE
    assert after.threads <= before.threads + 4
    assert after.files <= before.files + 4
    assert after.connections <= KEYS + 4


@pytest.mark.parametrize("rounds", [1, pytest.param(120, marks=pytest.mark.long)])
def test_memory_stays_flat_with_fifty_keys(
    start_plugin: Callable[..., ModelPlugin], plugin: ModelPlugin, rounds: int
) -> None:
    """Each key has an HTTP client of its own, and none is made anew for each call. After some 15,000 calls the process has all that it keeps."""
    plugin = plugin if rounds < 10 else start_plugin()
    with RawServer(
        json_answers(b'{"status": "completed", "output": [{"type": "reasoning"}]}')
    ) as server:
        keys = [credentials_for(server, f"key-{number}") for number in range(50)]
        messages = [{"role": "user", "content": "Hi"}]

        def call_with_each(times: int) -> int:
            calls = [{"messages": messages, "credentials": key} for key in keys * times]
            assert {answer.error for answer in plugin.invoke_all(calls, at_once=10)} == {None}
            return psutil.Process(plugin.pid).memory_info().rss

        *_, before, after = [call_with_each(rounds) for _ in range(4)]
        LOGGER.info("after %d calls: %d bytes, then %d", 150 * rounds, before, after)

    assert after < before + 4 * MEGABYTE
