"""Ollama's own routes and llama.cpp's own converter, where programs with them are given."""

import json
import subprocess
from contextlib import contextmanager

import pytest

from proxies import KEY, await_models, find_port
from talks import SAID, TALKS
from upstream import MODEL, THOUGHT, serve_responses


@pytest.fixture
def program(request):
    """Give out a function that returns the program of an option, and skips the test without it."""

    def find(option):
        return request.config.getoption(option) or pytest.skip(f"without {option}")

    return find


@contextmanager
def _run_ollama(program, place):
    """Run the program; yield its base URL and a function that returns the chat requests that Ollama's converter has made."""
    port, log = find_port(), place / "log"
    with (
        log.open("wb") as written,
        subprocess.Popen([program, str(port)], stdout=written) as process,
    ):
        try:
            url = f"http://127.0.0.1:{port}/v1"
            await_models(process, url, log)
            yield url, lambda: [json.loads(line) for line in log.read_text().splitlines()]
        finally:
            process.terminate()


@pytest.mark.parametrize("who", TALKS)
async def test_ollama_reads_what_is_sent_and_what_it_sends_is_read(who, program, tmp_path):
    with _run_ollama(program("--ollama"), tmp_path) as (base_url, asked):
        assert await TALKS[who](base_url, MODEL, KEY) == SAID
        *_, last = asked()
    assert [one.get("thinking") for one in last["messages"]].count(THOUGHT) == 3
    assert sum(bool(one.get("images")) for one in last["messages"]) == 2


def _convert(converter, body):
    """Return the chat request that llama.cpp makes of a body."""
    done = subprocess.run(
        [converter], input=json.dumps(body), capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("who", TALKS)
async def test_llama_cpp_s_converter_takes_every_body(who, program):
    converter = program("--llama-converter")
    with serve_responses(like="llama.cpp") as (base_url, asked):
        assert await TALKS[who](base_url, MODEL, KEY) == SAID
        bodies = asked()
    assert len(bodies) == 4
    *_, last = [_convert(converter, body) for body in bodies]
    assert last["messages"][-2]["reasoning_content"] == THOUGHT
