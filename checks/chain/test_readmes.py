"""Examples of READMEs that bring several packages together."""

import re
from pathlib import Path

import pytest

from gpt5_simulator import ResponsesSimulator


README = Path(__file__).parents[2] / "packages/agent-driver/README.md"


def test_the_first_example_of_the_driver_answers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    example, *_ = re.findall(r"```py\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    with ResponsesSimulator() as simulator:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("OPENAI_BASE_URL", simulator.base_url)
        exec(compile(example, str(README), "exec"), {})

    assert capsys.readouterr().out.strip()
    assert simulator.requests
