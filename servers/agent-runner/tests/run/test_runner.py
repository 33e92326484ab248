import asyncio
import base64
import tracemalloc
from contextlib import aclosing

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_runner import (
    AgentRunner,
    ConfigurationError,
    ErrorOutput,
    ImageOutput,
    JsonOutput,
    RunResult,
    TextOutput,
    classify_line,
)


EVERY_TYPE = r"""
import json, sys
sys.stdin.read()
print("Hello")
print(json.dumps({"type": "image_output", "data": "aGk=", "mimeType": "image/png"}))
print(json.dumps({"answer": 1, "_llm_usage": {"total_tokens": 3}}))
print(json.dumps({"_llm_usage": {"total_tokens": 4}, "_trace_data": []}))
print("{}")
sys.stdout.buffer.write(b'"a\xe2\x80\xa8b"\n\n\xff\nno end')
"""


async def test_outputs_come_in_order_and_metadata_goes_to_the_result(make_agent, run_agent):
    outputs, result = await run_agent(make_agent(EVERY_TYPE), client_request_id="mine")
    assert outputs == [
        TextOutput(text="Hello"),
        ImageOutput(value={"type": "image_output", "data": "aGk=", "mimeType": "image/png"}),
        JsonOutput(value={"answer": 1}),
        JsonOutput(value={}),
        JsonOutput(value="a\u2028b"),
        TextOutput(text=""),
        TextOutput(text="\ufffd", invalid_utf8=True),
        TextOutput(text="no end"),
    ]
    assert result.metadata == {
        "_llm_usage": [{"total_tokens": 3}, {"total_tokens": 4}],
        "_trace_data": [[]],
    }
    assert result.to_dict() == {
        "type": "result",
        "status": "succeeded",
        "stop_reason": "exited",
        "exit_code": 0,
        "runner_request_id": result.runner_request_id,
        "client_request_id": "mine",
        "duration_seconds": result.duration_seconds,
    }


WRITE = """
import base64, json, os, sys
fields = json.load(sys.stdin)
for number, data in fields["writes"]:
    os.write(number, base64.b64decode(data))
sys.exit(fields["code"])
"""
WRITES = st.lists(
    st.tuples(
        st.sampled_from([1, 2]),
        st.binary(max_size=50)
        | st.sampled_from([b"\n", b'{"a": 1}\n', b"\xff\n", b"[", b'{"type": "image_output"}\n']),
    ),
    max_size=20,
)


async def _hold_whatever_is_written(make_agent, run_agent, writes, code):
    folder = make_agent(WRITE)
    encoded = [(number, base64.b64encode(data).decode()) for number, data in writes]
    outputs, result = await run_agent(folder, {"writes": encoded, "code": code})
    stdout, stderr = (
        b"".join(data for number, data in writes if number == wanted) for wanted in (1, 2)
    )
    errors = [output for output in outputs if isinstance(output, ErrorOutput)]
    assert [output for output in outputs if output not in errors] == [
        classify_line(line) for line in _lines(stdout)
    ]
    if code and not stderr:
        assert errors == [ErrorOutput(message=f"main.py exited with code {code}", source="runner")]
    else:
        assert len(errors) == len(_lines(stderr))
    assert (result.exit_code, result.stop_reason) == (code, "exited")


def _lines(data):
    lines = data.split(b"\n")
    return lines if lines[-1] else lines[:-1]


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(WRITES, st.integers(min_value=0, max_value=255))
async def test_whatever_a_script_writes_becomes_outputs(make_agent, run_agent, writes, code):
    await _hold_whatever_is_written(make_agent, run_agent, writes, code)


@pytest.mark.long
@settings(max_examples=10_000, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(WRITES, st.integers(min_value=0, max_value=255))
async def test_whatever_ten_thousand_scripts_write_becomes_outputs(
    make_agent, run_agent, writes, code
):
    await _hold_whatever_is_written(make_agent, run_agent, writes, code)


async def test_outputs_arrive_while_the_script_still_runs(make_agent, make_runner):
    folder = make_agent(
        """
        import pathlib, time
        print("first")
        while not pathlib.Path("go").exists():
            time.sleep(0.01)
        print("second")
        """
    )

    seen = []
    async for output in make_runner().run(folder, {}):
        seen.append(output)
        (folder / "go").touch()
    first, second, result = seen
    assert (first, second) == (TextOutput(text="first"), TextOutput(text="second"))
    assert isinstance(result, RunResult)


async def test_a_script_that_writes_to_stderr_may_succeed(make_agent, run_agent):
    folder = make_agent("import sys; sys.stderr.buffer.write(b'careful\\n\\xff')")
    outputs, result = await run_agent(folder)
    assert outputs == [
        ErrorOutput(message="careful"),
        ErrorOutput(message="\ufffd", invalid_utf8=True),
    ]
    assert result.status == "succeeded"


async def test_the_exit_code_decides_and_stderr_says_why(make_agent, run_agent):
    outputs, result = await run_agent(make_agent("import sys; sys.exit('no such city')"))
    assert outputs == [ErrorOutput(message="no such city")]
    assert (result.status, result.exit_code, result.stop_reason) == ("failed", 1, "exited")


@pytest.mark.parametrize(
    ("script", "message", "exit_code"),
    [
        ("raise SystemExit(3)", "main.py exited with code 3", 3),
        ("import os; os.kill(os.getpid(), 9)", "main.py was ended by SIGKILL", -9),
        ("import os; os.kill(os.getpid(), 40)", "main.py was ended by signal 40", -40),
    ],
)
async def test_a_script_that_fails_without_a_word_gets_one(
    make_agent, run_agent, script, message, exit_code
):
    outputs, result = await run_agent(make_agent(script))
    assert outputs == [ErrorOutput(message=message, source="runner")]
    assert (result.status, result.exit_code) == ("failed", exit_code)


async def test_runs_at_the_same_time_keep_apart(make_agent, make_runner):
    folder = make_agent("import json, sys; print(json.load(sys.stdin)['number'])")

    async def collect(number):
        return [output async for output in make_runner().run(folder, {"number": number})]

    runs = await asyncio.gather(*map(collect, range(4)))
    assert [run[0] for run in runs] == [JsonOutput(value=number) for number in range(4)]
    assert len({run[-1].runner_request_id for run in runs}) == 4


async def test_the_default_command_runs_the_script_with_uv(make_agent, run_agent):
    folder = make_agent(
        """
        # /// script
        # requires-python = ">=3.11"
        # dependencies = []
        # ///
        import json, sys
        print(json.load(sys.stdin)["prompt"])
        sys.exit(3)
        """
    )
    outputs, result = await run_agent(folder, {"prompt": "東京"}, command=None)
    assert outputs[0] == TextOutput(text="東京")
    assert result.exit_code == 3
    assert {path.name for path in folder.iterdir()} == {"main.py", "logs"}


@pytest.mark.parametrize("command", [["no-such-command"], ["/"]])
async def test_a_command_that_cannot_be_started_is_named(make_agent, run_agent, command):
    with pytest.raises(ConfigurationError, match=f"command: {command[0]!r} cannot be started"):
        await run_agent(make_agent(""), command=command)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"timeout_seconds": 0}, "timeout_seconds: expected a number above 0, got 0"),
        ({"max_line_bytes": -1}, "max_line_bytes: expected a number above 0, got -1"),
        ({"max_output_bytes": 0}, "max_output_bytes: expected a number above 0, got 0"),
        ({"max_output_lines": 0}, "max_output_lines: expected a number above 0, got 0"),
        ({"timeout_seconds": float("nan")}, "timeout_seconds: expected a number above 0, got nan"),
        ({"terminate_seconds": -1}, "terminate_seconds: expected 0 or more, got -1"),
        ({"keep_logs": -1}, "keep_logs: expected 0 or more, got -1"),
        ({"command": []}, "command: expected a program, got nothing"),
    ],
)
def test_a_setting_out_of_its_range_is_refused_at_once(setting, message):
    with pytest.raises(ConfigurationError) as caught:
        AgentRunner(**setting)
    assert str(caught.value) == message


async def test_a_folder_without_a_script_is_refused(tmp_path, run_agent):
    with pytest.raises(ConfigurationError, match=r"main\.py: expected a script") as caught:
        await run_agent(tmp_path)
    assert caught.value.subject == str(tmp_path / "main.py")


async def test_stdin_is_one_json_object_and_then_ends(make_agent, run_agent):
    folder = make_agent("import sys; data = sys.stdin.buffer.read(); print(data.decode())")
    [output], result = await run_agent(folder, {"prompt": "\ud83d 東"}, client_request_id="")
    assert output.value == {
        "prompt": "\ud83d 東",
        "runner_request_id": result.runner_request_id,
        "client_request_id": "",
    }


async def test_the_clients_id_is_handed_on_only_if_there_is_one(make_agent, run_agent):
    folder = make_agent("import json, sys; print(json.dumps(list(json.load(sys.stdin))))")
    [output], _ = await run_agent(folder)
    assert output == JsonOutput(value=["runner_request_id"])


HUNDRED_THOUSAND = """
import json, pathlib, sys, time
pathlib.Path("size").write_text(str(len(sys.stdin.read())))
print(json.dumps([[number] for number in range(100_000)]))
while not pathlib.Path("go").exists():
    time.sleep(0.01)
"""


async def test_what_a_script_was_given_and_has_printed_is_let_go_while_it_runs(
    make_agent, make_runner
):
    folder = make_agent(HUNDRED_THOUSAND)
    tracemalloc.start()
    try:
        stream = make_runner().run(folder, {"a": "x" * 4_000_000}, files={"b": b"x" * 4_000_000})
        async with aclosing(stream):
            assert len((await anext(stream)).value) == 100_000
            following = asyncio.ensure_future(anext(stream))
            await asyncio.sleep(0)
            held, _ = tracemalloc.get_traced_memory()
            (folder / "go").touch()
            result = await following
    finally:
        tracemalloc.stop()

    assert result.status == "succeeded"
    assert int((folder / "size").read_text()) > 4_000_000
    assert held < 3_000_000
