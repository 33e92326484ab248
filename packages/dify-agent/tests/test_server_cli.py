import os
import signal
import socket
import threading

import httpx
import pytest
import sse_starlette.sse
from cryptography.fernet import Fernet
from typer.testing import CliRunner

from dify_agent.plugin_daemon_transport import SilenceLimits
from dify_agent.server import cli
from dify_agent.server.engine import build_layer_providers
from dify_agent.server.settings import ServerSettings


@pytest.fixture
def serve(monkeypatch, tmp_path):
    """Return a function that runs `dify-agent serve` in an environment, without ever listening."""

    def run(*arguments, **environment):
        monkeypatch.setenv("DIFY_AGENT_DATABASE_URL", f"sqlite:///{tmp_path / 'runs.sqlite'}")
        for name, value in environment.items():
            monkeypatch.setenv(f"DIFY_AGENT_{name}", value)
        return CliRunner().invoke(cli.app, ["serve", *arguments])

    return run


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("PORT", "s3cret", "expected a whole number"),
        ("PORT", "99999", "expected at most 65535"),
        ("CONCURRENCY", "0", "expected at least 1"),
        ("CONCURRENCY", "9" * 5000, "expected a whole number with fewer digits"),
        ("LEASE_SECONDS", "s3cret", "expected a number"),
        ("MODEL_SILENCE_SECONDS", "0", "expected more than 0"),
        ("KEEP_ALIVE_SILENCE_SECONDS", "nan", "expected more than 0"),
        ("TOOL_SILENCE_SECONDS", "-1", "expected more than 0"),
        ("LEASE_SECONDS", "0", "expected more than 0"),
        ("PLUGIN_DAEMON_URL", "s3cret", "expected an address that begins with http:// or https://"),
        ("PLUGIN_DAEMON_API_KEY", "s3cret\n", "expected one line of text"),
        ("DATABASE_URL", "s3cret", "expected sqlite:///path or postgresql://"),
        ("DATABASE_URL", "mysql://s3cret@host/name", "expected sqlite:///path or postgresql://"),
        ("DATABASE_URL", "sqlite://", "expected a file"),
        ("API_KEY", "", "expected a key; leave the variable out for none"),
        ("STORAGE_KEY", "s3cret", "expected a Fernet key: 32 bytes in URL-safe base64"),
    ],
)
def test_a_bad_setting_is_named_and_not_shown(serve, name, value, expected):
    result = serve(**{name: value})

    assert result.exit_code == 2
    assert result.output.startswith(f"dify-agent: DIFY_AGENT_{name}: {expected}")
    assert "s3cret" not in result.output


def test_how_long_replies_may_be_silent_is_a_setting(monkeypatch):
    for number, name in enumerate(["MODEL", "KEEP_ALIVE", "TOOL"], start=1):
        monkeypatch.setenv(f"DIFY_AGENT_{name}_SILENCE_SECONDS", str(number))
    providers = {each.type_id: each for each in build_layer_providers(ServerSettings())}
    layer = providers["dify.plugin"].create({"tenant_id": "t"})
    assert layer.silence == SilenceLimits(model_seconds=1, keep_alive_seconds=2, tool_seconds=3)


def test_a_server_without_a_key_does_not_listen_to_the_network(serve):
    result = serve("--host", "0.0.0.0")

    assert result.exit_code == 2
    assert result.output == (
        "dify-agent: --host: expected a loopback address unless DIFY_AGENT_API_KEY is set\n"
    )


def test_a_bad_option_is_named_as_it_was_written(serve):
    result = serve("--port", "99999")

    assert result.exit_code == 2
    assert result.output == "dify-agent: --port: expected at most 65535\n"


def test_a_port_that_is_taken_is_named(serve):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = serve("--port", str(port))

    assert result.exit_code == 2
    assert result.output == (
        f"dify-agent: 127.0.0.1:{port}: expected a port that no other program listens on\n"
    )


def test_an_address_of_another_machine_is_named(serve):
    result = serve("--host", "192.0.2.1", "--port", "0", API_KEY="key")

    assert result.exit_code == 2
    assert result.output.startswith("dify-agent: 192.0.2.1:0: expected an address of this machine")


def test_a_database_written_under_another_key_is_left_alone(serve, serve_runs):
    with serve_runs(storage_key=Fernet.generate_key().decode()):
        pass

    for environment in ({}, {"STORAGE_KEY": Fernet.generate_key().decode()}):
        result = serve(**environment)

        assert result.exit_code == 2
        assert result.output.startswith("dify-agent: DIFY_AGENT_STORAGE_KEY: expected the key")


def test_a_database_that_cannot_be_opened_is_named(serve, tmp_path):
    (tmp_path / "file").touch()

    result = serve(DATABASE_URL=f"sqlite:///{tmp_path / 'file' / 'runs.sqlite'}")

    assert result.exit_code == 2
    assert result.output.startswith(
        "dify-agent: DIFY_AGENT_DATABASE_URL: cannot use the database: "
    )


def test_a_postgresql_database_out_of_reach_is_named_without_its_password(serve):
    result = serve(DATABASE_URL="postgresql://user:s3cret@127.0.0.1:1/runs")

    assert result.exit_code == 2
    assert result.output.startswith(
        "dify-agent: DIFY_AGENT_DATABASE_URL: cannot use the database: "
    )
    assert "s3cret" not in result.output


def test_the_command_serves_until_it_is_interrupted(monkeypatch, tmp_path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    monkeypatch.setenv("DIFY_AGENT_DATABASE_URL", f"sqlite:///{tmp_path / 'runs.sqlite'}")
    monkeypatch.setenv("DIFY_AGENT_PORT", str(port))
    monkeypatch.setattr("sys.argv", ["dify-agent", "serve"])
    # The interrupt ends all streams of this process for good.
    monkeypatch.setattr(sse_starlette.sse.AppStatus, "should_exit", False)
    answers = []

    def ask_then_interrupt():
        transport = httpx.HTTPTransport(retries=10)  # with growing pauses, over a minute in all
        with httpx.Client(transport=transport, timeout=60) as client:
            answers.append(client.get(f"http://127.0.0.1:{port}/health").json())
        os.kill(os.getpid(), signal.SIGINT)

    asking = threading.Thread(target=ask_then_interrupt)
    asking.start()
    with pytest.raises(SystemExit):
        cli.main()
    asking.join()

    assert answers == [{"status": "ok"}]
