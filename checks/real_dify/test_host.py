"""`dify-host serve` answers requests that nobody has recorded as the real daemon does.

The requests are recorded ones with something changed, at random but the same each time; both servers get them, with the same plugins, and what they
answer is compared as the recordings are.
"""

import copy
import json
import os
import random
import sys
from pathlib import Path

import pytest

from client import DaemonClient
from official import official_package


ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "workbench/dify-plugin-host/tests/exchanges"))

import rig  # noqa: E402 - the path is its


GROUPS = ("handed", "chunk", "http", "other", "tool", "declared", "tenant")
CHANGES_EACH = 3
LIMIT = 2
"""How long a call may take, in seconds: where a change makes a probe wait for ever."""
VALUES = [
    None,
    "",
    "text",
    0,
    -1,
    1.0,
    1e21,
    7e-05,
    True,
    [],
    {},
    [None],
    {"a": 1},
    "ä\ud83d",
    "0.50",
]


def changed(exchange, number):
    """Return an exchange with one value of its body changed."""
    chance = random.Random(f"{exchange['name']} {number}")
    body = json.loads(exchange["body"])
    places = [*_places(body)]
    holder, key = chance.choice(places)
    change = chance.choice(["remove", "replace", "replace", "add"])
    if change == "remove":
        del holder[key]
    elif change == "replace" or isinstance(holder, list):
        holder[key] = copy.deepcopy(chance.choice(VALUES))
    else:
        holder["unheard_of"] = chance.choice(VALUES)
    return {**exchange, "name": f"{exchange['name']} #{number}", "body": json.dumps(body)}


def _places(value):
    """Yield each object or list in `value` with each of its keys or indexes."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        yield value, key
        if isinstance(item, dict | list):
            yield from _places(item)


def _can_change(exchange):
    try:
        body = json.loads(exchange["body"] or "")
    except ValueError:
        return False
    return isinstance(body, dict) and bool(body)


FRESH = [
    changed(exchange, number)
    for exchange in rig.load(*GROUPS)
    if _can_change(exchange) and exchange["name"] not in rig.EXCEPTIONS
    for number in range(CHANGES_EACH)
]


@pytest.fixture(scope="module")
def both(start_daemon, programs, tmp_path_factory):
    """Serve the probes on the real daemon and on our host."""
    folder = tmp_path_factory.mktemp("rig")
    os.environ["PLUGIN_MAX_EXECUTION_TIMEOUT"] = str(LIMIT)
    with start_daemon(SERVER_KEY=rig.API_KEY, PLUGIN_MAX_EXECUTION_TIMEOUT=str(LIMIT)) as daemon:
        client = DaemonClient(daemon.base_url, rig.API_KEY, rig.TENANT)
        for probe in rig.PROBES:
            client.install(official_package(programs, probe, folder))
        with rig.serving(folder, *rig.PROBES, options=["--as-daemon"]) as ours:
            yield rig.Rig(daemon.base_url, ours.values["{upstream}"], {}), ours


def test_fresh_requests_are_answered_as_the_real_daemon_answers_them(both):
    theirs, ours = both
    differences = {}
    for exchange in FRESH:
        found = rig.difference({**exchange, **theirs.play(exchange)}, ours.play(exchange))
        if found:
            differences[exchange["name"]] = exchange["body"][:300], found
    assert not differences, f"{len(differences)} of {len(FRESH)} differ: {differences}"
