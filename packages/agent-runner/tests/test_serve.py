import subprocess
import sys

import pytest


KEY = {"AGENT_RUNNER_API_KEY": "sesame"}


def test_a_server_with_a_key_lets_in_who_shows_it(make_agent, start_server):
    server = start_server(make_agent(""), environment=KEY)
    shown = [None, "Bearer other", "Basic sesame", "Bearer sesame"]
    answers = [
        server.client.get("/agents", headers={"Authorization": value} if value else {})
        for value in shown
    ]
    assert [answer.status_code for answer in answers] == [401, 401, 401, 200]
    assert answers[0].headers["WWW-Authenticate"] == "Bearer"


def test_a_server_for_others_may_be_called_by_any_name(make_agent, start_server):
    server = start_server(make_agent(""), host="0.0.0.0", environment=KEY)
    headers = {"Authorization": "Bearer sesame", "Host": "runner.example"}
    assert server.client.get("/agents", headers=headers).status_code == 200


def test_it_says_what_it_serves_and_where(make_agent, start_command):
    server = start_command(make_agent("", name="one"), make_agent("", name="two"), host="::1")
    assert server.lines[0].startswith("agent-runner: serving one, two on http://[::1]:")
    assert server.client.get("/agents").status_code == 200


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"host": "0.0.0.0"},
            "AGENT_RUNNER_API_KEY: expected to be set, because other machines can reach 0.0.0.0",
        ),
        ({"host": "runner.example"}, "AGENT_RUNNER_API_KEY: expected to be set"),
        ({"database": "mysql://x"}, "database: expected a URL that starts with postgresql://"),
        (
            {"database": "postgresql://me:hunter22@127.0.0.1:9/x", "server_name": "one"},
            "database: expected a database that can be opened: ",
        ),
        (
            {"database": "postgresql://x"},
            "server name: expected to be set, because several servers may share",
        ),
        ({"server_name": "one"}, "agent-runner: --server-name: expected --database with it"),
        (
            {"max_attempts": 3},
            "agent-runner: --max-attempts: expected --on-crash rerun with it",
        ),
        ({"timeout": -1}, "Invalid value for '--timeout'"),
        ({"production_env": "sk-x"}, "production env: expected NAME=VALUE"),
    ],
)
def test_a_setting_that_is_wrong_is_told(make_agent, start_server, options, message):
    server = start_server(make_agent(""), **options)
    assert server.wait() == 2
    assert message in "".join(server.lines)
    assert "hunter22" not in "".join(server.lines)


def test_a_host_that_can_only_be_called_from_here_needs_no_key(make_agent, start_server):
    assert start_server(make_agent(""), host="localhost").client.get("/agents").status_code == 200


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a", "a/"], "expected a name that no other agent has; "),
        (
            ["with space"],
            "expected a folder's name of letters, digits, dots, hyphens and underscores",
        ),
    ],
)
def test_each_agent_needs_a_name_of_its_own(make_agent, start_server, names, message):
    for name in names:
        make_agent("", name=name)
    server = start_server(*(make_agent("", name=name) for name in names))
    assert server.wait() == 2
    assert message in server.lines[0]


def test_a_folder_without_an_agent_is_refused(tmp_path, start_server):
    server = start_server(tmp_path)
    assert server.wait() == 2
    assert "main.py: expected a script, found no such file" in server.lines[0]


def test_a_state_folder_has_one_server_at_a_time(make_agent, start_server):
    folder = make_agent("")
    first = start_server(folder)
    second = start_server(folder)
    assert second.wait() == 2
    assert "expected a state folder that no other server uses" in second.lines[0]
    assert first.client.get("/agents").status_code == 200


def test_a_state_folder_that_cannot_be_made_is_told(make_agent, start_server, tmp_path):
    (tmp_path / "file").touch()
    server = start_server(make_agent(""), state=tmp_path / "file" / "state")
    assert server.wait() == 2
    assert "expected a folder to write to" in server.lines[0]


def test_the_state_lies_where_a_users_programs_keep_it(make_agent, start_server, tmp_path):
    environment = {"XDG_STATE_HOME": str(tmp_path / "home")}
    server = start_server(make_agent(""), state=None, environment=environment)
    assert server.client.get("/agents").status_code == 200
    assert (tmp_path / "home" / "agent-runner" / "runs.sqlite").exists()


def test_an_address_that_is_taken_is_told(make_agent, start_server, tmp_path):
    folder = make_agent("")
    first = start_server(folder, state=tmp_path / "one")
    port = first.client.base_url.port
    second = start_server(folder, state=tmp_path / "two", port=port)
    assert second.wait() == 2
    assert second.lines == [
        f"agent-runner: 127.0.0.1:{port}: expected a port that no other program listens on\n"
    ]


def test_an_address_of_another_machine_is_told(make_agent, start_server):
    server = start_server(make_agent(""), host="192.0.2.1", environment=KEY)
    assert server.wait() == 2
    assert "192.0.2.1:0: expected an address of this machine" in server.lines[0]


def test_without_the_extra_it_says_what_to_install(make_agent):
    code = (
        "import sys; sys.modules['uvicorn'] = None; from agent_runner._command import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "serve", make_agent("")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == (
        "agent-runner: serve: expected uvicorn to be installed: pip install 'gpt5-agent-runner[server]'\n"
    )
    assert done.returncode == 2


def test_the_other_commands_do_not_load_what_only_the_server_needs():
    code = "import agent_runner._command, sys; print({'dbos', 'starlette', 'textual_image', 'uvicorn'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
