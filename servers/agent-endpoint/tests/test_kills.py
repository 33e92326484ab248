"""Servers that are killed; `nox -s kills` makes many more kills, on both databases, of one server and of two."""

from killing import kill_servers


def test_a_server_that_is_killed_loses_and_repeats_nothing(tmp_path):
    database = f"sqlite:///{tmp_path / 'runs.sqlite'}"
    kill_servers(tmp_path, database, number_of_servers=1, kills=2, runs=2)
