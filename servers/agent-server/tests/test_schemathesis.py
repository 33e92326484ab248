"""Schemathesis against a server that listens: what its description says is what it does."""

import asyncio
import shutil
from pathlib import Path

import pytest
from web import executor, listening


_CHECKS = Path(__file__).with_name("schemathesis.toml")


@pytest.mark.schemathesis
async def test_what_the_description_says_is_what_the_server_does(tmp_path):
    program = shutil.which("schemathesis")
    assert program, "nox -s schemathesis installs it"

    # The agents that end by themselves: others would make the runs pile up.
    agents = executor()
    for name in ("slow", "waiting"):
        del agents.scripts[name]
    bounds = {"api_keys": "ada:k1", "max_active_per_tenant": 100_000, "client_seconds": 2}
    async with listening(tmp_path, agents, **bounds) as (port, _):
        process = await asyncio.create_subprocess_exec(
            *(program, "--config-file", str(_CHECKS), "run", "--header", "X-Api-Key: k1"),
            *("--request-timeout", "10", f"http://127.0.0.1:{port}/openapi.json"),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd=tmp_path,
        )
        output, _ = await process.communicate()
    code, output = process.returncode, output.decode()

    print(output)  # noqa: T201 - what was tried, with -s
    assert code == 0, output
