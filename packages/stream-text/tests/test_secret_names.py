import pytest

from stream_text import is_secret_key, is_secret_setting


@pytest.mark.parametrize(
    "name",
    [
        *("OPENAI_API_KEY", "APIKEY", "KEYFILE", "GITHUB_TOKEN", "client_secret", "SSHPASS"),
        *("PGPASSWORD", "MYSQL_PWD", "MYSQLPWD", "GOOGLE_APPLICATION_CREDENTIALS", "Authorization"),
        *("oauth2", "PRIVATE_PEM", "COOKIE", "SESSION", "SENTRY_DSN", "jwt", "SLACK_WEBHOOK_URL"),
    ],
)
def test_a_setting_is_a_secret_by_its_name(name):
    assert is_secret_setting(name, "x")


COUNTS = [
    *("max_output_tokens", "maxTokens", "MAX_TOKENS", "max_new_tokens", "total tokens", "n_tokens"),
    *("prompt_tokens_details", "cached_tokens", "cache_read_tokens", "token_count", "tokenUsage"),
    *("accepted_prediction_tokens", "thinking.budget_tokens", "tokens_per_min", "tokens-left"),
    *("tokens_before", "tokensIn", "size tokens_out"),
]
NO_COUNTS = [
    *("admin_tokens", "access_tokens", "tokens", "token", "token_used", "auth_max_tokens"),
    *("max_tokens_secret", "total_tokens_key", "idTokens", "tokens_internal"),
]


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("value", ["must be at least 16", 12, {"audio": 3}])
def test_a_count_of_tokens_is_no_secret_whatever_stands_there(name, value):
    assert not is_secret_key(name, value)
    assert not is_secret_setting(name)


@pytest.mark.parametrize("name", NO_COUNTS)
def test_tokens_that_are_not_counted_stay_secrets(name):
    assert is_secret_key(name, "x")
    assert is_secret_setting(name)


@pytest.mark.parametrize(
    "name", ["PWD", "OLDPWD", "HOME", "PATH", "REGION", "GIT_AUTHOR_NAME", "base_url"]
)
def test_other_settings_are_no_secrets(name):
    assert not is_secret_setting(name, "https://example.test/a@b")


def test_a_url_with_a_password_is_a_secret_whatever_its_name():
    assert is_secret_setting("DATABASE", "postgres://admin:x@db/main")


def test_a_member_is_a_secret_by_its_name_unless_it_is_a_count():
    assert is_secret_key("access_token", "x")
    assert not is_secret_key("total_tokens", 12)
    assert not is_secret_key("monkey", "x")
