import re
from pathlib import Path


README = Path(__file__).parent.parent / "README.md"


def test_the_readme_examples_run_one_after_the_other():
    blocks = re.findall(r"```py(?:thon)?\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    names = {}

    assert len(blocks) == 2  # the second needs the extra `traces`
    for block in blocks:
        exec(compile(block, str(README), "exec"), names)
