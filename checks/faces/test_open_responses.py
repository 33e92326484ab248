"""The compliance tests of Open Responses, from a checkout of its repository."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from gpt5_simulator import ResponsesSimulator


_WEBSOCKET = "the API is served over HTTP, and not over a websocket"
_COMPACT = "the agent decides when its history is compacted"
NOT_OFFERED = {
    "websocket-response": _WEBSOCKET,
    "websocket-sequential-responses": _WEBSOCKET,
    "websocket-continuation": _WEBSOCKET,
    "websocket-reconnect-store-false-recovery": _WEBSOCKET,
    "websocket-previous-response-not-found": _WEBSOCKET,
    "websocket-failed-continuation-evicts-cache": _WEBSOCKET,
    "websocket-compact-new-chain": _WEBSOCKET,
    "compact-response": _COMPACT,
    "compact-missing-model": _COMPACT,
}
"""Tests of what is not offered, each with the reason."""


@pytest.fixture(scope="module")
def run_suite(request, packages, tmp_path_factory):
    """Give out a function that runs the tests where they find the packages that they import, and returns their results by id."""
    checkout = Path(request.config.getoption("--open-responses")).absolute()
    # Beside a link to the package that they need, and without the checkout's own settings: nothing is written to it.
    folder = tmp_path_factory.mktemp("open_responses")
    for name in ("bin", "src", "package.json"):
        (folder / name).symlink_to(checkout / name)
    (folder / "node_modules").mkdir()
    (folder / "node_modules/zod").symlink_to(packages / "zod-3")

    def run(base_url, model):
        tsx = [packages / ".bin/node", packages / "tsx/dist/cli.mjs"]
        links = "--preserve-symlinks --preserve-symlinks-main"
        done = subprocess.run(
            [*tsx, "bin/compliance-test.ts", "--json", "-u", base_url, "-k", "k1", "-m", model],
            cwd=folder,
            env=os.environ | {"NODE_OPTIONS": links},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.stdout, done.stderr
        return {one["id"]: one for one in json.loads(done.stdout)["results"]}

    return run


@pytest.fixture(scope="module")
def results(run_suite, base_url):
    return run_suite(base_url, "asker")


def test_all_pass_but_those_of_what_is_not_offered(results):
    failed = {id_: one["errors"] for id_, one in results.items() if one["status"] == "failed"}
    wrong = {id_: errors for id_, errors in failed.items() if id_ not in NOT_OFFERED}
    assert not wrong
    assert {"basic-response", "streaming-response", "tool-calling", "multi-turn"} <= results.keys()


def test_what_is_not_offered_is_still_tested_and_still_fails(results):
    """What has left the suite, or passes by now, leaves the list as well."""
    passed = {id_ for id_, one in results.items() if one["status"] == "passed"}
    assert results.keys() >= NOT_OFFERED.keys()
    assert not passed & NOT_OFFERED.keys()


def test_the_simulator_passes_all_those_of_a_websocket_too(run_suite):
    with ResponsesSimulator() as simulator:
        results = run_suite(simulator.base_url, "gpt-5.2")
    assert results.keys() >= NOT_OFFERED.keys()
    assert {one["status"] for one in results.values()} == {"passed"}
