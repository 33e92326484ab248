import ast
import json
import re
from pathlib import Path

from dify_plugin_host import load_tools


pytest_plugins = ["pytester"]

PACKAGE = Path(__file__).parents[1]
README = PACKAGE / "README.md"
PAGES = PACKAGE.parents[1] / "docs" / "dify-plugin-host"


def example(page):
    """Return the one Python example of a page."""
    (block,) = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    return block


def test_the_example_of_a_tools_file_makes_a_tool(tmp_path):
    path = tmp_path / "tools.py"
    path.write_text(example(PAGES / "chat.md"))
    (tool,) = load_tools(path)
    assert tool.name == "temperature"
    assert [parameter.type for parameter in tool.parameters] == ["string", "select"]


def test_the_example_of_driving_a_plugin_runs(echo, monkeypatch, capsys):
    monkeypatch.chdir(echo.rename(echo.with_name("plugin")).parent)
    exec(compile(example(README), str(README), "exec"), {"__name__": "example"})
    (answer,) = ast.literal_eval(capsys.readouterr().out)
    assert answer["action"] == "get_ai_model_schemas"


def test_the_example_of_serving_a_plugin_runs(echo, monkeypatch, capsys):
    monkeypatch.chdir(echo.rename(echo.with_name("plugin")).parent)
    exec(compile(example(PAGES / "serve.md"), "serve.md", "exec"), {"__name__": "example"})
    event = json.loads(capsys.readouterr().out.removeprefix("data: "))
    assert event["data"] == {"result": False}


def test_the_first_example_of_testing_passes(make_plugin, pytester):
    folder = make_plugin(
        """
        wire.ready()
        for request in wire.requests():
            count = len(request["data"]["tool_parameters"]["text"].split())
            value = {"variable_name": "count", "variable_value": count, "stream": False}
            wire.stream(request, {"type": "variable", "message": value, "meta": None})
            wire.stream(request, {"type": "text", "message": {"text": str(count)}, "meta": None})
            wire.end(request)
        """,
        plugins={"tools": ["tools.yaml"]},
    )
    tool = {"identity": {"name": "count_words"}, "parameters": [{"name": "text", "type": "string"}]}
    (folder / "tools.yaml").write_text(json.dumps({"identity": {"name": "p"}, "tools": [tool]}))
    first = re.search(r"```python\n(.*?)```", (PAGES / "testing.md").read_text(), re.DOTALL)[1]
    (folder / "tests").mkdir()
    (folder / "tests" / "test_words.py").write_text(first)
    pytester.runpytest(folder).assert_outcomes(passed=1)


def test_the_routes_that_are_documented_are_the_ones_there_are(echo, run_daemon):
    table = (
        (PAGES / "serve.md")
        .read_text(encoding="utf-8")
        .partition("`POST /plugin/{tenant}/dispatch/…` |")[2]
    )
    named = set(re.findall(r"`(\w+(?:/\w+)+)`", table.partition("\n")[0]))
    assert "llm/invoke" in named
    daemon = run_daemon(echo)
    for path in named:
        response = daemon.post(path, {}, plugin="tests/scripted")
        assert response.status_code == 400, path


def test_the_events_that_are_documented_are_the_ones_there_are():
    progress = (PACKAGE / "src/dify_plugin_host/_commands/progress.py").read_text(encoding="utf-8")
    defined = set(re.findall(r'event: ClassVar\[str\] = "(\w+)"', progress))
    section = (PAGES / "chat.md").read_text(encoding="utf-8").partition("| `event` | with |")[2]
    table = section.partition("\n\n")[0]
    documented = set(
        re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| ([^|]*) \|", table, re.MULTILINE)))
    )
    assert documented == defined


def test_the_launch_settings_name_the_address_on_which_a_plugin_waits(dify_host):
    (block,) = re.findall(r"```json\n(.*?)```", (PAGES / "debug.md").read_text("utf-8"), re.DOTALL)
    (attach,) = json.loads(block)["configurations"]
    _, out, _ = dify_host("debug", "--help")
    (port,) = re.findall(r"debugger.s port.*?default:\s+(\d+)", out, re.DOTALL)
    assert attach["connect"] == {"host": "127.0.0.1", "port": int(port)}
    templates = PACKAGE / "src" / "dify_plugin_host" / "_scaffold" / "templates"
    assert (templates / "common" / ".vscode" / "launch.json").read_text("utf-8") == block
