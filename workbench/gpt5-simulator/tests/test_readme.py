import re
from pathlib import Path

import pytest

import gpt5_simulator
from gpt5_simulator import ResultsError, parse_fault, read_hosted_results


README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def test_the_example_runs():
    blocks = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert len(blocks) == 1
    exec(compile(blocks[0], "README.md", "exec"), {})


@pytest.mark.parametrize("question", re.findall(r"\*([A-Z][^*]+)\*", README))
def test_every_question_that_it_names_uses_a_hosted_tool(server, ask, question):
    tools = [{"type": "web_search"}, {"type": "image_generation"}]
    kinds = {item["type"] for item in ask(server, input=question, tools=tools).json()["output"]}
    assert kinds - {"reasoning", "message"}


def test_the_fields_of_hosted_results_are_named():
    section = README.split("### What hosted tools bring")[1].split("## What goes wrong")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", section, flags=re.MULTILINE))
    for tool, text in rows.items():
        with pytest.raises(ResultsError) as caught:
            read_hosted_results({tool: [{"no_such_field": 1}]})
        known = str(caught.value).partition("one of match, ")[2].split(", ")
        assert set(known) - set(re.findall(r"`(\w+)", text)) == set()
    assert len(rows) == 7


def test_every_fault_text_can_be_read():
    section = README.split("## What goes wrong on request")[1].split("## Where things are")[0]
    rows = [line.split("|")[2] for line in section.splitlines() if line.startswith("| `")]
    texts = [text for row in rows for text in re.findall(r"`([a-z_]+(?:;[^`]*)?)`", row)]
    known = [text for text in texts if "_after" not in text and text not in _SETTINGS]
    assert len(known) > 15
    assert all(parse_fault(text) is not None for text in known)


def test_every_module_and_room_is_in_the_table():
    folder = Path(gpt5_simulator.__file__).parent
    modules = {path.stem for path in folder.glob("_*") if not path.name.startswith("__")}
    table = README.split("## Where things are")[1].split("## Errors")[0]
    assert modules - {"_errors", "_json"} == set(re.findall(r"`(_\w+)", table))


_SETTINGS = {"code", "message", "param", "seconds", "error", "stream"}
