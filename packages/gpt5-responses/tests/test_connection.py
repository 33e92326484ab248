from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpt5_responses import Connection, ModelConfig, SettingsError


KEY = {"openai_api_key": "key"}


def connect(**credentials: object) -> Connection:
    return Connection.from_credentials({**KEY, **credentials}, environ={})


def test_a_key_is_all_that_is_needed() -> None:
    connection = connect()

    assert connection == Connection(api_key="key")
    assert connection.base_url == "https://api.openai.com/v1"
    assert (connection.timeout_seconds, connection.max_retries) == (300.0, 1)
    assert connection.is_default_server


@pytest.mark.parametrize("key", [None, "", "  "])
def test_a_missing_key_is_refused_by_name(key: object) -> None:
    with pytest.raises(SettingsError, match="openai_api_key is required") as caught:
        connect(openai_api_key=key)

    assert caught.value.field == "openai_api_key"


@pytest.mark.parametrize("field", ["openai_api_key", "openai_organization"])
def test_text_that_cannot_stand_in_a_header_is_refused_without_showing_it(field: str) -> None:
    with pytest.raises(SettingsError, match=f"{field} must be visible ASCII") as caught:
        connect(**{field: "geheim\nschlüssel"})

    assert "geheim" not in str(caught.value)


def test_white_space_around_key_and_organisation_is_removed() -> None:
    connection = connect(openai_api_key=" key\n", openai_organization=" org-1 ")

    assert (connection.api_key, connection.organization) == ("key", "org-1")
    assert connect(openai_organization="  ").organization is None


def test_the_key_is_never_part_of_the_repr_or_the_fingerprint() -> None:
    connection = connect(openai_api_key="very-secret")

    assert "very-secret" not in repr(connection) + connection.fingerprint


def test_fingerprints_tell_keys_servers_and_organisations_apart() -> None:
    prints = {
        connect().fingerprint,
        connect(openai_api_key="other").fingerprint,
        connect(openai_organization="org").fingerprint,
        connect(openai_api_base="http://localhost?a=b").fingerprint,
        connect(openai_api_base="http://localhost").fingerprint,
    }

    assert len(prints) == 5
    assert connect().fingerprint == connect(max_retries="3").fingerprint


@pytest.mark.parametrize(
    ("typed", "used"),
    [
        ("https://gateway.example", "https://gateway.example/v1"),
        ("https://gateway.example/", "https://gateway.example/v1"),
        ("https://gateway.example/v1", "https://gateway.example/v1"),
        ("https://gateway.example//v1//", "https://gateway.example/v1"),
        ("https://gateway.example/openai", "https://gateway.example/openai/v1"),
        ("https://gateway.example/v1/team", "https://gateway.example/v1/team/v1"),
        (" http://127.0.0.1:8080/v1 ", "http://127.0.0.1:8080/v1"),
        ("http://[::1]:8080", "http://[::1]:8080/v1"),
        ("http://gateway.example:80", "http://gateway.example/v1"),
        ("http://gateway.example:443", "http://gateway.example:443/v1"),
        ("http://b\u00fccher.example", "http://xn--bcher-kva.example/v1"),
        ("https://gateway.example/?team=a", "https://gateway.example/v1?team=a"),
        # With what stands around it, or in other letters.
        ('"https://gateway.example/v1",', "https://gateway.example/v1"),
        ("<https://gateway.example/v1>.", "https://gateway.example/v1"),
        ("\u201chttps://gateway.example/v1\u201d", "https://gateway.example/v1"),
        ("HTTPS://API.OpenAI.com:443/V1/", "https://api.openai.com/v1"),
        ("(https://gateway.example/v1)\u3002", "https://gateway.example/v1"),
        ("https//gateway.example/v1", "https://gateway.example/v1"),
        ("http:/gateway.example", "http://gateway.example/v1"),
        ("https://http://localhost:8000", "http://localhost:8000/v1"),
        # Without a scheme.
        ("gateway.example", "https://gateway.example/v1"),
        ("//gateway.example:8443/v1", "https://gateway.example:8443/v1"),
        ("gateway.example:443", "https://gateway.example/v1"),
        ("8.8.8.8:8000", "https://8.8.8.8:8000/v1"),
        ("localhost:11434", "http://localhost:11434/v1"),
        ("127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1"),
        ("[::1]:8080", "http://[::1]:8080/v1"),
        ("192.168.1.5:1234", "http://192.168.1.5:1234/v1"),
        ("ollama:11434", "http://ollama:11434/v1"),
        ("host.docker.internal:1234", "http://host.docker.internal:1234/v1"),
        ("100.64.0.5:8000", "http://100.64.0.5:8000/v1"),
        ("10.0.0.1:443", "https://10.0.0.1/v1"),
        # An endpoint.
        ("https://gateway.example/v1/responses/", "https://gateway.example/v1"),
        ("https://gateway.example/v1/responses/input_tokens", "https://gateway.example/v1"),
        ("https://gateway.example/v1/chat/completions?a=b", "https://gateway.example/v1?a=b"),
        ("https://gateway.example/v1/models", "https://gateway.example/v1"),
        ("https://gateway.example/v1/chat/", "https://gateway.example/v1"),
        ("https://gateway.example/V1/Responses/resp_1/cancel", "https://gateway.example/v1"),
        ("https://gateway.example/v1/models/llama", "https://gateway.example/v1"),
        ("https://gateway.example/models/llama/v1", "https://gateway.example/models/llama/v1"),
        ("http://localhost:11434/api/generate", "http://localhost:11434/v1"),
        ("http://localhost:4000/responses", "http://localhost:4000"),
        ("https://api.openai.com/responses", "https://api.openai.com/v1"),
        # Roots of their own.
        ("openrouter.ai", "https://openrouter.ai/api/v1"),
        ("https://openrouter.ai/api/v1/chat/completions", "https://openrouter.ai/api/v1"),
        ("https://api.groq.com/openai", "https://api.groq.com/openai/v1"),
        ("https://api.groq.com/v1", "https://api.groq.com/openai/v1"),
        ("https://api.fireworks.ai", "https://api.fireworks.ai/inference/v1"),
        ("https://api.deepseek.com", "https://api.deepseek.com/v1"),
        ("https://api.deepseek.com/responses", "https://api.deepseek.com"),
        ("https://api.githubcopilot.com/", "https://api.githubcopilot.com"),
        ("https://api.business.githubcopilot.com/responses", "https://api.business.githubcopilot.com"),
        ("https://chatgpt.com/backend-api/codex/responses", "https://chatgpt.com/backend-api/codex"),
        ("https://chatgpt.com/backend-api/codex", "https://chatgpt.com/backend-api/codex"),
        ("https://chatgpt.com/backend-api", "https://chatgpt.com/backend-api/codex"),
        ("a.cloud.databricks.com", "https://a.cloud.databricks.com/serving-endpoints"),
        ("https://a.azuredatabricks.net/serving-endpoints/gpt/invocations", "https://a.azuredatabricks.net/serving-endpoints"),
        ("https://a.azuredatabricks.net/serving-endpoints", "https://a.azuredatabricks.net/serving-endpoints"),
        ("https://api.cloudflare.com/client/v4/accounts/a/ai", "https://api.cloudflare.com/client/v4/accounts/a/ai/v1"),
        ("https://gateway.ai.cloudflare.com/v1/a/b/openai", "https://gateway.ai.cloudflare.com/v1/a/b/openai"),
        ("https://generativelanguage.googleapis.com/v1beta/openai/", "https://generativelanguage.googleapis.com/v1beta/openai"),
        ("https://ark.cn-beijing.volces.com/api/v3", "https://ark.cn-beijing.volces.com/api/v3"),
        ("https://ark.cn-beijing.volces.com", "https://ark.cn-beijing.volces.com/api/v3"),
        ("https://bedrock-runtime.eu-west-1.amazonaws.com", "https://bedrock-runtime.eu-west-1.amazonaws.com/openai/v1"),
        ("https://bedrock-mantle.eu-west-1.api.aws/v1", "https://bedrock-mantle.eu-west-1.api.aws/v1"),
        # Azure, as its portals show it.
        ("https://x.openai.azure.com", "https://x.openai.azure.com/openai/v1"),
        ("https://x.openai.azure.com/openai", "https://x.openai.azure.com/openai/v1"),
        ("https://x.openai.azure.com/v1/responses", "https://x.openai.azure.com/openai/v1"),
        ("x.openai.azure.us", "https://x.openai.azure.us/openai/v1"),
        ("https://x.services.ai.azure.com/api/projects/p/openai", "https://x.services.ai.azure.com/api/projects/p/openai/v1"),
        ("https://x.services.ai.azure.com/", "https://x.services.ai.azure.com/openai/v1"),
        ("https://x.services.ai.azure.com/api/projects/p", "https://x.services.ai.azure.com/api/projects/p/openai/v1"),
        ("https://x.openai.azure.com/openai/v1/?api-version=preview", "https://x.openai.azure.com/openai/v1?api-version=preview"),
        ("https://x.openai.azure.com/openai/v1/responses?api-version=2025-04-01-preview&a=b", "https://x.openai.azure.com/openai/v1?a=b"),
        ("https://x.cognitiveservices.azure.com/openai/responses?api-version=2025-04-01-preview", "https://x.cognitiveservices.azure.com/openai?api-version=2025-04-01-preview"),
        ("https://x.openai.azure.com/openai?api-version=2025-04-01-preview", "https://x.openai.azure.com/openai?api-version=2025-04-01-preview"),
        ("https://x.openai.azure.com/openai/responses?api-version=2024-10-21", "https://x.openai.azure.com/openai/v1"),
        ("https://x.openai.azure.com/openai/deployments/gpt-5/chat/completions?api-version=2025-01-01-preview", "https://x.openai.azure.com/openai/v1"),
        ("https://x.services.ai.azure.com/models/chat/completions?api-version=2024-05-01-preview", "https://x.services.ai.azure.com/openai/v1"),
        ("https://openai.azure.com.example", "https://openai.azure.com.example/v1"),
        ("", "https://api.openai.com/v1"),
        (None, "https://api.openai.com/v1"),
    ],
)  # fmt: skip
def test_a_base_url_is_what_a_pasted_address_means(typed: str | None, used: str) -> None:
    assert connect(openai_api_base=typed).base_url == used
    config = ModelConfig.from_env(environ={"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": typed or ""})
    assert config.connect().base_url == used


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("https://x.openai.azure.com/openai/v1?api-version=preview&b", "https://x.openai.azure.com/openai/v1?api-version=...&..."),
        ("https://gateway.example/sk-abcdefgh12/v1", "https://gateway.example/sk-[redacted]/v1"),
        ("", "https://api.openai.com/v1"),
    ],
)  # fmt: skip
def test_an_address_is_shown_without_what_may_be_secret(typed: str, shown: str) -> None:
    assert connect(openai_api_base=typed).address == shown


@pytest.mark.parametrize(
    ("typed", "reason"),
    [
        ("http:gateway.example", "host is required"),
        ("http:///v1", "host is required"),
        ("user:pass@gateway.example", "must use http or https"),
        ("pass@gateway.example", "must not include credentials"),
        ("mailto:pass@gateway.example", "must use http or https"),
        ("::1", "must be a URL"),
        ("gateway.example#a", "must not have a fragment"),
        ("two words", "must not contain white space"),
        ("169.254.169.254", "host is not allowed"),
        ("metadata.google.internal:80", "host is not allowed"),
        ("ftp://gateway.example", "must use http or https"),
        ("file:///etc/passwd", "must use http or https"),
        ("https://user:pass@gateway.example", "must not include credentials"),
        ("https://@gateway.example", "must not include credentials"),
        ("https://", "host is required"),
        ("https://.", "host is required"),
        ("https://gateway.example:port", "must be a URL"),
        ("https://[::1", "must be a URL"),
        ("https://gateway.example#a", "must not have a fragment"),
        ("https://gateway.example?a=b&a=c", "must not name a parameter of its query twice"),
        ("https://gateway.example/a b", "must not contain white space"),
        ("https://-", "host is not a name that can be looked up"),
        ("https://999.1.1.1", "host is not a name that can be looked up"),
        ("http://169.254.169.254", "host is not allowed"),
        ("http://169.254.1.1", "host is not allowed"),
        ("http://2852039166", "host is not allowed"),
        ("http://0xA9FEA9FE", "host is not allowed"),
        ("http://[::ffff:169.254.169.254]", "host is not allowed"),
        ("http://[fe80::1%25eth0]", "host is not allowed"),
        ("http://[fd00:ec2::254]", "host is not allowed"),
        ("http://METADATA.google.internal.", "host is not allowed"),
    ],
)
def test_a_base_url_that_a_key_must_not_go_to_is_refused(typed: str, reason: str) -> None:
    with pytest.raises(SettingsError, match=reason) as caught:
        connect(openai_api_base=typed)

    assert caught.value.field == "openai_api_base"
    assert "pass" not in str(caught.value)


@pytest.mark.parametrize(
    ("address", "is_openai"),
    [
        ("https://api.openai.com/v1", True),
        ("https://EU.api.openai.com/v1", True),
        ("https://house.openai.azure.com/openai/v1", True),
        ("https://house.services.ai.azure.com/openai/v1", True),
        ("https://house.openai.azure.us/openai/v1", True),
        ("https://api.openai.com.example.org/v1", False),
        ("https://notapi.openai.com/v1", False),
        ("http://127.0.0.1:11434/v1", False),
    ],
)
def test_a_connection_knows_whether_openai_itself_answers(address: str, is_openai: object) -> None:
    assert Connection(api_key="k", base_url=address).is_openai is is_openai


def test_an_operator_can_limit_the_hosts() -> None:
    environ = {"OPENAI_GPT5_ALLOWED_BASE_URL_HOSTS": "Good.example., other.example"}

    allowed = Connection.from_credentials(
        {**KEY, "openai_api_base": "https://good.example"}, environ=environ
    )
    with pytest.raises(SettingsError, match="host is not allowed"):
        Connection.from_credentials(
            {**KEY, "openai_api_base": "https://bad.example"}, environ=environ
        )

    assert allowed.host == "good.example"


def test_the_process_environment_counts_when_no_other_is_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_GPT5_ALLOWED_BASE_URL_HOSTS", "good.example")

    with pytest.raises(SettingsError, match="host is not allowed"):
        Connection.from_credentials({**KEY, "openai_api_base": "https://bad.example"})


@pytest.mark.parametrize(
    ("typed", "seconds"),
    [
        ("60", 60),
        (61, 61),
        ("1", 30),
        ("9999", 900),
        ("abc", 300),
        ("60.5", 300),
        (None, 300),
        (True, 300),
    ],
)
def test_a_timeout_is_brought_within_its_range(typed: object, seconds: float) -> None:
    assert connect(request_timeout_seconds=typed).timeout_seconds == seconds


@pytest.mark.parametrize(("typed", "retries"), [("0", 0), ("-1", 0), ("9", 5), ("", 1), ("x", 1)])
def test_retries_are_brought_within_their_range(typed: object, retries: int) -> None:
    assert connect(max_retries=typed).max_retries == retries


@given(st.text())
def test_any_base_url_is_completed_or_refused_by_name(typed: str) -> None:
    try:
        connection = connect(openai_api_base=typed)
    except SettingsError as error:
        field = error.field
    else:
        path = urlsplit(connection.base_url).path
        field = "openai_api_base" if connection.host and path.endswith("/v1") else ""

    assert field == "openai_api_base"


SETTINGS = {
    "api_key": "openai_api_key",
    "organization": "openai_organization",
    "base_url": "openai_api_base",
}
NO_TEXTS = [5, 5.5, True, b"geheim", ["geheim"], {"geheim": 1}, object()]


@pytest.mark.parametrize("value", NO_TEXTS, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("name", SETTINGS)
def test_what_is_no_text_is_refused_by_its_field_however_it_came(name: str, value: object) -> None:
    typed = SETTINGS[name]
    makers = [
        (name, lambda: Connection(**{"api_key": "key", name: value})),
        (name, lambda: Connection.from_settings({"api_key": "key", name: value}, environ={})),
        (name, lambda: ModelConfig(**{"model_id": "m", "api_key": "key", name: value}).connect()),
        (typed, lambda: connect(**{typed: value})),
    ]
    for field, make in makers:
        with pytest.raises(SettingsError, match=f"^{field} must be a text, got") as caught:
            make()

        assert caught.value.field == field
        assert "geheim" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("timeout_seconds", "a number of seconds above 0"),
        ("total_seconds", "a number of seconds above 0"),
        ("max_retries", "a whole number from 0"),
    ],
)
@pytest.mark.parametrize(
    "value", ["60", [60], b"60", True, -1, float("nan"), float("inf")], ids=repr
)
def test_what_is_no_such_number_is_refused_by_its_field(
    name: str, expected: str, value: object
) -> None:
    with pytest.raises(SettingsError, match=f"^{name} must be {expected}") as caught:
        Connection(**{"api_key": "key", name: value})

    assert caught.value.field == name


def test_the_name_of_a_limit_is_a_text() -> None:
    with pytest.raises(SettingsError, match=r"^total_limit must be a text"):
        Connection(api_key="key", total_limit=["x"])


@pytest.mark.parametrize("name", ["timeout_seconds", "max_retries", "total_seconds"])
def test_a_number_of_a_form_is_a_number_or_a_text(name: str) -> None:
    for value in ([60], b"60", {"a": 1}):
        with pytest.raises(SettingsError, match=f"^{name} must be a number") as caught:
            Connection.from_settings({"api_key": "key", name: value}, environ={})
        assert caught.value.field == name

    beyond_reason = Connection.from_settings({"api_key": "key", name: 10**5000}, environ={})
    assert beyond_reason == Connection(api_key="key")
