"""Agents at `/v1/responses` whose servers are killed: while they stream, wait for a person, begin the next step, or make it."""

import pytest
from killing import kill_servers


@pytest.mark.parametrize("number_of_servers", [1, 2])
def test_fifty_kills_lose_and_repeat_nothing_of_an_agent(tmp_path, database, number_of_servers):
    kill_servers(tmp_path, database, number_of_servers=number_of_servers, kills=50, runs=60)
