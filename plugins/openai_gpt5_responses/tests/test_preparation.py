"""What is imported and made before the first call, and when."""

from collections.abc import Callable
from typing import Any

import pytest


STARTED = """
import io, json, os, sys, threading, time
import main
from __main__ import IMPORTED
from gpt5_responses._http.client import load_trusted

def tell():
    told.write(json.dumps({"event": "test", "trusts": load_trusted.cache_info().currsize}) + "\\n")

def read():
    return [json.loads(line) for line in told.getvalue().splitlines() if line]

output, sys.stdout = sys.stdout, (told := io.StringIO())
os.dup2(os.pipe()[0], 0)  # from which no request comes
tell()
threading.Thread(target=main.plugin.run, daemon=True).start()
while not load_trusted.cache_info().currsize:
    time.sleep(0.01)
tell()
config = main.plugin.config
started = {
    "imported": len({"httpcore", "gpt5_messages", "gpt5_payloads", "gpt5_responses"} & IMPORTED),
    "timeouts": [config.MAX_REQUEST_TIMEOUT, config.MAX_INVOCATION_TIMEOUT],
    "told": [one for one in read() if one["event"] in ("heartbeat", "test")],
}
print(json.dumps(started), file=output, flush=True)
"""


@pytest.fixture(scope="module")
def start(run_inside: Callable[..., Any]) -> dict[str, Any]:
    """Start the plugin with timeouts that are no use; return its heartbeat, and what there is before and after it."""
    return run_inside(STARTED)


def test_what_calls_need_is_imported_before_the_first_heartbeat_and_made_after_it(start) -> None:
    before, heartbeat, after = start["told"]
    assert heartbeat["event"] == "heartbeat"
    assert (start["imported"], before["trusts"], after["trusts"]) == (4, 0, 1)


def test_the_plugin_starts_with_a_timeout_that_is_no_number(start) -> None:
    assert start["timeouts"] == [60, 900]


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
