"""What is imported and made before the first call, and when."""

import json
import os
import subprocess
import sys

from model_plugin import PLUGIN


STARTED = """
import json, os, sys, threading, time
import main
from gpt5_responses._http import trusted

def tell():
    imported = {"httpcore", "gpt5_messages", "gpt5_payloads", "gpt5_responses"} & sys.modules.keys()
    print(json.dumps({"event": "test", "imported": len(imported), "trusts": trusted.cache_info().currsize}))

tell()
threading.Thread(target=main.plugin.run, daemon=True).start()
while not trusted.cache_info().currsize:
    time.sleep(0.01)
tell()
os._exit(0)
"""


def test_what_calls_need_is_imported_before_the_first_heartbeat_and_made_after_it() -> None:
    process = subprocess.run(
        [sys.executable, "-c", STARTED],
        cwd=PLUGIN,
        env=os.environ | {"INSTALL_METHOD": "local"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        timeout=60,
        check=True,
    )

    messages = map(json.loads, process.stdout.splitlines())
    told = [message for message in messages if message.get("event") in ("heartbeat", "test")]
    assert [message["event"] for message in told] == ["test", "heartbeat", "test"]
    assert (told[0]["imported"], told[0]["trusts"]) == (4, 0)
    assert told[2]["trusts"] == 1


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


def test_a_name_that_the_adapter_does_not_have_is_an_attribute_error(run_inside) -> None:
    assert run_inside("import dify_plugin, model_adapter; print(int(hasattr(model_adapter, 'x')))") == 0  # fmt: skip
