import json
import stat
from contextlib import aclosing

import pytest

from agent_runner import ConfigurationError


def _records(folder):
    [path] = (folder / "logs").iterdir()
    return [json.loads(line) for line in path.read_text().splitlines()]


LEAK = """
import base64, json, os, sys
sys.stdin.read()
print(os.environ)
print(json.dumps(dict(os.environ)))
print(json.dumps(dict(os.environ), ensure_ascii=False), file=sys.stderr)
for value in os.environ.values():
    print(value)
"""
SECRETS = {
    "OPENAI_API_KEY": 'sk-"quoted"-ключ',
    "MY_TOKEN": "tok-1234",
    "LONGER_TOKEN": "tok-1234-and-more",
    "PRIVATE_PEM": "-----BEGIN-----\nMIIEvQIBADANBg\n-----END-----",
    "SMTP_PASS": "mail-5678",
    "DB_PWD": "base-9012",
    "DATABASE_URL": "postgres://me:hunter22@db/x",
}


@pytest.mark.untraced
async def test_a_script_that_leaks_its_environment_leaks_nothing_into_the_log(
    make_agent, run_agent
):
    folder = make_agent(LEAK)
    outputs, _ = await run_agent(folder, {"prompt": "my-private-prompt"}, production_env=SECRETS)
    [path] = (folder / "logs").iterdir()
    log = path.read_text()
    for part in ("quoted", "tok-1234", "and-more", "MIIEvQ", "mail-5678", "base-9012", "hunter22"):
        assert part not in log
    assert "my-private-prompt" not in log
    assert "[redacted]" in log
    assert "tok-1234" in str(outputs)


async def test_an_environment_without_secrets_redacts_nothing(make_agent, run_agent):
    folder = make_agent("print('PATH and a_KEY')")
    await run_agent(folder, production_env={"SHORT_KEY": "a"})
    assert [record["line"] for record in _records(folder) if "line" in record] == ["PATH and a_KEY"]


async def test_the_log_tells_the_run(make_agent, run_agent):
    folder = make_agent(
        """
        import json, sys, time
        sys.stdin.read()
        print(json.dumps({"_llm_usage": 5}))
        sys.exit("bad")
        """
    )
    _, result = await run_agent(folder, client_request_id="mine")
    started, usage, error, ended = _records(folder)
    assert started["event"] == "started"
    assert started["runner_request_id"] == result.runner_request_id
    assert started["client_request_id"] == "mine"
    assert "PYTHONUNBUFFERED" in started["environment"]
    assert len(started["input_sha256"]) == 64
    assert (usage["event"], usage["type"], usage["line"]) == (
        "stdout",
        "json_output",
        '{"_llm_usage": 5}',
    )
    assert (error["event"], error["type"], error["line"]) == ("stderr", "error", "bad")
    assert ended["event"] == "ended"
    assert (ended["status"], ended["exit_code"]) == ("failed", 1)


async def test_long_lines_are_cut_in_the_log_only(make_agent, run_agent):
    folder = make_agent("print('x' * 100_000)")
    [output], _ = await run_agent(folder)
    [line] = [record for record in _records(folder) if record["event"] == "stdout"]
    assert len(output.text) == 100_000
    assert (len(line["line"]), line["characters"]) == (16384, 100_000)


async def test_only_the_newest_logs_are_kept_and_other_files_are_left_alone(make_agent, run_agent):
    folder = make_agent("")
    (folder / "logs").mkdir()
    (folder / "logs" / "notes.jsonl").touch()
    ids = [(await run_agent(folder, keep_logs=2))[1].runner_request_id for _ in range(4)]
    kept = {path.stem.split("_")[-1] for path in (folder / "logs").iterdir()}
    assert kept == {"notes", *ids[2:]}


async def test_no_log_is_written_where_none_is_wanted(make_agent, run_agent):
    folder = make_agent("print(1)")
    await run_agent(folder, keep_logs=0)
    assert not (folder / "logs").exists()


async def test_only_the_owner_can_read_the_log(make_agent, run_agent):
    folder = make_agent("")
    await run_agent(folder)
    [path] = (folder / "logs").iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_a_log_that_cannot_be_opened_is_told_before_the_script_starts(make_agent, run_agent):
    folder = make_agent("open('started', 'w')")
    (folder / "logs").touch()
    with pytest.raises(ConfigurationError, match="logs: expected a folder for logs"):
        await run_agent(folder)
    assert not (folder / "started").exists()


@pytest.mark.parametrize(("lines", "last"), [(1, "interrupted"), (2, "ended")])
async def test_a_run_that_its_caller_leaves_is_logged_as_such(make_agent, make_runner, lines, last):
    folder = make_agent("print(1)")

    async with aclosing(make_runner().run(folder, {})) as outputs:
        for _ in range(lines):
            await anext(outputs)
    assert _records(folder)[-1]["event"] == last
