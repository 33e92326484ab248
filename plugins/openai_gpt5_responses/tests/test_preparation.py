"""What is imported and made before the first call, and when."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from model_plugin import PLUGIN


STARTED = """
import json, os, sys, threading, time
import main
from gpt5_responses._http.client import load_trusted

def tell():
    imported = {"httpcore", "gpt5_messages", "gpt5_payloads", "gpt5_responses"} & sys.modules.keys()
    config = main.plugin.config
    timeouts = [config.MAX_REQUEST_TIMEOUT, config.MAX_INVOCATION_TIMEOUT]
    print(json.dumps({"event": "test", "imported": len(imported), "trusts": load_trusted.cache_info().currsize, "timeouts": timeouts}))

tell()
threading.Thread(target=main.plugin.run, daemon=True).start()
while not load_trusted.cache_info().currsize:
    time.sleep(0.01)
tell()
os._exit(0)
"""


@pytest.fixture(scope="module")
def start() -> list[dict[str, Any]]:
    """Start the plugin with timeouts that are no use; return its heartbeat, and what there is before and after it."""
    process = subprocess.run(
        [sys.executable, "-c", STARTED],
        cwd=PLUGIN,
        env=os.environ
        | {"INSTALL_METHOD": "local", "MAX_INVOCATION_TIMEOUT": "bad", "MAX_REQUEST_TIMEOUT": "10"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        timeout=600,
        check=True,
    )
    messages = map(json.loads, process.stdout.splitlines())
    return [message for message in messages if message.get("event") in ("heartbeat", "test")]


def test_what_calls_need_is_imported_before_the_first_heartbeat_and_made_after_it(start) -> None:
    assert [message["event"] for message in start] == ["test", "heartbeat", "test"]
    assert (start[0]["imported"], start[0]["trusts"]) == (4, 0)
    assert start[2]["trusts"] == 1


def test_the_plugin_starts_with_a_timeout_that_is_no_number(start) -> None:
    assert start[0]["timeouts"] == [60, 900]


FAILING = """
import gc, json, dify_plugin, model_adapter
gc.freeze = None
try:
    model_adapter.prepare()
except TypeError:
    print(json.dumps(gc.isenabled()))
"""


def test_memory_is_looked_after_also_where_preparing_fails(run_inside) -> None:
    assert run_inside(FAILING) is True
