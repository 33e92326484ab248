import re
from pathlib import Path

import pytest

from gpt5_payloads import RequestParameters


README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.+?)```", README, re.DOTALL)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_the_readme_examples_run(number):
    exec(compile(EXAMPLES[number], "README.md", "exec"), {})


def test_the_readme_has_examples():
    assert len(EXAMPLES) == 2


def test_the_table_has_every_parameter_in_the_order_of_their_type():
    table = README.partition("## The parameters")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)

    assert re.findall(r"`(\w+)`", "".join(cells)) == list(RequestParameters.__annotations__)
