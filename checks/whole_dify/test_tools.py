"""An Agent node with tools of each kind that Dify has, called at the same time."""

import shutil
import tomllib

import pytest

import tools
from apps import agent_node, tool, weekday
from conftest import ROOT
from upstream import call, items, said


DEMO_TOOLS = ROOT / "workbench/dify-plugin-host/tests/plugins/demo_tools"
MONDAY = {"year": 2026, "month": 11, "day": 23}


@pytest.fixture(scope="session")
def server():
    """A server on loopback that is an API and an MCP server."""
    with tools.serve() as url:
        yield url


@pytest.fixture
def builtin():
    return weekday(), call("weekday", **MONDAY), "November 23, 2026 is Monday."


@pytest.fixture(scope="session")
def demo_tools(console, make_package, tmp_path_factory):
    """The tools of a plugin, with the credentials that they want; who provides them."""
    folder = tmp_path_factory.mktemp("plugin") / "demo_tools"
    shutil.copytree(DEMO_TOOLS, folder)
    # Older daemons install by this file alone.
    needed = tomllib.loads((folder / "pyproject.toml").read_text())["project"]["dependencies"]
    (folder / "requirements.txt").write_text("\n".join(needed))
    console.install(make_package(folder))
    path = "/workspaces/current/tool-provider/builtin/tests/demo_tools/demo"
    if not console.get(f"{path}/credential/info")["credentials"]:
        token = {"token": "let-me-in"}
        console.post(f"{path}/add", credentials=token, type="api-key", name="whole-dify")
    return "tests/demo_tools/demo"


@pytest.fixture
def plugin(demo_tools):
    return tool("builtin", demo_tools, "words", fills=["text"]), call("words", text="zero"), "zero"


@pytest.fixture
def api(console, server):
    with tools.api(console, server, "say") as provider:
        entry = tool("api", provider, "say", fills=["text"])
        yield entry, call("say", text="one"), '{"heard": "one"}'


@pytest.fixture
def workflow(console, apps):
    with tools.workflow(console, apps) as (provider, name):
        entry = tool("workflow", provider, name, fills=["text"])
        yield entry, call(name, text="two"), '{"found": "two"}'


@pytest.fixture
def mcp(console, server):
    with tools.mcp(console, server) as provider:
        if not provider["tools"]:
            pytest.skip(
                "this Dify may not ask an MCP server on loopback: its SSRF proxy stands between"
            )
        entry = tool("mcp", provider["server_identifier"], "hear", fills=["text"])
        yield entry, call("hear", text="three"), '{"heard": "three"}'


@pytest.mark.parametrize("kind", ["builtin", "plugin", "api", "workflow", "mcp"])
def test_an_agent_calls_a_tool_of_each_kind_and_reads_its_result_once(
    apps, upstream, request, kind
):
    entry, asked, result = request.getfixturevalue(kind)
    upstream.plays([asked], [said("Done.")])
    run = apps.chatflow("agent", agent_node([entry])).chat("Use it.")

    assert (run.error, run.answer) == ("", "Done.")
    [output] = items(upstream.requests[-1], "function_call_output")
    assert output["output"].count(result) == 1, output
    [logged] = [entry for entry in run.log if entry["label"] == f"CALL {asked.name}"]
    assert logged["status"] == "success"


def test_what_is_set_in_a_tools_form_stays_as_it_is_whatever_the_model_says(
    apps, upstream, demo_tools
):
    upstream.plays([call("words", text="one two", ending="space")], [said("Done.")])
    words = tool("builtin", demo_tools, "words", fills=["text"], ending="newline")
    assert apps.chatflow("agent", agent_node([words])).chat("Use it.").answer == "Done."

    first, last = upstream.requests
    [offered] = [one for one in first["tools"] if one["name"] == "words"]
    assert set(offered["parameters"]["properties"]) == {"text"}
    [output] = items(last, "function_call_output")
    assert output["output"].endswith("one\ntwo\n")
    assert "ending" in output["output"]
    assert "newline" not in output["output"]


def test_a_tool_that_fails_is_told_to_the_model_and_its_reason_to_the_log(
    apps, upstream, demo_tools
):
    upstream.plays([call("fail", way="value_error")], [said("It did not work.")])
    run = apps.chatflow(
        "agent", agent_node([tool("builtin", demo_tools, "fail", fills=["way"])])
    ).chat("Use it.")

    assert (run.error, run.answer) == ("", "It did not work.")
    [output] = items(upstream.requests[-1], "function_call_output")
    assert output["output"] == "tool invoke error: failed to execute tool"
    [logged] = [entry for entry in run.log if entry["label"] == "CALL fail"]
    assert logged["status"] == "error"
    assert "Traceback" not in str(run.log)


def test_a_file_that_a_tool_makes_is_the_nodes(apps, upstream, demo_tools):
    upstream.plays([call("blob", size=300, mime_type="image/png")], [said("Drawn.")])
    node = agent_node([tool("builtin", demo_tools, "blob", fills=["size", "mime_type"])])
    run = apps.chatflow("agent", node).chat("Draw.")
    assert (run.error, run.answer) == ("", "Drawn.")
    [file] = run.node("node")["outputs"]["files"]
    assert file["mime_type"] == "image/png"


def test_of_many_tools_the_model_searches_those_that_it_needs(apps, upstream, console, server):
    names = [f"tool_{number}" for number in range(30)]
    with tools.api(console, server, *names) as provider:
        entries = [tool("api", provider, name, fills=["text"]) for name in names]
        found = call("call_tool", name="tool_7", arguments={"text": "seven"})
        upstream.plays([call("search_tools", query="tool_7")], [found], [said("Done.")])
        run = apps.chatflow("agent", agent_node(entries, tool_search=True)).chat("Use the seventh.")

    assert (run.error, run.answer) == ("", "Done.")
    assert {"search_tools", "call_tool"} <= {one["name"] for one in upstream.requests[0]["tools"]}
    assert len(upstream.requests[0]["tools"]) < 5
    assert (
        '{"heard": "seven"}' in items(upstream.requests[-1], "function_call_output")[-1]["output"]
    )
