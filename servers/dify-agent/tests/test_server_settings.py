"""The settings of `dify-agent serve` beside those of every server."""

import pytest
from pydantic import ValidationError

from dify_agent.plugin_daemon_transport import SilenceLimits
from dify_agent.server import DifyAgentSettings
from dify_agent.server._executor import build_layer_providers  # noqa: PLC2701 - where the settings go


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("plugin_daemon_url", "s3cret", "expected an address that begins with http:// or https://"),
        ("plugin_daemon_api_key", "s3cret\n", "expected one line of text"),
        ("inner_api_url", "s3cret", "expected an address that begins with http:// or https://"),
        ("inner_api_key", "s3cret\n", "expected one line of text"),
        ("max_model_requests", "0", "greater than or equal to 1"),
        ("model_silence_seconds", "0", "greater than 0"),
        ("keep_alive_silence_seconds", "nan", "greater than 0"),
        ("tool_silence_seconds", "-1", "greater than 0"),
        ("run_timeout_seconds", "0", "greater than 0"),
        ("model_parameters", "s3cret", "expected a JSON object of models and their parameters"),
        ("model_parameters", '{"gpt-5*": "s3cret"}', "expected a JSON object of models"),
        ("dify_version", "1.15.0", r"expected a version of Dify from 1\.16\.0 on"),
        ("run_retention_seconds", "s3cret", "a valid number"),
        ("api_token", "s3cret,two", "expected printable characters without spaces and commas"),
        ("api_token", "s3cret:start", "that do not end with :start or :answer"),
    ],
)
def test_a_bad_setting_is_refused_and_not_shown(monkeypatch, name, value, expected):
    monkeypatch.setenv(f"DIFY_AGENT_{name.upper()}", value)

    with pytest.raises(ValidationError, match=expected) as refused:
        DifyAgentSettings()

    assert "s3cret" not in str(refused.value)


def test_how_long_replies_may_be_silent_is_a_setting(monkeypatch):
    for number, name in enumerate(["MODEL", "KEEP_ALIVE", "TOOL"], start=1):
        monkeypatch.setenv(f"DIFY_AGENT_{name}_SILENCE_SECONDS", str(number))
    providers = {each.type_id: each for each in build_layer_providers(DifyAgentSettings())}
    layer = providers["dify.plugin"].create({"tenant_id": "t"})
    assert layer.silence == SilenceLimits(model_seconds=1, keep_alive_seconds=2, tool_seconds=3)


def test_where_dify_s_inner_api_is_stands_in_settings_and_may_be_left_out(monkeypatch):
    context = {"tenant_id": "t", "agent_mode": "agent_app", "invoke_from": "web-app"}

    def inner_api():
        providers = {each.type_id: each for each in build_layer_providers(DifyAgentSettings())}
        layer = providers["dify.execution_context"].create(context)
        return layer.inner_api_url, layer.inner_api_key

    assert inner_api() == (None, "")
    monkeypatch.setenv("DIFY_AGENT_INNER_API_URL", "http://api:5001")
    monkeypatch.setenv("DIFY_AGENT_INNER_API_KEY", "s3cret")
    assert inner_api() == ("http://api:5001", "s3cret")


def test_dify_s_own_names_of_settings_are_taken(monkeypatch):
    monkeypatch.setenv("DIFY_AGENT_API_TOKEN", "s3cret:1")
    monkeypatch.setenv("DIFY_AGENT_RUN_RETENTION_SECONDS", "43200")
    monkeypatch.setenv("DIFY_AGENT_SHUTDOWN_GRACE_SECONDS", "30")
    settings = DifyAgentSettings()

    assert [(key, holder.tenant) for key, holder in settings.keys().items()] == [
        ("s3cret:1", "default")
    ]
    assert (settings.keep_days, settings.stop_seconds) == (0.5, 30)
    assert "s3cret" not in repr(settings)


def test_our_own_names_of_settings_come_first_and_keys_are_added(monkeypatch):
    monkeypatch.setenv("DIFY_AGENT_RUN_RETENTION_SECONDS", "43200")
    monkeypatch.setenv("DIFY_AGENT_KEEP_DAYS", "3")
    given = DifyAgentSettings(api_token="t0ken", api_keys="ann:k3y", stop_seconds=1)

    assert (given.keep_days, given.stop_seconds) == (3, 1)
    assert {key: holder.tenant for key, holder in given.keys().items()} == {
        "t0ken": "default",
        "k3y": "ann",
    }


def test_two_pictures_as_large_as_dify_takes_them_fit_into_a_request():
    picture = 10 * 1024 * 1024 * 4 // 3  # in base64
    assert DifyAgentSettings().max_request_bytes > 2 * picture + 1024 * 1024


def test_an_empty_variable_is_no_setting(monkeypatch):
    for name in ("API_TOKEN", "INNER_API_URL", "RUN_TIMEOUT_SECONDS"):
        monkeypatch.setenv(f"DIFY_AGENT_{name}", "")
    settings = DifyAgentSettings()

    assert (settings.api_token, settings.inner_api_url, settings.run_timeout_seconds) == (None,) * 3


KEY = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="


@pytest.mark.parametrize(
    "given", [{"storage_keys": KEY}, {"store_plain": True}, {"host": "127.0.0.1"}]
)
def test_where_others_reach_the_server_requests_are_encrypted_or_somebody_says_so(given):
    open_to_others = {"host": "0.0.0.0", "api_keys": "k3y"}
    with pytest.raises(ValidationError, match="requests hold credentials"):
        DifyAgentSettings.model_validate(open_to_others)
    assert DifyAgentSettings.model_validate(open_to_others | given)
