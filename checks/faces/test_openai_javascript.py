"""The openai client for JavaScript, in a program of its own that prints what it was told."""

import json
import subprocess
from pathlib import Path

import pytest


PROGRAM = Path(__file__).with_name("with_openai.mjs")


@pytest.fixture(scope="module")
def told(base_url, packages):
    done = subprocess.run(
        [packages / ".bin/node", PROGRAM, packages, base_url],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


def test_it_streams_and_its_helper_puts_the_answer_together(told):
    assert told["text"] == "It is that. "
    assert told["numbers"] == list(range(len(told["types"])))
    assert told["types"][-1] == "response.completed"
    assert told["helped"] == told["added"] == "The sums are 3 and 7. "
    assert told["calls"] == ["3", "7"]


def test_it_calls_its_own_tool(told):
    assert told["asked"] == [["get_weather", {"city": "Paris"}]]
    assert told["answered"] == "The client says: sunny in Paris "


def test_a_person_is_asked(told):
    assert told["request"] == ["mcp_approval_request", "pay", "payer"]
    assert told["paid"] == "The bank says: 30 euros are on their way. "


def test_it_goes_on(told):
    assert told["turns"] == ["This is answer 1. ", "This is answer 2. ", "This is answer 2. "]
    assert told["items"] == ["user", "assistant", "user"]


def test_it_takes_up_a_stream_cancels_and_deletes(told):
    assert told["resumed"] == [told["resumed"][0], 5, "response.completed"]
    assert told["followed"] == list(range(5, told["resumed"][0]))
    assert told["followedText"] == "The sums are 3 and 7. "
    assert told["cancelled"] == "cancelled"
    deleted = {"kind": "NotFoundError", "status": 404, "code": "not_found", "param": None}
    assert told["deleted"] == deleted


def test_it_is_told_the_models_and_what_is_wrong(told):
    assert {"talker", "adder", "payer"} <= set(told["models"])
    assert told["refused"] == {
        "kind": "BadRequestError",
        "status": 400,
        "code": "unsupported_parameter",
        "param": "max_tool_calls",
    }
