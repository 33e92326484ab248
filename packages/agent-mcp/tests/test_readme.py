import re
from pathlib import Path


README = Path(__file__).parent.parent / "README.md"


def test_the_example_in_the_readme_runs():
    examples = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert examples
    for example in examples:
        exec(compile(example, str(README), "exec"), {"__name__": "example"})
