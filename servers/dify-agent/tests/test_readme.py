import json
import re
from pathlib import Path

from dify_agent.compositor import Compositor, LayerNode, LayerProvider


README = Path(__file__).parent.parent / "README.md"
LAYERS = README.parent.parent.parent / "docs/dify-agent/layers.md"
DAEMON = "http://127.0.0.1:5002"


def test_the_example_in_the_readme_runs(daemon, capsys):
    [example] = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert DAEMON in example
    exec(compile(example.replace(DAEMON, daemon.url), str(README), "exec"), {})
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [event["type"] for event in events] == [
        "run_started",
        "text_delta",
        "text_delta",
        "run_succeeded",
    ]
    assert events[-1]["output"] == "Hello!"


def test_the_error_tree_in_the_readme_is_the_packages():
    source = (README.parent / "src/dify_agent/exceptions.py").read_text(encoding="utf-8")
    tree = re.search(r"^DifyAgentError\n(?:[├│└].*\n)+", source, re.MULTILINE)
    assert tree is not None
    without_modules = re.sub(r" \(in `.*?`\)", "", tree.group())
    assert without_modules in README.read_text(encoding="utf-8")


def run_examples(*words):
    """Run each example of the page on layers that has one of the words, and return their names."""
    examples = re.findall(r"```python\n(.*?)```", LAYERS.read_text(encoding="utf-8"), re.DOTALL)
    names = {"__name__": "example"}
    for example in examples:
        if any(word in example for word in words):
            exec(compile(example, str(LAYERS), "exec"), names)
    return names


async def test_the_layer_of_ones_own_in_the_docs_is_a_layer():
    names = run_examples("GreetingLayer")
    provider = LayerProvider.from_layer_type(names["GreetingLayer"])

    compositor = Compositor([LayerNode(name="greeting", provider=provider)])
    async with compositor.enter({"greeting": {"name": "Ann"}}) as run:
        assert run.prompts == ["Greet Ann first."]


def test_the_server_in_the_docs_knows_the_layer_whose_tools_wait(monkeypatch):
    monkeypatch.setattr("agent_server.command.serve", lambda *_: None)
    monkeypatch.setenv("DIFY_AGENT_PLUGIN_DAEMON_API_KEY", "k")
    names = run_examples("DeskLayer")

    desk = {"name": "desk", "type": "acme.desk", "config": {}}
    request = {"composition": {"layers": [desk]}}
    assert names["executor"].check("composition", request)["composition"]["layers"][0]["name"]
    pay, open_door = names["DeskLayer"]().tools
    assert (pay.requires_approval, open_door.name) == (True, "open_door")
