"""`dify-host chat --run-log`: what both plugins do for a question, in a file."""

import subprocess
import sys
from pathlib import Path

from run_log import RunFile, list_runs


ROOT = Path(__file__).parents[1]


def test_a_chat_is_logged_where_it_is_asked_to_be(tmp_path):
    command = Path(sys.executable).with_name("dify-host")
    question = "What is 17 * 23?"
    done = subprocess.run(
        [command, "chat", "--plugins", ROOT / "plugins", "--run-log", "runs", question],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    [run] = list_runs(tmp_path / "runs")
    file = RunFile(run.path)
    kinds = [record["type"] for record in file.iter_records()]
    assert file.problems == ()
    assert {"bound", "started", "result"} <= set(kinds)
    assert run.end["usage"]["total_tokens"] > 0
    requests = list(file.iter_requests())
    assert question in str(requests[0].messages)
    assert [request.dropped for request in requests] == [0] * run.end["rounds"]
