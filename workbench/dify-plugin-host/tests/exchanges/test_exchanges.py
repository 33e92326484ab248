"""The recorded exchanges that need no plugin but the probes; those with our plugins are replayed in `chain`."""

import time

import pytest
import rig


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with rig.serving(tmp_path_factory.mktemp("rig"), *rig.PROBES) as running:
        yield running


@pytest.fixture(scope="module")
def listed(run_shared_daemon):
    daemon = run_shared_daemon(*rig.PROBES, api_key=rig.API_KEY, tenant=rig.TENANT)
    return rig.Rig(daemon.server.base_url, "no upstream", {})


@pytest.mark.parametrize("exchange", rig.load("handed", "chunk", "back"), ids=rig.name)
def test_the_host_answers_as_the_daemon_did(served, exchange):
    rig.replay(served, exchange)


@pytest.mark.parametrize("exchange", rig.load(*rig.LISTED), ids=rig.name)
def test_the_host_tells_of_its_plugins_what_the_daemon_told(listed, exchange):
    rig.replay(listed, exchange)


@pytest.mark.long
@pytest.mark.parametrize("exchange", rig.load("slow"), ids=rig.name)
def test_the_host_is_as_patient_as_the_daemon_where_it_is_told_to_be(
    tmp_path, monkeypatch, exchange
):
    monkeypatch.setenv("PLUGIN_MAX_EXECUTION_TIMEOUT", str(exchange["seconds"]))
    with rig.serving(tmp_path, *rig.PROBES, options=["--as-daemon"]) as running:
        started = time.monotonic()
        rig.replay(running, exchange)
        assert time.monotonic() - started >= exchange["seconds"]
        (again,) = (each for each in rig.load("chunk") if each["name"] == "chunk/ok")
        rig.replay(running, again)
