import doctest
import re
from pathlib import Path

import pytest

import stream_text


README = Path(__file__).parents[1] / "README.md"
EXAMPLES = [
    example
    for name in stream_text.__all__
    for example in doctest.DocTestFinder(recurse=False).find(getattr(stream_text, name), name)
    if example.examples
]


def test_the_readme_examples_run():
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)

    assert blocks
    for block in blocks:
        exec(compile(block, str(README), "exec"), {})


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_a_docstring_example_runs(example):
    assert doctest.DocTestRunner().run(example).failed == 0
