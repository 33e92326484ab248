"""Agents whose servers, with their workers, and whose engine are killed at any moment."""

import pytest
from killing import kill_servers


@pytest.fixture(autouse=True)
def served_by_temporal(engine_url, monkeypatch):
    """Have the servers execute runs by Temporal."""
    monkeypatch.setenv("AGENT_ENDPOINT_ENGINE", engine_url)


def test_sixty_kills_of_servers_and_engine_lose_and_repeat_nothing(tmp_path, temporal):
    database = f"sqlite:///{tmp_path / 'runs.sqlite'}"

    kill_servers(tmp_path, database, number_of_servers=2, kills=60, runs=100, others=[temporal])
