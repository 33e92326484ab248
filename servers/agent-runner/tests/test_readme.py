import re
from pathlib import Path

import agent_runner


README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def test_the_example_runs():
    blocks = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert len(blocks) == 1
    exec(compile(blocks[0], "README.md", "exec"), {})


def test_every_room_and_module_has_its_place_in_the_table():
    folder = Path(agent_runner.__file__).parent
    rooms = {path.stem for path in folder.glob("_[a-z]*")}
    table = README.split("## Its rooms")[1].split("## Errors")[0]
    assert rooms == set(re.findall(r"`(_\w+)", table)) - {"__init__"}
