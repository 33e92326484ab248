import asyncio
import re
from pathlib import Path


README = Path(__file__).parent.parent / "README.md"
TEXT = README.read_text(encoding="utf-8")


def test_the_example_in_the_readme_runs():
    examples = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert examples
    for example in examples:
        exec(compile(example, str(README), "exec"), {"__name__": "example"})


def test_the_server_in_the_readme_has_its_tool():
    [text] = re.findall(r"```py\n(from mcp.*?)server.run\(\)\n```", TEXT, re.DOTALL)
    example = {"__name__": "example"}
    exec(compile(text, str(README), "exec"), example)
    [tool] = asyncio.run(example["server"].list_tools())
    assert tool.name == "count"
