import asyncio
import base64
import contextlib
import os
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dify_plugin_host import (
    BackwardsError,
    HostSettings,
    InvokeTimeoutError,
    PlatformRules,
    PluginExitedError,
    PluginHostError,
    PluginInvokeError,
    PluginKilledError,
    PluginProcess,
    PluginStartError,
    StreamRejectedError,
)


ANSWER_AND_FAIL = """
wire.ready()
for request in wire.requests():
    wire.stream(request, {"text": "half an"})
    wire.error(request, "InvokeRateLimitError", "slow down", {"description": "429"})
    wire.end(request)
"""


async def collect(plugin, **data):
    return [item async for item in plugin.invoke("model", "invoke_llm", data)]


async def run(folder, **options):
    """Start the plugin, call it once, and return what came."""

    async with PluginProcess(folder, **options) as plugin:
        return await collect(plugin)


def is_running(pid):
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


async def test_a_call_carries_type_action_and_user_beside_its_data(echo):
    async with PluginProcess(echo) as plugin:
        answer = await plugin.call("model", "invoke_llm", {"model": "m"}, user_id="u")
    expected = {"model": "m", "user_id": "u", "type": "model", "action": "invoke_llm"}
    assert answer == expected


async def test_the_request_line_has_every_field_of_the_protocol(make_plugin):
    folder = make_plugin(
        """
        wire.ready()
        for request in wire.messages():
            wire.stream(request, request)
            wire.end(request)
        """
    )

    async with PluginProcess(folder) as plugin:
        context = {"credentials": {"tool_credentials": {"p": "c"}}}
        (line,) = [line async for line in plugin.invoke("model", "x", {}, context=context)]
    assert list(line) == [
        "session_id",
        "conversation_id",
        "message_id",
        "app_id",
        "endpoint_id",
        "context",
        "event",
        "data",
    ]
    assert line["event"] == "request"
    assert line["context"] == {"credentials": {"tool_credentials": {"p": "c"}}}


async def test_calls_that_run_at_the_same_time_get_their_own_answers(make_plugin):
    folder = make_plugin(
        """
        wire.ready()
        waiting = []
        for request in wire.requests():
            waiting.append(request)
            if len(waiting) == 20:
                for request in reversed(waiting):
                    wire.stream(request, {"n": request["data"]["n"]})
                for request in waiting:
                    wire.end(request)
        """
    )

    async with PluginProcess(folder) as plugin:
        answer = await asyncio.gather(*(collect(plugin, n=n) for n in range(20)))
    assert answer == [[{"n": n}] for n in range(20)]


async def test_the_plugin_runs_in_its_folder_with_the_local_install_method(make_plugin):
    folder = make_plugin(
        """
        wire.ready()
        for request in wire.requests():
            wire.stream(request, {"cwd": os.getcwd(), "env": os.environ["INSTALL_METHOD"]})
            wire.end(request)
        """
    )
    assert await run(folder) == [{"cwd": str(folder), "env": "local"}]


async def test_the_plugins_own_environment_is_preferred(make_plugin):
    folder = make_plugin(
        """
        wire.ready()
        for request in wire.requests():
            wire.stream(request, {"own": os.environ.get("OWN")})
            wire.end(request)
        """
    )
    own = folder / ".venv" / "bin" / "python"
    own.parent.mkdir(parents=True)
    own.write_text(f'#!/bin/sh\nOWN=yes exec "{sys.executable}" "$@"\n')
    own.chmod(0o755)
    assert await run(folder) == [{"own": "yes"}]


async def test_an_error_is_raised_after_what_came_before_it(make_plugin):
    folder = make_plugin(ANSWER_AND_FAIL)

    async with PluginProcess(folder) as plugin:
        answer = plugin.invoke("model", "invoke_llm", {})
        first = await anext(answer)
        with pytest.raises(PluginInvokeError) as caught:
            await anext(answer)
    error = caught.value
    assert first == {"text": "half an"}
    assert error.error_type == "InvokeRateLimitError"
    assert error.message == "slow down"
    assert error.details == {"description": "429"}


async def test_the_plugin_serves_the_next_call_after_an_error(make_plugin):
    folder = make_plugin(ANSWER_AND_FAIL)

    async with PluginProcess(folder) as plugin:
        for _ in range(2):
            with pytest.raises(PluginInvokeError):
                await collect(plugin)


async def test_an_action_without_an_answer_is_an_error(make_plugin):
    folder = make_plugin("wire.ready()\nfor request in wire.requests(): wire.end(request)")

    with pytest.raises(PluginHostError, match="no answer to model 'get_ai_model_schemas'"):
        async with PluginProcess(folder) as plugin:
            await plugin.call("model", "get_ai_model_schemas", {})


async def test_the_first_error_of_a_call_counts_and_nothing_after_it_is_passed_on(make_plugin):
    folder = make_plugin(
        """
        wire.ready()
        for request in wire.requests():
            wire.error(request, "First", "1")
            wire.stream(request, {"too": "late"})
            wire.error(request, "Second", "2")
            wire.end(request)
        """
    )
    with pytest.raises(PluginInvokeError, match="First: 1"):
        await run(folder)


async def test_an_error_without_form_is_passed_over_as_by_the_daemon(make_plugin):
    folder = make_plugin(
        """
        wire.ready()
        for request in wire.requests():
            wire.session(request, "error", "just text")
            wire.end(request)
        """
    )
    assert await run(folder) == []


async def test_an_error_counts_even_if_the_plugin_dies_before_the_end(make_plugin):
    folder = make_plugin(
        """
        wire.ready()
        for request in wire.requests():
            wire.error(request, "InvokeError", "reason")
            sys.exit(3)
        """
    )
    with pytest.raises(PluginInvokeError, match="InvokeError: reason"):
        await run(folder)


async def test_a_plugin_that_dies_at_the_start_shows_its_last_words(make_plugin):
    folder = make_plugin("raise RuntimeError('no such thing')")
    with pytest.raises(PluginStartError, match="before its first heartbeat") as caught:
        await run(folder)
    assert caught.value.plugin == "scripted"
    assert caught.value.stderr_tail.endswith("RuntimeError: no such thing")


async def test_what_python_passes_over_at_the_end_is_not_taken_for_last_words(make_plugin):
    """As gevent does with the plugin SDK up to 0.8.0, which would fill the tail."""
    folder = make_plugin(
        """
        class Finalised:
            def __del__(self):
                raise RuntimeError("greenlet is being finalized")

        kept = [Finalised() for _ in range(20)]
        if not os.environ.get("QUIETLY"):
            raise ValueError("no ink")
        """
    )
    with pytest.raises(
        PluginStartError, match=r"its stderr ends with: ValueError: no ink$"
    ) as caught:
        await run(folder)
    assert "Exception ignored" not in caught.value.stderr_tail
    with pytest.raises(PluginStartError, match=r"greenlet is being finalized$"):
        await run(folder, environment={"QUIETLY": "yes"})


@pytest.mark.parametrize(
    ("names", "command"),
    [
        ([], "uv sync"),
        (["pyproject.toml", "requirements.txt"], "uv sync"),
        (["requirements.txt"], "uv venv --python 3.12 && uv pip install -r requirements.txt"),
    ],
)
async def test_a_plugin_without_its_environment_is_told_how_to_make_it(make_plugin, names, command):
    folder = make_plugin("sys.exit(\"ModuleNotFoundError: No module named 'dify_plugin'\")")
    for name in names:
        (folder / name).touch()
    advice = f"its environment is missing: run `{command}` in its folder"
    with pytest.raises(PluginStartError, match=re.escape(advice)):
        await run(folder)


async def test_a_plugin_that_never_sends_a_heartbeat_is_given_up(make_plugin):
    folder = make_plugin("time.sleep(600)")

    plugin = PluginProcess(folder, settings=HostSettings(start_timeout_seconds=0.2))
    with pytest.raises(PluginStartError, match=r"no heartbeat within 0.2 s"):
        await plugin.start()
    assert not is_running(plugin.pid)


async def test_a_start_that_is_cancelled_leaves_no_process(make_plugin):
    folder = make_plugin("wire.send('log', {'level': 'INFO', 'message': '1'})\ntime.sleep(600)")
    running = asyncio.Event()
    plugin = PluginProcess(folder, on_notice=lambda _: running.set())
    task = asyncio.create_task(plugin.start())
    await running.wait()
    task.cancel()
    await asyncio.wait({task})
    assert not is_running(plugin.pid)


async def test_a_plugin_whose_heart_stops_is_killed(make_plugin):
    folder = make_plugin("wire.ready()\ntime.sleep(600)")
    with pytest.raises(PluginKilledError, match=r"no heartbeat for 0.2 s"):
        await run(folder, settings=HostSettings(heartbeat_timeout_seconds=0.2))


async def test_a_plugin_whose_heart_beats_lives(make_plugin, pass_time):
    folder = make_plugin(
        """
        wire.ready()
        for request in wire.requests():
            wire.send("heartbeat", {})
            wire.stream(request, {"alive": True})
            wire.end(request)
        """
    )
    settings = HostSettings(heartbeat_timeout_seconds=600)
    async with PluginProcess(folder, settings=settings) as plugin:
        for _ in range(4):
            assert await collect(plugin) == [{"alive": True}]
            pass_time(400)


async def test_a_heart_that_nobody_listened_to_has_not_stopped(make_plugin, tmp_path, pass_time):
    folder = make_plugin(
        """
        from pathlib import Path
        wire.ready()
        for request in wire.requests():
            wire.stream(request, {})
            while not Path(request["data"]["until"]).exists():
                time.sleep(0.01)
            wire.send("heartbeat", {})
            Path(request["data"]["until"]).unlink()
            wire.end(request)
        """
    )
    until = tmp_path / "until"
    settings = HostSettings(heartbeat_timeout_seconds=600, call_timeout_seconds=6_000)
    async with PluginProcess(folder, settings=settings) as plugin:
        answer = plugin.invoke("model", "invoke_llm", {"until": str(until)})
        await anext(answer)
        until.touch()
        while until.exists():
            time.sleep(0.01)  # noqa: ASYNC251 - the loop stands still
        pass_time(600)
        assert [item async for item in answer] == []
        assert plugin.failure is None


async def test_a_plugin_that_dies_in_a_call_fails_it_with_its_last_words(make_plugin):
    folder = make_plugin(
        """
        wire.ready()
        next(wire.requests())
        sys.exit("out of memory")
        """
    )
    with pytest.raises(PluginExitedError, match=r"exit code 1; .*out of memory"):
        await run(folder)


async def test_a_plugin_that_has_died_refuses_further_calls(make_plugin):
    folder = make_plugin("wire.ready()\nnext(wire.requests())\nsys.exit(4)")

    async with PluginProcess(folder) as plugin:
        assert plugin.failure is None
        for _ in range(2):
            with pytest.raises(PluginExitedError, match="exit code 4"):
                await collect(plugin)
        assert isinstance(plugin.failure, PluginExitedError)


@pytest.mark.parametrize(
    "steps",
    [
        # Its stdin is closed before the host knows of it, so that no request can slip in.
        pytest.param("os.close(0); wire.ready()", id="stdin"),
        pytest.param("wire.ready(); os.close(1)", id="stdout"),
    ],
)
async def test_a_plugin_that_closes_a_pipe_and_lives_on_is_ended(make_plugin, steps):
    folder = make_plugin(f"{steps}; time.sleep(600)")
    with pytest.raises(PluginExitedError, match="exit code -9"):
        await run(folder)


async def test_a_call_of_a_plugin_that_was_never_started_is_refused(echo):
    plugin = PluginProcess(echo)
    with pytest.raises(PluginExitedError, match="was never started"):
        await collect(plugin)
    assert (plugin.protocol_errors, plugin.failure) == (0, None)


async def test_stopping_fails_what_still_runs(make_plugin):
    folder = make_plugin("wire.ready()\nfor request in wire.requests(): pass")

    async with PluginProcess(folder) as plugin:
        task = asyncio.create_task(collect(plugin))
        await asyncio.sleep(0)
    with pytest.raises(PluginExitedError, match="was stopped"):
        await task


async def test_a_plugin_that_was_not_started_can_be_stopped(echo):
    await PluginProcess(echo).stop()


async def test_a_plugin_that_ignores_sigterm_is_killed_with_what_it_started(make_plugin):
    folder = make_plugin(
        """
        import signal, subprocess
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = subprocess.Popen(["sleep", "600"])
        wire.ready()
        for request in wire.requests():
            wire.stream(request, {"child": child.pid})
            wire.end(request)
        """
    )

    settings = HostSettings(stop_timeout_seconds=0.2)
    async with PluginProcess(folder, settings=settings) as plugin:
        (answer,) = await collect(plugin)
        child, pid = os.pidfd_open(answer["child"]), plugin.pid
    ended, _, _ = select.select([child], [], [], 120)
    os.close(child)
    assert ended
    assert not is_running(pid)


def test_a_plugin_does_not_outlive_a_host_that_is_killed(make_plugin):
    folder = make_plugin("wire.ready()\nfor request in wire.requests(): pass")
    program = f"""
import asyncio
import base64
from dify_plugin_host import PluginProcess
async def main():
    async with PluginProcess({str(folder)!r}) as plugin:
        print(plugin.pid, flush=True)
        await asyncio.sleep(600)
asyncio.run(main())
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as host:
        plugin = os.pidfd_open(int(host.stdout.readline()))
        host.kill()
    ended, _, _ = select.select([plugin], [], [], 120)
    os.close(plugin)
    assert ended


async def test_a_last_line_without_its_end_still_counts(make_plugin):
    folder = make_plugin(
        """
        wire.ready()
        request = next(wire.requests())
        wire.stream(request, {"last": "words"})
        end = {"event": "session", "session_id": request["session_id"], "data": {"type": "end", "data": {}}}
        sys.stdout.write(wire.json.dumps(end))
        """
    )
    assert await run(folder) == [{"last": "words"}]


async def test_a_line_over_the_limit_gets_the_plugin_killed(make_plugin):
    folder = make_plugin(
        """
        wire.ready()
        for request in wire.requests():
            wire.stream(request, {"text": "x" * 6 * 1024 * 1024})
            wire.end(request)
        """
    )
    with pytest.raises(PluginKilledError, match="more than 5242880 bytes"):
        await run(folder)


async def test_a_line_up_to_the_limit_comes_through_whole(make_plugin):
    folder = make_plugin(
        """
        wire.ready()
        for request in wire.requests():
            wire.stream(request, {"text": "x" * 5 * 1000 * 1000})
            wire.end(request)
        """
    )
    assert await run(folder) == [{"text": "x" * 5 * 1000 * 1000}]


async def test_a_plugin_may_write_any_amount_to_stderr(make_plugin):
    folder = make_plugin(
        """
        wire.ready()
        for request in wire.requests():
            sys.stderr.write("noise " * 1_000_000)
            wire.stream(request, {"done": True})
            wire.end(request)
        """
    )
    assert await run(folder) == [{"done": True}]


async def test_what_is_no_message_is_counted_and_shown_and_does_no_harm(make_plugin):
    folder = make_plugin(
        """
        print("starting up")
        wire.ready()
        for request in wire.requests():
            print("debug output")
            wire.line("[1, 2]")
            wire.line('{"no": "event"}')
            sys.stdout.buffer.write(b"\\xff\\n")
            wire.send("log", {"level": "WARNING", "message": "careful"})
            wire.send("error", {"error": "bad line"})
            wire.stream(request, {"fine": True})
            wire.end(request)
        """
    )
    notices = []

    async with PluginProcess(folder, on_notice=notices.append) as plugin:
        answer, protocol_errors = await collect(plugin), plugin.protocol_errors
    assert answer == [{"fine": True}]
    assert protocol_errors == 5
    assert [(notice.kind, notice.level) for notice in notices] == [
        ("protocol_error", "ERROR"),
        ("log", "INFO"),
        ("protocol_error", "ERROR"),
        ("protocol_error", "ERROR"),
        ("protocol_error", "ERROR"),
        ("protocol_error", "ERROR"),
        ("log", "WARNING"),
        ("plugin_error", "ERROR"),
    ]
    assert notices[0].text == "a line on stdout is not a message of the protocol: starting up"
    assert notices[-1].text == "{'error': 'bad line'}"


async def test_a_stream_message_of_an_unknown_type_ends_the_call(make_plugin):
    folder = make_plugin(
        """
        wire.ready()
        for request in wire.requests():
            wire.session(request, "surprise", {})
        """
    )
    with pytest.raises(StreamRejectedError, match="unknown stream message type: surprise"):
        await run(folder)


async def test_a_call_that_takes_too_long_is_given_up(make_plugin):
    folder = make_plugin("wire.ready()\nfor request in wire.requests(): pass")
    with pytest.raises(InvokeTimeoutError) as caught:
        await run(folder, settings=HostSettings(call_timeout_seconds=0.1))
    assert caught.value.timeout_seconds == 0.1


async def test_what_comes_for_an_abandoned_call_is_dropped(make_plugin):
    folder = make_plugin(
        """
        wire.ready()
        for request in wire.requests():
            for n in range(3):
                wire.stream(request, {"n": n})
            wire.end(request)
        """
    )

    async with PluginProcess(folder) as plugin:
        async with contextlib.aclosing(plugin.invoke("model", "x", {})) as answer:
            first = await anext(answer)
        answer = first, await collect(plugin)
    assert answer == ({"n": 0}, [{"n": 0}, {"n": 1}, {"n": 2}])


CALLS_BACK = """
wire.ready()
for request in wire.requests():
    wire.call(request, "tool", request["data"].get("payload", {"tool": "t"}))
    wire.stream(request, {"replies": wire.replies()})
    wire.end(request)
"""


async def replies_of(folder, backwards=None, *, payload=None, **settings):
    """Have the plugin make one backwards call; return the replies that it got."""

    options = {"backwards": backwards} if backwards else {}
    async with PluginProcess(folder, settings=HostSettings(**settings), **options) as plugin:
        data = {} if payload is None else {"payload": payload}
        ((answer,)) = [item async for item in plugin.invoke("agent_strategy", "x", data)]
    for reply in answer["replies"]:
        assert list(reply) == ["backwards_request_id", "event", "message", "data"]
    return [(reply["event"], reply["message"], reply["data"]) for reply in answer["replies"]]


async def test_a_backwards_call_gets_every_object_and_an_end(make_plugin):
    async def answer(request):
        yield {"asked": request.type, "by": request.caller}
        yield request.request

    replies = await replies_of(make_plugin(CALLS_BACK), answer)
    assert replies == [
        ("response", "stream", {"asked": "tool", "by": "agent_strategy"}),
        ("response", "stream", {"tool": "t"}),
        ("end", "", None),
    ]


async def test_a_backwards_call_that_fails_gets_the_error_after_what_came_and_an_end(make_plugin):
    async def answer(request):
        yield {"n": 1}
        raise BackwardsError(f"no {request.type}")

    replies = await replies_of(make_plugin(CALLS_BACK), answer)
    assert replies == [
        ("response", "stream", {"n": 1}),
        ("error", "no tool", None),
        ("end", "", None),
    ]


async def test_a_backwards_call_is_refused_where_nothing_answers(make_plugin):
    replies = await replies_of(make_plugin(CALLS_BACK))
    assert replies == [("error", "this host does not answer 'tool' calls", None), ("end", "", None)]


async def test_a_backwards_call_without_a_request_is_refused(make_plugin):
    with pytest.raises(StreamRejectedError) as caught:
        await replies_of(make_plugin(CALLS_BACK), payload="nothing")
    assert caught.value.error_type == "invoke_dify_error"
    assert caught.value.message.startswith(
        "invoke dify failed: invoke request missing request: map["
    )


async def test_a_backwards_call_that_takes_too_long_is_ended(make_plugin):
    async def answer(request):
        yield {"asked": request.type}
        await asyncio.sleep(600)

    replies = await replies_of(make_plugin(CALLS_BACK), answer, backwards_timeout_seconds=0.2)
    assert replies == [
        ("response", "stream", {"asked": "tool"}),
        ("error", "the tool invocation took longer than 0.2 s", None),
        ("end", "", None),
    ]


async def test_a_backwards_call_of_a_call_that_is_over_is_refused(make_plugin):
    folder = make_plugin(
        """
        wire.ready()
        for request in wire.requests():
            wire.end(request)
            wire.call(request, "tool", {})
            for reply in wire.replies():
                text = f"{reply['event']}: {reply['message']}"
                wire.send("log", {"level": "INFO", "message": text})
        """
    )

    notices = asyncio.Queue()
    async with PluginProcess(folder, on_notice=notices.put_nowait) as plugin:
        await collect(plugin)
        answer = [(await notices.get()).text for _ in range(3)]
    assert answer == [
        "loaded",
        "error: session not found: the call that this belongs to has ended",
        "end: ",
    ]


async def test_what_becomes_of_a_call_that_fails_is_told_with_its_traceback_and_no_secret(
    make_plugin,
):
    folder = make_plugin(
        """
        wire.ready()
        for request in wire.requests():
            if request["data"]["action"] == "exit":
                raise SystemExit("first\\nlast")
            args = {"traceback": "Traceback:\\n  File x\\nOSError: sk-proj-1234567890"}
            wire.error(request, "OSError", "no", args)
            wire.end(request)
        """
    )
    notices = []

    async with PluginProcess(folder, on_notice=notices.append) as plugin:
        for action in ("ask", "exit"):
            with pytest.raises(PluginHostError):
                await anext(plugin.invoke("model", action, {}))
    asked, ended = (notice for notice in notices if notice.kind == "failed_call")
    assert asked.text == ("ask failed: OSError: no\nTraceback:\n  File x\nOSError: sk-[redacted]")
    assert ended.text.endswith("its stderr ends with: last\nfirst\nlast")
    assert asked.level == "ERROR"


async def test_each_line_of_stderr_is_told_and_a_long_one_in_pieces(make_plugin):
    folder = make_plugin(
        """
        sys.stderr.write("one\\n\\n" + "x" * 70_000 + "\\n\\xff")
        sys.stderr.flush()
        os.close(2)
        wire.ready()
        time.sleep(60)
        """
    )

    told, lines = asyncio.Queue(), []
    async with PluginProcess(folder, on_notice=told.put_nowait):
        while "\xff" not in lines:
            notice = await told.get()
            lines += [notice.text] if notice.kind == "stderr" else []
        first, *long, last = lines
    assert (first, "".join(long), last) == ("one", "x" * 70_000, "\xff")


@pytest.mark.parametrize("debugger", ["", "builtins.print"])
async def test_a_breakpoint_is_refused_unless_the_environment_names_a_debugger(
    make_plugin, debugger
):
    folder = make_plugin(
        """
        wire.ready()
        for request in wire.requests():
            try:
                breakpoint()
            except RuntimeError as error:
                wire.stream(request, {"said": str(error), "path": os.environ["PYTHONPATH"]})
            wire.end(request)
        """
    )
    environment = {**os.environ, "PYTHONBREAKPOINT": debugger, "PYTHONPATH": "elsewhere"}

    async with PluginProcess(folder, environment=environment) as plugin:
        answer = await collect(plugin)
    if debugger:
        assert answer == []
    else:
        (told,) = answer
        assert told["said"].startswith("breakpoint() is refused: a plugin's stdin and stdout carry")
        assert "PYTHONBREAKPOINT" in told["said"]
        assert "dify-host debug" in told["said"]
        assert told["path"].endswith(":elsewhere")


async def test_a_fault_in_the_answering_code_reaches_the_plugin_too(make_plugin):
    async def answer(request):
        yield {"n": 1 / len(request.request["missing"])}

    replies = await replies_of(make_plugin(CALLS_BACK), answer)
    assert replies == [("error", "internal error: KeyError('missing')", None), ("end", "", None)]


async def test_a_fault_whose_text_is_no_utf_8_reaches_the_plugin_too(make_plugin):
    async def answer(request):
        del request
        raise BackwardsError("half a character: \udc80")
        yield {}

    replies = await replies_of(make_plugin(CALLS_BACK), answer)
    assert replies == [("error", "half a character: ?", None), ("end", "", None)]


async def test_an_answer_in_the_making_is_dropped_with_its_call_and_the_plugin_is_told(
    make_plugin, pass_time
):
    folder = make_plugin(
        """
        wire.ready()
        for request in wire.requests():
            wire.call(request, "tool", {})
            for reply in wire.replies():
                text = f"{reply['event']}: {reply['message']}"
                wire.send("log", {"level": "INFO", "message": text})
        """
    )
    ended = []

    async def answer(request):
        pass_time(60)
        try:
            await asyncio.Event().wait()
            yield {}
        finally:
            ended.append(request.type)

    notices = asyncio.Queue()
    options = {"backwards": answer, "on_notice": notices.put_nowait}
    async with PluginProcess(folder, **options) as plugin:
        with pytest.raises(InvokeTimeoutError):
            await anext(plugin.invoke("model", "x", {}, timeout_seconds=60))
        answer = [(await notices.get()).text for _ in range(4)]
    assert answer == [
        "loaded",
        "x failed: the call took longer than 60 s; killed by timeout",
        "error: session not found: the call that this belongs to has ended",
        "end: ",
    ]
    assert ended == ["tool"]


@pytest.fixture(scope="module")
async def obedient(make_shared_plugin):
    """Run a plugin that does in each call what it is told there; blobs may have 20,000 bytes and one piece more."""
    folder = make_shared_plugin(
        """
        BAD_CHUNK = {"id": "a", "total_length": 1, "blob": "*", "end": False}
        wire.ready()
        for request in wire.requests():
            exec(request["data"]["script"])
            wire.end(request)
        """
    )
    async with PluginProcess(folder, settings=HostSettings(blob_limit_bytes=20_000)) as plugin:
        yield lambda script: collect(plugin, script=script)


async def test_blob_chunks_become_one_blob(obedient):
    script = """
for n in range(3):
    wire.blob_chunk(request, bytes([n]) * 8192, sequence=n, total=24576, last=False)
wire.stream(request, {"type": "text", "message": {"text": "in between"}})
wire.blob_chunk(request, b"", sequence=3, total=24576, last=True)
"""
    taken = await obedient(script)
    text, blob = taken
    assert text["message"] == {"text": "in between"}
    assert blob["type"] == "blob"
    assert blob["meta"] == {"mime_type": "x/y"}
    content = base64.b64decode(blob["message"]["blob"])
    assert content == bytes(8192) + b"\x01" * 8192 + b"\x02" * 8192


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (
            "wire.blob_chunk(request, bytes(8193), sequence=0, total=8193, last=False)",
            "single file chunk is too large",
        ),
        (
            "[wire.blob_chunk(request, bytes(8192), sequence=n, total=32768, last=False) for n in range(4)]",
            "file is too large",
        ),
        (
            "wire.stream(request, {'type': 'blob_chunk', 'message': BAD_CHUNK})",
            "illegal base64 data at input byte 0",
        ),
        (
            "wire.stream(request, {'type': 'blob_chunk', 'message': BAD_CHUNK | {'blob': 'YWJ'}})",
            "illegal base64 data at input byte 0",
        ),
        *(
            (
                f"wire.stream(request, {{'type': 'blob_chunk', 'message': BAD_CHUNK | {{'blob': {text!r}}}}})",
                f"illegal base64 data at input byte {place}$",
            )
            for text, place in {
                "YWJj\nYW": 5,
                "YW*=": 2,
                "Y===": 1,
                "YW=": 3,
                "YWI=YWJj": 4,
                "YW==YWJj": 4,
                "YW=\nb": 3,
            }.items()
        ),
    ],
)
async def test_a_broken_blob_ends_the_call(obedient, script, reason):
    with pytest.raises(StreamRejectedError, match=reason) as caught:
        await obedient(script)
    assert caught.value.error_type == "blob_error"


@pytest.mark.parametrize(
    "script",
    [
        "wire.blob_chunk(request, bytes(60), sequence=0, total=60, last=False)",
        "wire.stream(request, {'type': 'blob_chunk', 'message': {'id': 'a'}})",
        "wire.stream(request, {'type': 'blob_chunk', 'message': None})",
    ],
)
async def test_a_blob_without_its_end_and_a_malformed_chunk_are_passed_over(obedient, script):
    assert await obedient(script) == []


async def test_a_blob_of_another_length_than_it_said_is_delivered(obedient):
    (blob,) = await obedient("wire.blob_chunk(request, b'', sequence=0, total=60, last=True)")
    assert blob["message"] == {"blob": ""}


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (None, "invoke request is empty"),
        (
            [],
            "unmarshal invoke request failed: json: cannot unmarshal array into Go value of type map",
        ),
        ({}, "invoke request missing type: map[]"),
        ({"type": "tool"}, "invoke request missing request_id: map[type:tool]"),
        (
            {"type": "tool", "backwards_request_id": "r", "request": 1},
            "invoke request missing request: map[backwards_request_id:r request:%!s(float64=1) type:tool]",
        ),
    ],
)
async def test_a_call_back_that_is_none_ends_the_call(obedient, call, problem):
    script = f"""
wire.send("session", {{"type": "invoke", "data": {call!r}}}, "a call that nobody made")
wire.session(request, "invoke", {call!r})
wire.stream(request, {{}})
"""
    with pytest.raises(StreamRejectedError) as caught:
        await obedient(script)
    assert caught.value.error_type == "invoke_dify_error"
    assert caught.value.message.startswith(f"invoke dify failed: {problem}")


async def test_a_dead_process_is_waited_for_where_the_daemon_waits(make_plugin):
    folder = make_plugin("wire.ready()\nfor request in wire.requests():\n    sys.exit(3)")
    with pytest.raises(PluginExitedError):
        await run(folder)
    strict = HostSettings(call_timeout_seconds=1, rules=PlatformRules(silent_exit=True))
    with pytest.raises(InvokeTimeoutError):
        await run(folder, settings=strict)


async def test_what_is_streamed_must_be_an_object(make_plugin):
    folder = make_plugin(
        "wire.ready()\nfor request in wire.requests():\n    wire.stream(request, [])"
    )
    with pytest.raises(StreamRejectedError, match="unmarshal json failed: expected an object"):
        await run(folder)
