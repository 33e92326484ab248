import re
from pathlib import Path

import gpt5_simulator
from gpt5_simulator import parse_fault


README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def test_the_example_runs():
    blocks = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert len(blocks) == 1
    exec(compile(blocks[0], "README.md", "exec"), {})


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
