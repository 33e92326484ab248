"""The variables of OpenAI's own client are all that a model needs."""

import pytest

from gpt5_responses import Connection, ModelConfig, SettingsError


KEY = {"OPENAI_API_KEY": "sk-very-secret"}


def test_the_key_is_enough() -> None:
    config = ModelConfig.from_env(environ=KEY)

    assert config == ModelConfig(model_id="gpt-5.5", api_key="sk-very-secret")
    assert "sk-very-secret" not in repr(config)


def test_each_variable_counts() -> None:
    environ = {
        "OPENAI_API_KEY": " sk-very-secret ",
        "OPENAI_BASE_URL": "https://gateway.example",
        "OPENAI_MODEL": " gpt-6-luna ",
        "OPENAI_ORG_ID": "org-1",
        "OPENAI_ORGANIZATION": "org-2",
    }

    assert ModelConfig.from_env(environ=environ) == ModelConfig(
        model_id="gpt-6-luna",
        api_key="sk-very-secret",
        base_url="https://gateway.example/v1",
        organization="org-1",
    )


def test_the_process_s_own_environment_counts_where_none_is_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_ORGANIZATION", "org-2")
    monkeypatch.delenv("OPENAI_ORG_ID", raising=False)

    assert ModelConfig.from_env().organization == "org-2"


@pytest.mark.parametrize(
    ("environ", "model", "expected"),
    [
        ({"OPENAI_MODEL": "gpt-6-luna"}, "gpt-5", "gpt-5"),
        ({"OPENAI_MODEL": "gpt-6-luna"}, None, "gpt-6-luna"),
        ({"OPENAI_MODEL": " "}, None, "gpt-5.5"),
        ({"OPENAI_MODEL": "a new one"}, None, "a new one"),
    ],
)
def test_the_model_is_the_given_one_or_the_environment_s(
    environ: dict[str, str], model: str | None, expected: str
) -> None:
    assert ModelConfig.from_env(environ=KEY | environ, model=model).model_id == expected


@pytest.mark.parametrize(
    ("environ", "name", "reason"),
    [
        ({"OPENAI_API_KEY": ""}, "OPENAI_API_KEY", "is required"),
        ({"OPENAI_API_KEY": "a\nb"}, "OPENAI_API_KEY", "must be visible ASCII characters"),
        ({"OPENAI_BASE_URL": "ftp://gateway.example"}, "OPENAI_BASE_URL", "must use http or https"),
        ({"OPENAI_BASE_URL": "http://169.254.169.254"}, "OPENAI_BASE_URL", "host is not allowed"),
        (
            {
                "OPENAI_BASE_URL": "https://bad.example",
                "OPENAI_GPT5_ALLOWED_BASE_URL_HOSTS": "good.example",
            },
            "OPENAI_BASE_URL",
            "host is not allowed",
        ),
        ({"OPENAI_ORG_ID": "ö"}, "OPENAI_ORG_ID", "must be visible ASCII"),
        ({"OPENAI_ORGANIZATION": "ö"}, "OPENAI_ORGANIZATION", "must be visible ASCII"),
    ],
)
@pytest.mark.parametrize("kind", [ModelConfig, Connection])
def test_what_is_not_usable_is_refused_by_the_variable_s_name(
    kind: type[ModelConfig | Connection], environ: dict[str, str], name: str, reason: str
) -> None:
    with pytest.raises(SettingsError, match=rf"^{name} {reason}") as refused:
        kind.from_env(environ=KEY | environ)
    assert refused.value.field == name
