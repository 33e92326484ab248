"""What docs/run-log-from-elsewhere.md says of openai-agents; of the others checks/chain does."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from gpt5_simulator import FunctionCall, ResponsesSimulator


ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/run-log-from-elsewhere.md"
LIBRARY = ("--with", "openai-agents==0.24.0", "--exclude-newer", "2026-11-22T00:00:00Z")
READ = """
import json
from run_log import RunFile, list_runs

file = RunFile(list_runs("runs")[0].path)
requests = [request.messages for request in file.iter_requests()]
print(json.dumps([list(file.iter_records()), requests, len(file.problems)]))
"""


def test_a_run_of_openai_agents_is_logged(
    responses_simulator: ResponsesSimulator, tmp_path: Path
) -> None:
    responses_simulator.add_reply(FunctionCall(name="add", arguments={"a": 2, "b": 3}))
    responses_simulator.add_reply("It is 5.")
    [program] = re.findall(
        r"```python\n(# openai-agents\n.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL
    )
    (tmp_path / "program.py").write_text(program + READ, encoding="utf-8")
    packages = [
        option
        for name in ("run-log", "stream-text")
        for option in ("--with-editable", str(ROOT / "packages" / name))
    ]
    done = subprocess.run(
        [
            *("uv", "run", "-q", "--isolated", "--no-project", "--python", sys.executable),
            *(*LIBRARY, *packages, "program.py"),
        ],
        cwd=tmp_path,
        env=os.environ | responses_simulator.environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert not done.returncode, done.stderr
    responses_simulator.assert_used()
    answer, read = done.stdout.splitlines()
    records, requests, problems = json.loads(read)
    types = "start request answer call started result request delta answer end"
    assert (answer, problems) == ("It is 5.", 0)
    assert [record["type"] for record in records] == types.split()
    assert [message.get("role") for message in requests[0]] == ["system", "user"]
    assert requests[1][:2] == requests[0]
    assert records[2]["calls"][0]["name"] == "add"
    assert (records[5]["outcome"], records[5]["content"]) == ("done", 5)
    assert records[8]["usage"]["reasoning_tokens"] == 0
