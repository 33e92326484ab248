import re
from pathlib import Path


README = Path(__file__).parent.parent / "README.md"


def test_the_readme_example_runs():
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)

    assert len(blocks) == 1
    exec(compile(blocks[0], str(README), "exec"), {})
