"""The commands by which docs/operate.md backs a SQLite file up, and puts it back."""

import asyncio
import os
import re
import stat
import subprocess
from pathlib import Path

import pytest
from agents import Scripted, engine, finish, start, until

from agent_server.executor import RunResult
from agent_server.runs import RunNotFoundError


OPERATE = Path(__file__).parents[3] / "docs" / "operate.md"


def execute(number, home):
    """Execute one of the page's blocks of commands, by a user whose home is this folder."""
    chapter = OPERATE.read_text(encoding="utf-8").partition("## Backup")[2]
    script = re.findall(r"```bash\n(.*?)```", chapter, re.DOTALL)[number]
    environment = os.environ | {"HOME": str(home)}
    subprocess.run(["bash", "-ec", script], cwd=home, env=environment, check=True)


async def wait(run):
    await asyncio.sleep(600 if run.attempt == 1 else 0)
    return RunResult(status="succeeded")


@pytest.mark.untraced
async def test_the_backup_of_the_manual_brings_back_what_was_there(tmp_path):
    database = f"sqlite:///{tmp_path / '.local/state/agent-endpoint/runs.sqlite'}"

    async with engine(database, Scripted(wait=wait)) as runs:
        ended, begun = await start(runs), await start(runs, "wait")
        await finish(runs, ended)
        await until(runs, begun, lambda run: run.status == "running")
        await asyncio.to_thread(execute, 0, tmp_path)
        later = await start(runs)
    await asyncio.to_thread(execute, 1, tmp_path)
    async with engine(database, Scripted(wait=wait)) as runs:
        with pytest.raises(RunNotFoundError):
            await runs.get(later, tenant="ada")
        first, second = await runs.get(ended, tenant="ada"), await finish(runs, begun)

    assert stat.S_IMODE((tmp_path / "backup.sqlite").stat().st_mode) == 0o600
    assert first.status == "succeeded"
    assert (second.status, second.attempt) == ("succeeded", 2)
