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


@pytest.mark.parametrize("name", ["PWD", "HOME", "PATH", "REGION", "GIT_AUTHOR_NAME", "base_url"])
def test_other_settings_are_no_secrets(name):
    assert not is_secret_setting(name, "https://example.test/a@b")


def test_a_url_with_a_password_is_a_secret_whatever_its_name():
    assert is_secret_setting("DATABASE", "postgres://admin:x@db/main")


def test_a_member_is_a_secret_by_its_name_unless_it_is_a_count():
    assert is_secret_key("access_token", "x")
    assert not is_secret_key("total_tokens", 12)
    assert not is_secret_key("monkey", "x")
