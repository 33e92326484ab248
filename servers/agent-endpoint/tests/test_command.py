"""The command, and `serve`."""

import sys
from pathlib import Path

import pytest
from scripted import adding, paying
from typer.testing import CliRunner

from agent_endpoint import AgentExecutor, EndpointSettings, serve
from agent_endpoint.command import app


HERE = Path(__file__).parent


@pytest.fixture
def served(monkeypatch):
    """Return what would be served, in the place of serving it."""
    found = []
    monkeypatch.setattr(
        "agent_server.command.serve", lambda executor, settings: found.append((executor, settings))
    )
    monkeypatch.chdir(HERE)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return found


def names(executor):
    return [one.name for one in executor.agents()]


def test_help_shows_keys_as_they_are_written_and_the_version_is_told():
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "80"}).output
    assert "`tenant:key:start` may start runs" in " ".join(shown.split())
    assert "(AGENT_ENDPOINT_ALLOW_ORIGIN)" in shown
    assert "--max-waiting-per-tenant" in shown
    assert CliRunner().invoke(app, ["--version"]).output.startswith("agent-endpoint 0.")


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("served", ["paying", "support"]),
        ("served:support", ["support"]),
        ("served:agents", ["one", "two"]),
    ],
)
def test_the_agents_of_a_module_are_served_under_their_names(served, place, expected):
    result = CliRunner().invoke(app, [place, "--port", "0", "--concurrency", "3"])

    assert result.exit_code == 0, result.output
    [(executor, settings)] = served
    assert sorted(names(executor)) == expected
    assert (settings.port, settings.concurrency) == (0, 3)


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("no_such_module", "no_such_module: expected a module"),
        ("served:nothing", "served:nothing: expected an Agent"),
        ("served:other", "served:other: expected an Agent"),
        ("json", "json: expected an Agent"),
        ("keyless:unset", "keyless: expected SUPPORT_MODEL_KEY in the environment"),
        ("keyless:wrong", "keyless: SUPPORT_MODEL_URL must be an address"),
    ],
)
def test_a_place_without_agents_is_refused(served, monkeypatch, place, told):
    monkeypatch.setenv("KEYLESS", place.partition(":")[2])
    monkeypatch.setenv("SUPPORT_MODEL_URL", "nowhere")
    monkeypatch.delitem(sys.modules, "keyless", raising=False)
    result = CliRunner().invoke(app, [place])

    assert (result.exit_code, served) == (2, [])
    assert told in result.output


def test_a_module_that_lacks_another_says_so_itself(served, tmp_path, monkeypatch):
    (tmp_path / "lacking.py").write_text("import no_such_dependency")
    monkeypatch.chdir(tmp_path)

    result = CliRunner().invoke(app, ["lacking"])

    assert isinstance(result.exception, ModuleNotFoundError)
    assert served == []


def test_agents_are_served_from_a_program(served, monkeypatch, tmp_path):
    monkeypatch.setenv("AGENT_ENDPOINT_STATE", str(tmp_path))
    serve(adding)
    serve({"a": adding, "b": paying}, EndpointSettings(state=tmp_path), deps={"a": 1})

    assert [names(executor) for executor, _ in served] == [["agent"], ["a", "b"]]
    assert served[0][1].state == tmp_path


def test_an_agents_version_is_what_its_runs_depend_on():
    [one], [same], [other] = (
        AgentExecutor({"a": agent}).agents()
        for agent in (adding, adding.with_(instruction="Be brief."), paying)
    )
    assert one.version == same.version
    assert one.version != other.version


def test_a_mistake_of_the_modules_own_is_told_as_it_is(served, monkeypatch):
    monkeypatch.setenv("KEYLESS", "")
    result = CliRunner().invoke(app, ["keyless"])

    assert (str(result.exception), served) == ("a mistake of the module's own", [])
