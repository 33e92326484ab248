"""What a user is told who types credentials into Dify's forms."""

import pytest

from gpt5_simulator import HttpError, ResponsesSimulator
from model_plugin import ModelPlugin


def test_good_credentials_pass_both_forms(plugin: ModelPlugin, server: ResponsesSimulator) -> None:
    assert plugin.validate(server).chunks[0]["result"] is True
    assert plugin.validate(server, model="gpt-5.2").chunks[0]["result"] is True


def test_a_gateway_without_a_model_list_passes_by_a_minimal_call(plugin: ModelPlugin) -> None:
    with ResponsesSimulator(models_status=404) as gateway:
        assert plugin.validate(gateway).chunks[0]["result"] is True


@pytest.mark.parametrize("model", [None, "gpt-5.2"])
@pytest.mark.parametrize(
    ("credentials", "sentence"),
    [
        ({"openai_api_key": "very-secret-key"}, "does not accept the API key"),
        ({"openai_api_key": " "}, "openai_api_key is required"),
        ({"openai_api_base": "ftp://x"}, "openai_api_base must use http or https"),
        ({"openai_api_base": "http://127.0.0.1:9"}, "could not be reached"),
    ],
)
def test_a_failure_is_one_sentence_with_its_likely_cause_and_no_secret(
    plugin: ModelPlugin, model: str | None, credentials: dict[str, str], sentence: str
) -> None:
    with ResponsesSimulator(api_keys=["key"]) as server:
        error = plugin.validate(server, model=model, **credentials).error

    assert error.error_type == "CredentialsValidateFailedError"
    assert sentence in str(error)
    assert "very-secret-key" not in str(error)


def test_a_model_that_the_server_does_not_have_is_named(
    plugin: ModelPlugin, server: ResponsesSimulator
) -> None:
    assert "'gpt-none'" in str(plugin.validate(server, model="gpt-none").error)


def test_a_failing_server_is_told_from_a_wrong_key(plugin: ModelPlugin) -> None:
    with ResponsesSimulator(
        faults=[HttpError(status=500, times=None)], models_status=500
    ) as server:
        assert "Try again later" in str(plugin.validate(server).error)
