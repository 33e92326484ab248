import asyncio
import json
import sys
import textwrap
from contextlib import aclosing

import pytest
from hypothesis import HealthCheck, settings

from agent_runner import AgentRunner


# A busy machine is no defect of the code under test.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


@pytest.fixture
def make_agent(tmp_path):
    """Return a function that lays out an agent's folder."""

    def make(script, *, schema=None, env=None):
        folder = tmp_path / "agent"
        folder.mkdir(exist_ok=True)
        (folder / "main.py").write_text(textwrap.dedent(script), encoding="utf-8")
        if schema is not None:
            text = schema if isinstance(schema, str) else json.dumps(schema)
            (folder / "input_schema.json").write_text(text, encoding="utf-8")
        if env is not None:
            (folder / ".env").write_text(env, encoding="utf-8")
        return folder

    return make


@pytest.fixture
def make_runner():
    """Return a function that makes a runner whose scripts run in this very Python."""

    def make(**settings):
        return AgentRunner(**{"command": [sys.executable, "main.py"]} | settings)

    return make


@pytest.fixture
def run_agent(make_runner):
    """Return a function that runs an agent and returns its outputs and its result."""

    def run(folder, fields=None, *, client_request_id=None, **settings):
        async def collect():
            stream = make_runner(**settings).run(
                folder, fields or {}, client_request_id=client_request_id
            )
            async with aclosing(stream) as outputs:
                return [output async for output in outputs]

        *outputs, result = asyncio.run(collect())
        return outputs, result

    return run
