import re
from pathlib import Path


README = Path(__file__).parents[1] / "README.md"


def test_the_example_runs(workshop, monkeypatch, capsys):
    (workshop / "plugins/echo_model").rename(workshop.parent / "plugin")
    monkeypatch.chdir(workshop.parent)
    (block,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(block, str(README), "exec"), {})
    assert capsys.readouterr().out.startswith("tests/echo_model:0.0.1@")
