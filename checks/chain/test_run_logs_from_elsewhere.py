"""What docs/run-log-from-elsewhere.md says of Pydantic AI and plain httpx.

Its openai-agents part needs an environment of its own: checks/clients has it.
"""

import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from gpt5_simulator import FunctionCall, ResponsesSimulator, Text
from run_log import RunFile, list_runs, read_schema


PAGE = Path(__file__).parents[2] / "docs/run-log-from-elsewhere.md"
PROGRAMS = re.findall(
    r"```python\n(# ([^\n]+)\n.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL
)
TYPES = "start request answer call started result request delta answer end"
KEY = "sk-proj-DoNotWriteThis0123"


@pytest.mark.parametrize("name", ["Pydantic AI", "httpx"])
def test_a_program_logs_its_run(
    name: str,
    responses_simulator: ResponsesSimulator,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    responses_simulator.add_reply(FunctionCall(name="add", arguments={"a": 2, "b": 3}))
    responses_simulator.add_reply(Text(text="It is 5."))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", responses_simulator.base_url)
    monkeypatch.chdir(tmp_path)

    [program] = [code for code, title in PROGRAMS if title == name]
    exec(compile(program, str(PAGE), "exec"), {"__name__": "program"})

    responses_simulator.assert_used()
    [summary] = list_runs("runs")
    file = RunFile(summary.path)
    records = list(file.iter_records())
    assert [record["type"] for record in records] == TYPES.split()
    validator = Draft202012Validator(read_schema())
    assert [error for record in records for error in validator.iter_errors(record)] == []
    first, second = file.iter_requests()
    assert (first.settings["model"], file.problems) == ("gpt-5.5", ())
    assert second.messages[: len(first.messages)] == first.messages
    answers = [record for record in records if record["type"] == "answer"]
    assert answers[0]["calls"][0]["name"] == "add"
    assert answers[1]["usage"]["cached_tokens"] == 0
    assert answers[1]["usage"]["output_tokens"] > 0
    [result] = [record for record in records if record["type"] == "result"]
    assert (result["outcome"], str(result["content"])) == ("done", "5")
    assert (summary.end or {})["reason"] == "answered"
    assert KEY not in summary.path.read_text(encoding="utf-8")
