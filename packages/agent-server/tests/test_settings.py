import pytest
from cryptography.fernet import Fernet
from pydantic import ValidationError

from agent_server.settings import ServerSettings


_FERNET = Fernet.generate_key().decode()


def test_keys_belong_to_tenants():
    settings = ServerSettings(host="0.0.0.0", api_keys="ada:k:1, bob:k2,k3,ada:k4,ada:k4")

    tenants = {key: holder.tenant for key, holder in settings.keys().items()}
    assert tenants == {"k:1": "ada", "k2": "bob", "k3": "default", "k4": "ada"}
    assert ServerSettings().keys() == {}
    assert "k3" not in repr(settings)


def test_the_logs_of_a_tenant_have_a_folder_of_their_own(tmp_path):
    settings = ServerSettings(run_logs=tmp_path)

    assert settings.tenant_logs("ada") == tmp_path / "ada"
    assert ServerSettings().tenant_logs("ada") is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("api_keys", ""),
        ("api_keys", "ada:"),
        ("api_keys", "ada:k1,,bob:k2"),
        ("api_keys", "../x:secret"),
        ("api_keys", "ada:secret,bob:secret"),
        ("api_keys", "ada:sec ret"),
        ("database", "mysql://secret@x/y"),
        ("database", "sqlite://"),
        ("database", "postgresql://u@h:secret/x"),
        ("database", "secret"),
        ("storage_keys", f"{_FERNET},secret"),
        ("server_name", ""),
        ("server_name", "a\nb"),
        ("run_logs", __file__),
        ("state", __file__),
        ("host", ""),
        ("host", "a b"),
        ("port", "65536"),
        ("concurrency", "0"),
        ("keep_runs", str(10**16)),
        ("keep_days", "inf"),
        ("keep_days", "nan"),
        ("client_seconds", "1e7"),
        ("state", " "),
        ("server_name", " "),
    ],
)
def test_a_wrong_setting_is_refused_without_its_value(name, value):
    with pytest.raises(ValidationError) as caught:
        ServerSettings(**{name: value})

    (problem,) = caught.value.errors()
    assert problem["loc"] == (name,)
    assert "secret" not in str(caught.value)


def test_other_machines_reach_a_server_only_where_there_is_a_key():
    with pytest.raises(ValidationError, match="at least one key"):
        ServerSettings(host="0.0.0.0")

    assert ServerSettings(host="0.0.0.0", api_keys="k").keys()["k"].tenant == "default"


def test_what_is_right_is_taken_as_it_is(tmp_path):
    url = f"sqlite:///{tmp_path}/runs.sqlite"
    keys = f"{_FERNET}, {Fernet.generate_key().decode()}"
    settings = ServerSettings(database=url, storage_keys=keys, server_name="one", state=tmp_path)

    assert settings.database.get_secret_value() == url
    assert settings.storage_keys.get_secret_value() == keys
