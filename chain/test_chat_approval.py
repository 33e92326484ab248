"""`dify-host chat --approval-rules`: both plugins, a question in the console and what is said to it."""

import json
import subprocess
import sys
from pathlib import Path


ROOT = Path(__file__).parents[1]


def test_a_call_is_made_after_leave_and_the_run_goes_on(tmp_path):
    host = Path(sys.executable).with_name("dify-host")
    command = [host, "chat", "What is 17 * 23?", "--plugins", ROOT / "plugins", "--json"]
    done = subprocess.run(
        [*command, "--approval-rules", '{"calculator": "always"}'],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        input="yes\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    asked, answered = [event for event in events if event["event"] == "finish"]
    [result] = [event for event in events if event["event"] == "tool_result"]
    assert "- calculator: " in asked["answer"]
    assert asked["metadata"]["stop_reason"] == "approval"
    assert events.index(asked) < events.index(result)
    assert "391" in answered["answer"]
    assert answered["metadata"]["stop_reason"] == "answered"
