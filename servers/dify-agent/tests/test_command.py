"""The command, with its extra and without it."""

import importlib
import subprocess
import sys
from importlib.metadata import entry_points

import pytest
from typer.testing import CliRunner


OURS = ("dify_agent.server", "dify_agent._cli", "dify_agent._settings", "agent_server")
WITHOUT = "import sys; sys.modules[{!r}] = None; from dify_agent._command import main; main()"
SENTENCE = "dify-agent: the command needs the extra 'server', of which {!r} is missing: dify-agent[server]\n"


@pytest.fixture
def run_without(monkeypatch):
    """Return a function that runs the command as if a module were not installed."""

    def run(module):
        for name in [name for name in sys.modules if name.startswith((*OURS, module))]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, module, None)
        monkeypatch.setattr(sys, "argv", ["dify-agent", "serve", "--port", "0"])
        entry_points(group="console_scripts")["dify-agent"].load()()

    yield run
    # What was imported meanwhile would be a second one of each class.
    for name in [name for name in sys.modules if name.startswith(OURS)]:
        del sys.modules[name]
    monkeypatch.undo()
    if (server := sys.modules.get("dify_agent.server")) is not None:
        sys.modules["dify_agent"].server = server


@pytest.mark.parametrize("module", ["agent_server", "sqlalchemy", "starlette", "typer", "uvicorn"])
def test_without_its_extra_the_command_says_how_to_get_it(run_without, capsys, module):
    with pytest.raises(SystemExit) as caught:
        run_without(module)
    assert caught.value.code == 2
    assert capsys.readouterr() == ("", SENTENCE.format(module))


def test_a_process_without_the_extra_ends_with_that_sentence_alone():
    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT.format("pydantic_settings"), "serve"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == SENTENCE.format("pydantic_settings")


def test_a_module_of_our_own_that_is_missing_is_a_fault(run_without):
    with pytest.raises(ModuleNotFoundError):
        run_without("dify_agent._settings")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--help"], "serve"),
        (["--version"], "dify-agent 0."),
        (["serve", "--help"], "`tenant:key:start` may start runs"),
    ],
)
def test_with_its_extra_the_command_is_there(monkeypatch, capsys, arguments, told):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys, "argv", ["dify-agent", *arguments])
    with pytest.raises(SystemExit) as caught:
        entry_points(group="console_scripts")["dify-agent"].load()()
    assert caught.value.code == 0
    assert told in " ".join(capsys.readouterr().out.split())


LISTENS = """
import sys
from contextlib import contextmanager
from agent_server import command

@contextmanager
def listen(settings):
    slow = {"dify_agent.server._executor", "pydantic_ai", "uvicorn"} & sys.modules.keys()
    print(settings.port, sorted(slow), flush=True)
    sys.exit()
    yield

command.listen = listen
sys.argv = ["dify-agent", "serve", "--port", "5"]
from dify_agent._command import main
main()
"""


def test_a_server_listens_before_it_imports_what_takes_long():
    """So clients wait for a server that was restarted, where they would give up one that refuses them."""
    done = subprocess.run(
        [sys.executable, "-c", LISTENS], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("5 []\n", "")


def test_serve_hands_the_settings_and_dify_s_own_paths_to_the_server(monkeypatch):
    served = []
    server = importlib.import_module("agent_server.command")
    monkeypatch.setattr(
        server,
        "serve",
        lambda *given, routes, listener: served.append((*given, routes, listener.getsockname())),
    )
    app = importlib.import_module("dify_agent._cli").app
    result = CliRunner().invoke(app, ["serve", "--port", "0", "--max-model-requests", "7"])
    assert (result.exit_code, result.output) == (0, "")
    [(executor, settings, routes, (host, port))] = served
    assert (executor.name, settings.max_model_requests) == ("dify-agent", 7)
    assert "/runs" in [route.path for route in routes]
    assert host == "127.0.0.1"
    assert port > 0
