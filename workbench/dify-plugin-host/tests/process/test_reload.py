import asyncio
import contextlib
import json
import os
import shutil
from pathlib import Path

import pytest

from dify_plugin_host import (
    FolderSource,
    PluginExitedError,
    PluginHost,
    PluginProcess,
    PluginStartError,
)


SAYS = """
wire.ready()
for request in wire.requests():
    wire.stream(request, {"said": %r})
    wire.end(request)
"""
# Says one half, waits until it may say the other.
WAITS = """
from pathlib import Path
wire.ready()
for request in wire.requests():
    wire.stream(request, {"said": "first half"})
    while not Path(request["data"]["until"]).exists():
        time.sleep(0.01)
    wire.stream(request, {"said": "other half"})
    Path(request["data"]["until"]).with_name("done").touch()
    wire.end(request)
"""


@pytest.fixture
def folder(make_plugin):
    return make_plugin(SAYS % "old")


def write_main(folder, script):
    (folder / "main.py").write_text("import os, sys, time, wire\n" + script)


async def ask(plugin, **data):
    async with contextlib.aclosing(plugin.invoke("model", "invoke_llm", data)) as items:
        return [item["said"] async for item in items]


async def run(folder, talk):
    """Let `talk` talk to the plugin, of which changes count; return what it returns, and what was said of changes."""
    notices = []
    async with PluginProcess(FolderSource(folder), on_notice=notices.append) as plugin:
        returned = await talk(plugin)
    return returned, [(notice.level, notice.text) for notice in notices if notice.kind == "reload"]


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


async def wait_until(holds):
    while not holds():  # noqa: ASYNC110 - a process tells nobody here
        await asyncio.sleep(0.01)


async def test_a_call_after_a_change_goes_to_a_process_that_knows_it(folder):
    async def talk(plugin):
        before = await ask(plugin), plugin.pid
        unchanged = await ask(plugin), plugin.pid
        write_main(folder, SAYS % "new")
        after = await ask(plugin), plugin.pid
        await wait_until(lambda: not is_running(before[1]))
        return before, unchanged, after, plugin.pid

    (before, unchanged, after, last), said = await run(folder, talk)
    assert (before[0], after[0]) == (["old"], ["new"])
    assert before == unchanged
    assert after[1] == last != before[1]
    assert said == [("INFO", "main.py changed: started again")]


async def test_a_call_that_runs_is_let_run_to_its_end(make_plugin, tmp_path):
    folder, until = make_plugin(WAITS), tmp_path / "until"

    async def talk(plugin):
        running = plugin.invoke("model", "invoke_llm", {"until": str(until)})
        first, pid = await anext(running), plugin.pid
        write_main(folder, SAYS % "new")
        between = await ask(plugin)
        still = is_running(pid)
        until.touch()
        rest = [item async for item in running]
        await wait_until(lambda: not is_running(pid))
        return [first, *rest], between, still

    (whole, between, still), _ = await run(folder, talk)
    assert [item["said"] for item in whole] == ["first half", "other half"]
    assert (between, still) == (["new"], True)


async def test_a_call_that_nobody_waits_for_any_more_is_let_run_to_its_end_too(
    make_plugin, tmp_path
):
    folder, until = make_plugin(WAITS), tmp_path / "until"

    async def talk(plugin):
        running = plugin.invoke("model", "invoke_llm", {"until": str(until)})
        await anext(running)
        await running.aclose()
        write_main(folder, SAYS % "new")
        await ask(plugin)
        until.touch()
        await wait_until((tmp_path / "done").exists)

    await run(folder, talk)


async def test_a_process_of_before_ends_with_the_others(make_plugin, tmp_path):
    folder = make_plugin(WAITS)
    pids = []

    async def talk(plugin):
        running = plugin.invoke("model", "invoke_llm", {"until": str(tmp_path / "never")})
        await anext(running)
        pids.append(plugin.pid)
        write_main(folder, SAYS % "new")
        await ask(plugin)
        pids.append(plugin.pid)
        await plugin.stop()
        with pytest.raises(PluginExitedError, match="was stopped"):
            await anext(running)

    await run(folder, talk)
    assert not any(map(is_running, pids))


async def test_a_change_that_breaks_the_plugin_is_told_and_the_next_one_counts(folder):
    async def talk(plugin):
        write_main(folder, "\ndef answer(:\n")
        broken = await ask(plugin), await ask(plugin)
        write_main(folder, SAYS % "mended")
        return *broken, await ask(plugin)

    answers, said = await run(folder, talk)
    assert answers == (["old"], ["old"], ["mended"])
    assert said == [
        ("ERROR", "main.py changed, but it does not start: SyntaxError: invalid syntax (main.py, line 3); the plugin keeps running unchanged"),
        ("INFO", "main.py changed: started again"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("import wire.gone", "does not start: ModuleNotFoundError: No module named 'wire.gone'; 'wire' is not a package (main.py, line 2)"),
        ("import json\njson.loads('{')", "it does not start: json.decoder.JSONDecodeError: Expecting property name enclosed in double quotes: line 1 column 2 (char 1) (main.py, line 3)"),
        (
            "raise ValueError('1 validation error\\ntype\\n  Input should be text\\n    For further information visit https://example.com')",
            "it does not start: ValueError: 1 validation error type Input should be text (main.py, line 2)",
        ),
        ("sys.exit('no ink')", "ended with exit code 1 before its first heartbeat; its stderr ends with: no ink"),
        ("sys.exit()", "ended with exit code 0 before its first heartbeat"),
    ],
)  # fmt: skip
async def test_why_it_does_not_start_is_one_sentence(folder, script, reason):
    async def talk(plugin):
        write_main(folder, script)
        await ask(plugin)

    _, [(level, text)] = await run(folder, talk)
    assert level == "ERROR"
    assert text.startswith("main.py changed, but ")
    assert text.endswith(f"{reason}; the plugin keeps running unchanged")
    assert "\n" not in text


async def test_a_plugin_that_is_gone_and_broken_is_an_error_until_it_is_mended(folder):
    async def talk(plugin):
        write_main(folder, "raise RuntimeError('broken')")
        os.kill(plugin.pid, 9)
        with pytest.raises((PluginStartError, PluginExitedError)):
            await ask(plugin)
        with pytest.raises(PluginStartError, match="RuntimeError: broken"):
            await ask(plugin)
        write_main(folder, SAYS % "mended")
        return await ask(plugin)

    assert (await run(folder, talk))[0] == ["mended"]


def manifest_of(folder, **changes):
    path = folder / "manifest.yaml"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda folder: (folder / "manifest.yaml").write_text("{"), "manifest.yaml changed, but 'manifest.yaml' cannot be read"),
        (lambda folder: (folder / "manifest.yaml").unlink(), "expected a file 'manifest.yaml'"),
        (lambda folder: manifest_of(folder, name="other"), "author and name in manifest.yaml: expected the same while the plugin runs"),
        (lambda folder: manifest_of(folder, plugins={"tools": ["p.yaml"]}), "expected a file 'p.yaml'"),
    ],
)  # fmt: skip
async def test_declarations_that_cannot_be_read_are_told_and_the_next_change_counts(
    folder, change, reason
):
    whole = (folder / "manifest.yaml").read_text()

    async def talk(plugin):
        pid = plugin.pid
        change(folder)
        answer = await ask(plugin)
        kept = plugin.pid == pid
        (folder / "manifest.yaml").write_text(whole)
        await plugin.refresh()
        return answer, kept, plugin.pid != pid

    returned, [(level, text), second] = await run(folder, talk)
    assert returned == (["old"], True, True)
    assert level == "ERROR"
    assert reason in text
    assert second == ("INFO", "manifest.yaml changed: started again")


async def test_what_is_no_part_of_the_plugin_does_not_count(folder):
    parts = ("tools/new.py", ".env", "prompts/a.txt", "_assets/icon.svg")
    others = (
        ".venv/lib/python3.12/site-packages/x.py",
        "__pycache__/x.cpython-312.pyc",
        "tools/__pycache__/x.pyc",
        ".git/index",
        ".main.py.swp",
        "main.py~",
        "logs/today.txt",
        "run.log",
    )

    async def talk(plugin):
        for path in (*others, *parts):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text("x")
            await plugin.refresh()

    assert (await run(folder, talk))[1] == [
        ("INFO", f"{path} changed: started again") for path in parts
    ]


async def test_files_that_go_and_many_files_are_told(folder):
    for number in range(5):
        (folder / f"{number}.py").write_text("")

    async def talk(plugin):
        for number in range(5):
            (folder / f"{number}.py").unlink()
        await plugin.refresh()

    assert (await run(folder, talk))[1] == [
        ("INFO", "0.py, 1.py, 2.py and 2 more changed: started again")
    ]


async def test_a_folder_that_is_gone_is_told(folder):
    async def talk(plugin):
        shutil.rmtree(folder)
        return await ask(plugin)

    answer, [(level, text)] = await run(folder, talk)
    assert (answer, level) == (["old"], "ERROR")
    assert text.endswith(
        "no such folder; expected a Dify plugin folder; the plugin keeps running unchanged"
    )


@pytest.mark.parametrize("name", ["pyproject.toml", "uv.lock", "requirements.txt"])
async def test_changed_dependencies_are_told_and_a_changed_environment_counts(folder, name):
    installed = folder / ".venv" / "lib" / "python3.12" / "site-packages"
    installed.mkdir(parents=True)

    async def talk(plugin):
        (folder / name).write_text("")
        await plugin.refresh()
        (installed / "ink-1.0.dist-info").mkdir(parents=True)
        await plugin.refresh()

    command = "uv pip install -r requirements.txt" if name == "requirements.txt" else "uv sync"
    advice = f"with the packages already installed; `{command}` in its folder installs those it now asks for"
    assert (await run(folder, talk))[1] == [
        ("INFO", f"{name} changed: started again {advice}"),
        ("INFO", ".venv changed: started again"),
    ]


async def test_what_never_started_or_was_stopped_is_not_started_by_a_change(folder):
    async def talk(plugin):
        await plugin.stop()
        write_main(folder, SAYS % "new")
        await plugin.refresh()
        other = PluginProcess(FolderSource(folder))
        write_main(folder, SAYS % "newer")
        await other.refresh()
        return other.pid

    assert await run(folder, talk) == (None, [])


async def test_what_other_plugins_find_is_what_the_files_say_now(plugins):
    """A host looks up models, strategies and permissions in what the plugins declare after the change."""
    model = plugins / "echo_model"

    async with PluginHost(FolderSource(model), plugins / "small_agent") as host:
        before = host.model_providers[0].models
        (model / "models/llm/echo-9.yaml").write_text("model: echo-9\nmodel_type: llm\n")
        schema = await host.model_schema("echo-9")
        shutil.rmtree(plugins / "small_agent")  # Nobody looks there again: it is no source.
        await host.refresh()
        after = host.model_providers[0].models
    assert after == (*before, "echo-9")
    assert schema["model"] == "echo-9"
