"""What was recorded with the real daemon and our plugins, replayed against `dify-host serve`."""

import pytest
import rig

from conftest import ROOT


PLUGINS = [ROOT / "plugins" / name for name in ("openai_gpt5_responses", "gpt5_agent_strategies")]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with rig.serving(tmp_path_factory.mktemp("rig"), *rig.PROBES, *PLUGINS) as running:
        yield running


@pytest.mark.parametrize(
    "exchange", rig.load("http", "other", "tool", "manage", "llm", "model", "agent"), ids=rig.name
)
def test_the_host_answers_as_the_daemon_did(served, exchange):
    rig.replay(served, exchange)
