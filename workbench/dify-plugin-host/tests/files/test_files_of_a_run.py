import asyncio
import base64
import hashlib
import json
import socket
from dataclasses import replace
from urllib.parse import urlsplit

import httpx
import pytest

from dify_plugin_host import (
    AgentRequest,
    FileInputError,
    HostSettings,
    LLMRequest,
    LocalFile,
    PlatformRules,
    PluginHost,
    UnknownNameError,
    load_tools,
)


PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 100
CHART = LocalFile(name="chart.png", content=PNG, mime_type="image/png")
PAPER = LocalFile(name="größe 1.pdf", content=b"%PDF-1.7\r\n\0", mime_type="application/pdf")
TOOLS = """
def measure(picture: bytes) -> str:
    "Measure."
    return f"{len(picture)}"

def count(pages: list[bytes] | None = None) -> str:
    "Count."
    return "nothing" if pages is None else " ".join(f"{len(page)}" for page in pages)

def draw(kind: str = "89504e470d0a1a0a") -> bytes:
    "Draw."
    return bytes.fromhex(kind) * 3000
"""


@pytest.fixture(scope="module")
def runner():
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def tools(tmp_path_factory):
    path = tmp_path_factory.mktemp("tools") / "tools.py"
    path.write_text(TOOLS)
    return load_tools(path)


@pytest.fixture(scope="module")
def host(shared_plugins, runner, tools):
    """Start a host of both plugins of these tests; the same settings get the same one."""
    folders = [shared_plugins / name for name in ("echo_model", "small_agent")]
    started = {}

    def get(**settings):
        key = repr(settings)
        if key not in started:
            started[key] = PluginHost(*folders, tools=tools, settings=HostSettings(**settings))
            runner.run(started[key].start())
        return started[key]

    yield get
    for each in started.values():
        runner.run(each.stop())


@pytest.fixture
def say(runner, host):
    """Run the strategy; return the JSON of its first text."""

    def run(query, *files, other=None, **fields):
        request = AgentRequest(query=query, strategy="steps", model="echo-3", files=files)
        taken = runner.run(collect((other or host()).run(replace(request, **fields))))
        return json.loads(taken[0]["message"]["text"])

    return run


async def collect(items):
    return [item async for item in items]


def digest(content):
    return hashlib.sha256(content).hexdigest()


def test_a_strategy_gets_files_by_links_that_it_can_fetch(say):
    chart, paper = say("fetch", CHART, PAPER)
    for found, file in ((chart, CHART), (paper, PAPER)):
        assert (found["length"], found["sha256"]) == (len(file.content), digest(file.content))
        assert found["served_as"] == file.mime_type
        assert found.items() >= file.to_dict(found["url"]).items()
        assert found["url"].startswith("http://127.0.0.1:")
    assert chart["url"] != paper["url"]


def test_what_is_not_given_is_what_dify_sends(say):
    assert say("params")["files"] is None


def test_an_unset_list_of_files_is_a_list_of_nothing(runner, plugins):
    declared = plugins / "small_agent" / "strategies" / "steps.yaml"
    declared.write_text(declared.read_text().replace('any, scope: "array[file]"', "files"))

    async def main(*files):
        async with PluginHost(plugins / "echo_model", plugins / "small_agent") as host:
            request = AgentRequest(query="params", strategy="steps", model="echo-2", files=files)
            (message,) = await collect(host.run(request))
            return json.loads(message["message"]["text"])["files"]

    assert runner.run(main()) == [None]
    (given,) = runner.run(main(CHART))
    assert given["filename"] == "chart.png"


def test_a_parameter_for_one_file_gets_that_file_and_no_second_one(runner, plugins):
    declared = plugins / "small_agent" / "strategies" / "steps.yaml"
    declared.write_text(declared.read_text().replace('any, scope: "array[file]"', "file"))

    async def main(*files):
        async with PluginHost(plugins / "echo_model", plugins / "small_agent") as host:
            request = AgentRequest(query="params", strategy="steps", model="echo-2", files=files)
            (message,) = await collect(host.run(request))
            return json.loads(message["message"]["text"])["files"]

    assert runner.run(main(CHART))["filename"] == "chart.png"
    problem = "größe 1.pdf: parameter 'files' of strategy 'steps' takes one file"
    with pytest.raises(FileInputError, match=problem):
        runner.run(main(CHART, PAPER))


def test_a_strategy_that_takes_no_files_is_not_given_any(say):
    expected = "expected one with a parameter of type files, or any with the scope array"
    with pytest.raises(FileInputError, match=f"strategy 'quiet' takes no files; {expected}"):
        say("params", CHART, strategy="quiet")


@pytest.mark.parametrize("change", ["sign=", "sign=x", "file-preview"])
def test_a_link_that_was_not_given_out_leads_nowhere(runner, host, change):
    url = runner.run(host().share_file(CHART))["url"]
    path, _, sign = url.partition("sign=")
    changed = {"sign=": path + "sign=", "sign=x": f"{path}sign=x{sign}"}.get(change)
    other = changed or url.replace("file-preview", change + "x")
    ask = runner.run(asyncio.to_thread(httpx.get, other, timeout=120))
    assert (ask.status_code, ask.json()["code"]) == (403, "forbidden")
    assert host().find_file(url) == CHART
    assert host().find_file(other) is None


def test_a_link_ends_by_itself(runner, host):
    short = host(file_link_seconds=0.2)
    url = runner.run(short.share_file(CHART))["url"]
    runner.run(asyncio.sleep(0.2))
    assert runner.run(asyncio.to_thread(httpx.get, url, timeout=120)).status_code == 403
    assert short.find_file(url) is None


def test_the_links_end_with_the_host(runner, shared_plugins):
    async def main():
        async with PluginHost(shared_plugins / "echo_model") as host:
            return (await host.share_file(CHART))["url"]

    address = urlsplit(runner.run(main()))
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((address.hostname, address.port), timeout=120)


def test_an_uploaded_file_is_a_tool_file_that_can_be_fetched(say, host):
    asked = {"name": "größe 1.png", "type": "image/png", "hex": PNG.hex()}
    status, answer = say(f"upload {json.dumps(asked)}")
    assert status == 201
    shown = {key: answer[key] for key in ("name", "size", "mime_type", "extension")}
    assert shown == {
        "name": "größe 1.png",
        "size": len(PNG),
        "mime_type": "image/png",
        "extension": ".png",
    }
    assert answer["id"] in answer["preview_url"]
    kept = host().find_file(answer["preview_url"])
    assert (kept.name, kept.content) == ("größe 1.png", PNG)


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"sent": {"name": "b.png"}}, 403),
        ({"sent": {"type": "image/gif"}}, 403),
        ({"sent": {"field": "other"}}, 400),
        ({"suffix": "x"}, 403),
    ],
)
def test_only_the_file_that_was_asked_for_can_be_uploaded(say, change, status):
    asked = {"name": "a.png", "type": "image/png", "hex": "00", **change}
    assert say(f"upload {json.dumps(asked)}")[0] == status


def test_a_file_that_is_too_large_is_not_taken(say, monkeypatch):
    monkeypatch.setattr("dify_plugin_host._files.app._MOST_BYTES", 3)
    asked = {"name": "a.png", "type": "image/png", "hex": "00000000"}
    status, answer = say(f"upload {json.dumps(asked)}")
    assert (status, answer["code"]) == (413, "file_too_large")


def called(say, tool, *files, **payload):
    asked = {"provider": "host", "tool": tool, **payload}
    return say(f"tool {json.dumps(asked)}", *files)


def test_a_tool_of_python_gets_the_bytes_of_files(say):
    one, *_ = called(say, "measure", CHART, fill={"picture": "files"})
    assert one["data"]["message"]["text"] == str(len(PNG))
    several, *_ = called(say, "count", CHART, PAPER, fill={"pages": "files"})
    assert several["data"]["message"]["text"] == f"{len(PNG)} {len(PAPER.content)}"
    none, *_ = called(say, "count")
    assert none["data"]["message"]["text"] == "nothing"


def test_a_tool_of_python_declares_its_files(tools):
    measure, count, _ = tools
    assert [measure.parameters[0].type, count.parameters[0].type] == ["file", "files"]


def test_several_files_where_one_is_expected_are_refused(say):
    error, _ = called(say, "measure", CHART, PAPER, fill={"picture": "files"})
    problem = "This parameter only accepts one file but got multiple files while invoking."
    assert (error["event"], error["message"]) == ("error", problem)
    one, *_ = called(say, "measure", CHART, PAPER, fill={"picture": "file"})
    assert one["data"]["message"]["text"] == str(len(PNG))


@pytest.mark.parametrize("given", ["x", {"url": "http://127.0.0.1:9/files/a"}, {}])
def test_a_file_that_is_not_from_here_is_refused(runner, tools, given):
    with pytest.raises(Exception, match="parameter 'picture': expected a file whose link is from"):
        runner.run(tools[0].invoke({"picture": given}))


def test_a_blob_of_a_tool_reaches_the_strategy_as_a_link(say, host):
    for kind, expected, mime_type in (
        ("89504e470d0a1a0a", "image_link", "image/png"),
        ("ffd8ff", "image_link", "image/jpeg"),
        ("255044462d", "binary_link", "application/pdf"),
        ("00", "binary_link", "application/octet-stream"),
    ):
        asked = {"tool_type": "builtin", "provider": "host", "tool": "draw"}
        asked["tool_parameters"] = {"kind": kind}
        reply, _ = say(f"raw tool {json.dumps(asked)}")
        assert reply["data"]["type"] == expected
        file = host().find_file(reply["data"]["message"]["text"])
        assert (file.content, file.mime_type) == (bytes.fromhex(kind) * 3000, mime_type)
        assert reply["data"]["meta"]["tool_file_id"] in reply["data"]["message"]["text"]


def test_a_blob_stays_one_where_the_rule_is_off(say, host):
    free = host(rules=PlatformRules(tool_files=False))
    asked = {"tool_type": "builtin", "provider": "host", "tool": "draw", "tool_parameters": {}}
    replies = say(f"raw tool {json.dumps(asked)}", other=free)
    kinds = {reply["data"]["type"] for reply in replies if reply["data"]}
    assert kinds == {"blob_chunk"}


def message(runner, host, *files, model="echo-3", **settings):
    return runner.run(host(**settings).user_message("What is it?", files, model=model))


def test_a_models_message_has_the_files_before_the_text(runner, host):
    made = message(runner, host, CHART, PAPER)
    assert made == {
        "role": "user",
        "content": [CHART.to_part(), PAPER.to_part(), {"type": "text", "data": "What is it?"}],
    }
    assert message(runner, host) == {"role": "user", "content": "What is it?"}


def test_a_models_message_has_links_where_dify_is_set_to_send_them(runner, host):
    part, _ = message(runner, host, CHART, send_format="url")["content"]
    assert part["base64_data"] == ""
    assert runner.run(asyncio.to_thread(httpx.get, part["url"], timeout=120)).content == PNG


@pytest.mark.parametrize(
    ("file", "model", "problem"),
    [
        (CHART, "echo-2", "chart.png: model 'echo-2' has no feature 'vision', so that Dify would"),
        (PAPER, "echo-2", "model 'echo-2' has no feature 'document'"),
        (LocalFile(name="a.mp3", content=b"a"), "echo-3", "no feature 'audio'"),
        (LocalFile(name="a.bin", content=b"a"), "echo-3", "of a file of"),
    ],
)
def test_a_file_that_dify_would_drop_is_told(runner, host, file, model, problem):
    with pytest.raises(FileInputError, match=problem):
        message(runner, host, file, model=model)


@pytest.mark.parametrize("role", ["system", "user", "assistant", "tool"])
def test_parts_pass_in_every_role(runner, host, role):
    parts = [CHART.to_part(), {"type": "text", "data": "see"}, PAPER.to_part("http://h/a")]
    messages = [{"role": role, "content": parts}, {"role": "user", "content": "request"}]
    request = LLMRequest(model="echo-2", messages=messages)
    (chunk,) = runner.run(collect(host().invoke_llm(request)))
    seen = json.loads(chunk["delta"]["message"]["content"])["prompt_messages"][0]["content"]
    for part, found in zip(parts, seen, strict=True):
        assert found.items() >= part.items()
    assert base64.b64decode(seen[0]["base64_data"]) == PNG


def test_a_message_for_an_unknown_model_is_refused(runner, host):
    with pytest.raises(UnknownNameError):
        message(runner, host, model="none")
