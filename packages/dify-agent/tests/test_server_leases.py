import pytest
from cryptography.fernet import Fernet
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from dify_agent.server.database import open_database
from dify_agent.server.leases import LeaseTable, LeaseWatch
from dify_agent.server.sealing import SealedSerializer, build_seal


@pytest.fixture
def leases(tmp_path):
    database = open_database(f"sqlite:///{tmp_path / 'runs.sqlite'}", build_seal(None))
    yield LeaseTable(database)
    database.dispose()


def test_a_server_that_shows_itself_has_a_growing_beat(leases):
    leases.beat("a")
    leases.beat("a")
    leases.beat("b")

    assert leases.read_beats() == {"a": 1, "b": 0}


def test_a_dropped_server_has_no_beat(leases):
    leases.beat("a")
    leases.drop(["a", "unknown"])

    assert leases.read_beats() == {}


def test_a_server_is_silent_after_its_lease_and_not_before():
    watch = LeaseWatch(lease_seconds=10)

    assert watch.find_silent({"a": 1, "b": 1}, now=100) == set()
    assert watch.find_silent({"a": 1, "b": 2}, now=109.9) == set()
    assert watch.find_silent({"a": 1, "b": 2}, now=110) == {"a"}
    assert watch.find_silent({"a": 2, "b": 3}, now=111) == set()


def test_a_server_that_left_the_table_starts_anew():
    watch = LeaseWatch(lease_seconds=10)
    watch.find_silent({"a": 1}, now=0)
    watch.find_silent({}, now=5)

    assert watch.find_silent({"a": 1}, now=20) == set()


@given(key=st.none() | st.builds(lambda: SecretStr(Fernet.generate_key().decode())), data=st.text())
def test_what_is_sealed_can_be_opened(key, data):
    serializer = SealedSerializer(build_seal(key))

    assert serializer.deserialize(serializer.serialize({"data": data})) == {"data": data}
