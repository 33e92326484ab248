import doctest
import re
from pathlib import Path

import pytest

from dify_plugin_kit import error_texts, pacing, request_errors, settings, stdin, stdout


README = Path(__file__).parents[1] / "README.md"
EXAMPLES = [
    example
    for module in (error_texts, pacing, request_errors, settings, stdin, stdout)
    for example in doctest.DocTestFinder().find(module)
    if example.examples
]


def test_the_readme_example_runs():
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)

    assert len(blocks) == 1
    exec(compile(blocks[0], str(README), "exec"), {})


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_a_docstring_example_runs(example):
    assert doctest.DocTestRunner().run(example).failed == 0
