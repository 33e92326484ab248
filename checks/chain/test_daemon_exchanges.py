"""What was recorded with the real daemon and our plugins, replayed against `dify-host serve`."""

import pytest
import rig


@pytest.mark.parametrize(
    "exchange", rig.load("http", "other", "tool", "manage", "llm", "model", "agent"), ids=rig.name
)
def test_the_host_answers_as_the_daemon_did(daemon, exchange):
    rig.replay(daemon["rig"], exchange)
