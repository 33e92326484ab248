"""The audit log, as an operator sees it in Dify's plugin log."""

import json
from collections.abc import Callable

import pytest

from gpt5_simulator import HttpError, ResponsesSimulator
from model_plugin import ModelPlugin


@pytest.fixture(scope="module")
def audited(start_plugin: Callable[..., ModelPlugin]) -> ModelPlugin:
    return start_plugin(OPENAI_GPT5_AUDIT_LOG="true")


def events(plugin: ModelPlugin) -> list[dict[str, object]]:
    lines = [notice.text for notice in plugin.notices]
    return [
        json.loads(line.removeprefix("openai_gpt5_audit "))
        for line in lines
        if line.startswith("openai_gpt5_audit ")
    ]


def test_a_call_leaves_a_request_and_a_success(
    audited: ModelPlugin, server: ResponsesSimulator
) -> None:
    audited.notices.clear()
    audited.invoke(server, "a very private question", key="very-secret-key")

    request, success = events(audited)
    assert (request["event"], success["event"]) == (
        "responses_api_request",
        "responses_api_success",
    )
    assert request["audit_id"] == success["audit_id"]
    assert "very-secret-key" not in str(audited.notices)
    assert "private" not in str(audited.notices)


def test_a_failed_call_leaves_an_error(audited: ModelPlugin) -> None:
    audited.notices.clear()
    with ResponsesSimulator(faults=[HttpError(status=429)]) as server:
        audited.invoke(server)

    request, error = events(audited)
    assert (error["event"], error["status_code"]) == ("responses_api_error", 429)
    assert error["audit_id"] == request["audit_id"]


def test_without_the_setting_nothing_is_logged(
    plugin: ModelPlugin, server: ResponsesSimulator
) -> None:
    plugin.invoke(server)

    assert events(plugin) == []
