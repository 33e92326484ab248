import re

import pytest
from cryptography.fernet import Fernet
from pydantic import ValidationError

from agent_server.settings import ServerSettings


_WEBHOOK = {"webhook_url": "https://x.test/hook", "webhook_secret": "whsec_" + "c2VjcmV0" * 4}
_FERNET = Fernet.generate_key().decode()


def test_keys_belong_to_tenants():
    settings = ServerSettings(host="0.0.0.0", api_keys="ada:k:1, bob:k2,k3,ada:k4,ada:k4")

    tenants = {key: holder.tenant for key, holder in settings.keys().items()}
    assert tenants == {"k:1": "ada", "k2": "bob", "k3": "default", "k4": "ada"}
    assert ServerSettings().keys() == {}
    assert "k3" not in repr(settings)


def test_what_a_platform_says_to_all_is_no_setting(monkeypatch):
    monkeypatch.setenv("HOST", "0.0.0.0")
    monkeypatch.setenv("PORT", "1")
    monkeypatch.setenv("AGENT_SERVER_PORT", "8081")
    settings = ServerSettings()
    assert (settings.host, settings.port) == ("127.0.0.1", 8081)


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
        ("allow_origin", "*"),
        ("allow_origin", ""),
        ("allow_origin", "null"),
        ("allow_origin", "secret.example.com"),
        ("allow_origin", "https://x.test,https://secret.test/path"),
        ("allow_origin", "https://user@secret.test"),
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
        ("webhook_url", "http://secret.test/"),
        ("webhook_url", "ftp://secret.test/"),
        ("webhook_url", "https:///secret"),
        ("webhook_url", "https://secret.test:x/"),
        ("webhook_url", "secret"),
        ("webhook_url", ""),
        ("webhook_url", "https://u:secret@x.test/"),
        ("webhook_url", "https://x.test/#secret"),
        *(
            ("webhook_url", f"https://{place}/secret")
            for place in (
                *("x.test:99999", "x.test:0", "x.test:-1", "a b", "..", "x..test", "-", "a%00b"),
                *("a" * 300, "a." * 150 + "test", "999.1.1.1", "xn--", "%41", ".a", "a.."),
            )
        ),
        ("allow_origin", "https://secret.test:65536"),
        ("allow_origin", "https://secret..test"),
        ("webhook_secret", "secret"),
        ("webhook_secret", "whsec_" + "c2VjcmV0" * 4 + "="),
        ("webhook_secret", "whsec_" + "c2VjcmV0" * 4 + "é"),
        ("webhook_secret", "whsec_" + "c2VjcmV0" * 3),
        ("webhook_secret", "whsec_" + "c2VjcmV0" * 11),
        ("webhook_secret", "c2VjcmV0" * 4),
        ("webhook_secret", "whsec_" + "secret-_" * 4),
        ("server_name", " "),
    ],
)
def test_a_wrong_setting_is_refused_without_its_value(name, value):
    with pytest.raises(ValidationError) as caught:
        ServerSettings(**(_WEBHOOK if name.startswith("webhook") else {}) | {name: value})

    (problem,) = caught.value.errors()
    assert problem["loc"] == (name,)
    told = str(caught.value).replace("webhook_secret", "")
    assert "secret" not in told
    assert "c2VjcmV0" not in told  # the same in base64
    assert re.search("expected|should|input", problem["msg"])


def test_other_machines_reach_a_server_only_where_there_is_a_key():
    with pytest.raises(ValidationError, match="at least one key"):
        ServerSettings(host="0.0.0.0")

    assert ServerSettings(host="0.0.0.0", api_keys="k").keys()["k"].tenant == "default"


def test_origins_are_kept_as_browsers_write_them():
    given = "https://Chat.example.com:443/,http://[::1]:3000 ,http://x.test:443"

    assert ServerSettings(allow_origin=given).origins() == {
        "https://chat.example.com",
        "http://[::1]:3000",
        "http://x.test:443",
    }
    assert ServerSettings().origins() == set()


@pytest.mark.parametrize(
    "url",
    [
        "https://x.test/hook?a=b",
        "https://bücher.example/",
        "https://x_y.test.:1/",
        "http://127.0.0.1:8080/",
        "http://[::1]/",
        "http://localhost",
    ],
)
def test_a_webhook_has_a_url_that_is_safe_and_a_secret(url):
    settings = ServerSettings(**_WEBHOOK | {"webhook_url": url})

    with pytest.raises(ValidationError, match=r"webhook_secret\n.*expected a secret"):
        ServerSettings(webhook_url=url)
    assert settings.webhook().url == url
    assert settings.webhook().key == b"secret" * 4
    assert "c2VjcmV0" not in repr(settings)
    assert repr(settings.webhook()) == "Webhook()"
    assert ServerSettings().webhook() is None


def test_what_is_right_is_taken_as_it_is(tmp_path):
    url = f"sqlite:///{tmp_path}/runs.sqlite"
    keys = f"{_FERNET}, {Fernet.generate_key().decode()}"
    settings = ServerSettings(database=url, storage_keys=keys, server_name="one", state=tmp_path)

    assert settings.database.get_secret_value() == url
    assert settings.storage_keys.get_secret_value() == keys
