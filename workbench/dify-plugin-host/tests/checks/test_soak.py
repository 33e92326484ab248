"""`dify-host check --soak` on small plugins without the SDK, each with its vices; a soak takes about a second here."""

import contextlib
import importlib.util
import io
import json
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest
from damages import OTHERS, base, pack, put, swap


WIRE = Path(__file__).parents[1] / "plugins" / "wire.py"
PYPROJECT = '[project]\nname = "p"\nversion = "0.0.1"\nrequires-python = ">=3.12"\n'
BEGIN = """
    def answer(request):
        wire.stream(request, {"type": "text", "message": {"text": "hi"}})
        wire.end(request)

    wire.ready()
"""
HEALTHY = f"""{BEGIN}
    for request in wire.requests():
        answer(request)
"""
# Of another run of these tests at the same time there is one, too.
LIVES_ON = f"import time; time.sleep(60)  # {os.getpid()}"
ILL = """BEGIN
    import subprocess, threading
    threading.Thread(target=lambda: [0 for _ in iter(int, 1)], daemon=True).start()
    print("hello there")
    kept = []
    for request in wire.requests():
        if not kept:
            apart = {"start_new_session": True, **dict.fromkeys(("stdin", "stdout", "stderr"), -3)}
            subprocess.Popen([sys.executable, "-c", "LIVES_ON"], **apart)
        kept += [b"x" * 200_000, *os.pipe()]
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        answer(request)
""".replace("BEGIN", BEGIN).replace("LIVES_ON", LIVES_ON)
ODD = f"""{BEGIN}
    kept = []
    for request in wire.requests():
        kept.append(b"x" * 200_000)
        time.sleep(0.02)
        match request["data"].get("tool"):
            case "words": continue
            case "record": wire.error(request, "ValueError", "no")
            case "blob": wire.stream(request, 1)
        wire.end(request)
"""
DIES_IDLE = """
    wire.ready()
    time.sleep(0.2)
    sys.exit("out of order")
"""
DIES_CALLED = f"""{BEGIN}
    for number, request in enumerate(wire.requests()):
        answer(request)
        if number == 9: sys.exit("too much")
"""
HANGS = f"""{BEGIN}
    for number, request in enumerate(wire.requests()):
        if number < 9: answer(request)
"""
SILENT = """
    wire.ready()
    for request in wire.requests():
        pass
"""
STARTS_ONCE = """
    if os.path.exists("started"): sys.exit("locked")
    open("started", "w").close()
    wire.ready()
    time.sleep(60)
"""
EXPECTED_BY_THE_SDK = """
import json, sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
# The package without what its own module imports, which takes half of the time.
sys.modules["dify_plugin"] = module_from_spec(PathFinder.find_spec("dify_plugin"))
from dify_plugin.core.entities.plugin import request as known
from pydantic import BaseModel
shapes = {
    str(each.model_fields["action"].default): each
    for each in vars(known).values()
    if isinstance(each, type) and issubclass(each, BaseModel) and "action" in each.model_fields
}
for line in open(sys.argv[1]):
    asked = json.loads(line)
    shapes[asked["action"]](**asked)
"""


@pytest.fixture(scope="module")
def soak(console_scripts, tmp_path_factory, uv_cache):
    """Soak a plugin with this script by the installed command; return the exit code and the results of its checks by name.

    A soak with an outcome that is not `possible` is made again, which a machine that stands still for some tenths of a second brings about.
    """
    command = console_scripts["dify-host"].load()

    def run(script, *, possible=lambda _: True, **more):
        for _ in range(60):
            code, results = run_once(script, **more)
            if possible(results["soak"]):
                break
        return code, results

    def run_once(script, *, seconds=1.5, calls=40, name="demo_tools", change=lambda _: None):
        files = {**base(name), "wire.py": WIRE.read_bytes()}
        files["main.py"] = f"import os, sys, time, wire\n{textwrap.dedent(script)}".encode()
        # It has no dependencies and one route, so it is installed in no time.
        files["pyproject.toml"] = PYPROJECT.encode()
        change(files)
        folder = tmp_path_factory.mktemp("soak")
        (folder / "dify-host").mkdir()
        (folder / "dify-host" / ".uv-cache").symlink_to(uv_cache)
        (folder / "p.difypkg").write_bytes(pack(files))
        out = io.StringIO()
        with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out):
            patch.chdir(folder)
            patch.setenv("XDG_STATE_HOME", str(folder))
            options = (f"--soak-seconds={seconds}", f"--soak-calls={calls}", "--json")
            patch.setattr(sys, "argv", ["dify-host", "check", "p.difypkg", "--soak", *options])
            with pytest.raises(SystemExit) as ended:
                command()
        results = map(json.loads, out.getvalue().splitlines())
        return ended.value.code or 0, {result["name"]: result for result in results}

    return run


@pytest.fixture(scope="module")
def health(soak):
    """Soak a plugin with this script; return its figures, its note and its findings, each with its kind."""

    def run(script, **more):
        _, results = soak(script, **more)
        result = results["soak"]
        assert (result["stage"], result["is_skipped"]) == ("health", False), [
            each for result in results.values() for each in result["findings"]
        ]
        findings = [(finding["kind"], finding["text"]) for finding in result["findings"]]
        return result["figures"], result["note"], findings

    return run


@pytest.fixture(scope="module")
def ill(health):
    return health(ILL, seconds=3, possible=has_no_slow_calls)


@pytest.fixture(scope="module")
def odd(health):
    return health(
        ODD, calls=400, possible=lambda result: "s: invoke_tool of words;" in result["note"]
    )


def has_no_slow_calls(result):
    return result["figures"]["slow_calls"] == 0 and result["figures"]["calls"] >= 40


def text_about(findings, word):
    (text,) = (text for kind, text in findings if word in text and kind == "advice")
    return text


def test_a_healthy_plugin_has_figures_and_no_findings(soak):
    without_credentials = swap("provider/demo.yaml", "credentials_for_provider", "other")
    code, results = soak(HEALTHY, seconds=3, change=without_credentials, possible=has_no_slow_calls)
    result = results["soak"]
    assert (code, result["findings"], result["is_skipped"]) == (0, [], False)
    figures = result["figures"]
    assert figures.keys() == {
        "start_seconds", "idle_cpu_percent", "processes_left",
        "calls", "error_answers", "slow_calls", "call_seconds_median", "call_seconds_p95",
        "threads_before", "threads_after", "threads_per_100_calls",
        "memory_mb_before", "memory_mb_after", "memory_mb_per_100_calls",
        "handles_before", "handles_after", "handles_per_100_calls",
    }  # fmt: skip
    assert (figures["calls"], figures["threads_before"], figures["threads_after"]) == (40, 1, 1)
    assert 3 <= figures["handles_before"] == figures["handles_after"]
    assert 5 < figures["memory_mb_before"] < 100
    assert "40 of 40 calls, 0 answered with an error" in result["note"]


def test_cpu_time_without_calls_is_told(ill):
    figures, _, findings = ill
    assert figures["idle_cpu_percent"] > 2
    text = text_about(findings, "of a core")
    assert text.startswith("expected at most 2 % of a core while nothing is called, got ")


def test_memory_that_grows_with_the_calls_is_told(ill):
    figures, _, findings = ill
    assert figures["memory_mb_per_100_calls"] > 15
    assert text_about(findings, "MB").startswith("expected at most 10 MB of memory more")


@pytest.mark.parametrize(("name", "word", "grown"), [("threads", "threads", 100), ("handles", "open files", 200)])  # fmt: skip
def test_threads_and_open_files_that_calls_leave_behind_are_told(ill, name, word, grown):
    figures, _, findings = ill
    assert figures[f"{name}_per_100_calls"] == pytest.approx(grown, rel=0.2)
    assert text_about(findings, word).startswith("expected at most 10 ")


def test_a_process_that_outlives_the_plugin_is_told_and_ended(ill):
    figures, _, findings = ill
    assert figures["processes_left"] == 1
    assert text_about(findings, "live on").endswith(f"-c {LIVES_ON}")
    while any(
        LIVES_ON in (each.info["cmdline"] or ()) for each in psutil.process_iter(["cmdline"])
    ):
        time.sleep(0.01)


def test_what_is_no_message_on_stdout_is_told(ill):
    _, _, findings = ill
    assert "hello there" in text_about(findings, "not a message of the protocol")


def test_none_of_this_breaks_the_plugin(ill):
    _, _, findings = ill
    assert {kind for kind, _ in findings} == {"advice"}


def test_an_answer_that_the_platform_refuses_would_break(odd):
    _, _, findings = odd
    ((kind, text),) = findings
    assert kind == "broken"
    assert text.startswith("invoke_tool of blob: unmarshal_error: unmarshal json failed")


def test_a_call_without_an_answer_is_named_and_not_repeated(odd):
    figures, note, _ = odd
    # Up to four are under way at a time.
    assert 1 <= figures["slow_calls"] <= 4
    assert "without an answer within 0.25 s: invoke_tool of words" in note


def test_an_error_is_an_answer(odd):
    figures, _, _ = odd
    assert 0 < figures["error_answers"] < figures["calls"]


def test_too_few_calls_say_nothing_about_growth(odd):
    figures, note, _ = odd
    assert figures["calls"] < 100
    assert note.endswith("too few calls to judge growth")
    assert "memory_mb_per_100_calls" not in figures


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (DIES_IDLE, "after 0 calls: plugin 'demo_tools' ended with exit code 1; its stderr ends with: out of order"),
        (DIES_CALLED, "calls: plugin 'demo_tools' ended with exit code 1; its stderr ends with: too much"),
        (HANGS, "calls: it no longer answers the calls that it answered before"),
        (STARTS_ONCE, "before its first heartbeat; its stderr ends with: locked"),
    ],
    ids=["ends while idle", "ends in a call", "hangs", "does not start again"],
)  # fmt: skip
def test_a_plugin_that_does_not_last_would_break(soak, script, told):
    code, results = soak(script, possible=lambda result: told in str(result["findings"]))
    (finding,) = results["soak"]["findings"]
    assert (code, finding["kind"]) == (1, "broken")
    assert told in finding["text"]


def test_a_plugin_that_never_answers_cannot_be_judged(health):
    figures, note, findings = health(SILENT)
    assert findings == []
    assert figures["slow_calls"] == figures["calls"]
    assert "too few calls" in note


RECORDS = """
    wire.ready()
    for request in wire.requests():
        with open({path!r}, "a") as out: out.write(wire.json.dumps(request["data"]) + "\\n")
        wire.end(request)
"""


def with_more_types(files):
    """Make a package of models offer some that its users name."""
    types = "supported_model_types: [llm"
    swap("provider/echo.yaml", types, f"{types}, text-embedding, speech2text")(files)


def with_endpoint(files):
    """Add an endpoint to a package of tools, and have one of these require a file."""
    swap("manifest.yaml", "plugins:\n", "plugins:\n  endpoints: [endpoints.yaml]\n")(files)
    group = OTHERS["endpoints"]["provider/other.yaml"]
    put("endpoints.yaml", group.replace("text-input", "app-selector, required: true"))(files)
    endpoint = OTHERS["endpoints"]["endpoints/item.yaml"]
    put("endpoints/item.yaml", endpoint.replace("/item", "/items/<number>"))(files)
    swap("tools/ask.yaml", "type: string", "type: file")(files)
    swap("tools/pointers.yaml", "type: string", "type: model-selector")(files)


def with_keys(files):
    """Make both credentials of a package of data sources or triggers required: a key, and an address."""
    fields = "credentials_schema: { key: { type: secret-input, "
    address = "base_url: { type: text-input, required: true, label: { en_US: URL } }, "
    required = fields.replace("{ key", f"{{ {address}key") + "required: true, "
    swap("provider/other.yaml", fields, required)(files)


@pytest.fixture(scope="module")
def asked(health, tmp_path_factory):
    """Return the file with all that plugins of every kind are asked in a soak."""
    path = tmp_path_factory.mktemp("asked") / "asked.jsonl"
    lines = []

    def is_whole(result):
        lines.append(path.read_text())
        path.unlink()
        return has_no_slow_calls(result) or lines.pop() is None

    kinds = (
        ("echo_model", with_more_types),
        ("demo_tools", with_endpoint),
        ("small_agent", lambda _: None),
        ("datasources", with_keys),
        ("triggers", with_keys),
    )
    for name, change in kinds:
        script = RECORDS.format(path=str(path))
        health(script, seconds=1, calls=60, name=name, change=change, possible=is_whole)
    path.write_text("".join(lines))
    return path


@pytest.fixture
def made(asked):
    """Return what was asked, by action, each only once."""
    made = {}
    for line in dict.fromkeys(asked.read_text().splitlines()):
        call = json.loads(line)
        made.setdefault(call["action"], []).append(call)
    return made


def test_everything_that_a_plugin_offers_is_called(made):
    actions = {action: len(calls) for action, calls in made.items()}
    # The smoke test calls the model as well, and a model that takes the simulator's credentials is called without them, too.
    assert actions.pop("invoke_llm") == 3
    assert actions == {
        "validate_provider_credentials": 1,
        "get_ai_model_schemas": 3,
        "validate_model_credentials": 2,
        "get_llm_num_tokens": 1,
        "get_text_embedding_num_tokens": 1,
        "invoke_text_embedding": 1,
        "validate_tool_credentials": 1,
        "invoke_tool": 6,
        "invoke_endpoint": 1,
        "invoke_agent_strategy": 2,
        "validate_datasource_credentials": 1,
        "invoke_website_datasource_get_crawl": 1,
        "validate_trigger_credentials": 1,
        "dispatch_trigger_event": 1,
        "invoke_trigger_event": 1,
    }


def test_a_tool_that_needs_what_nobody_can_make_up_is_left_out(made):
    called = {call["tool"] for call in made["invoke_tool"]}
    assert called == {"words", "record", "pointers", "blob", "slow", "fail"}


def test_a_model_to_choose_is_that_of_the_scripted_peer(made):
    (call,) = (call for call in made["invoke_tool"] if call["tool"] == "pointers")
    assert call["tool_parameters"]["page"]["provider"] == "host/scripted/scripted"


def test_credentials_are_made_up_and_an_address_is_one_of_this_machine(made):
    (call,) = made["validate_datasource_credentials"]
    assert call["credentials"]["key"] == "sample"
    assert call["credentials"]["base_url"].startswith("http://127.0.0.1:")


def test_an_endpoint_gets_a_request_to_its_path(made):
    (call,) = made["invoke_endpoint"]
    request = bytes.fromhex(call["raw_http_request"]).decode()
    assert request.startswith("GET /items/sample HTTP/1.1\r\nHost: 127.0.0.1\r\n")
    assert call["settings"] == {"key": {"app_id": "sample"}}


def test_what_is_asked_is_what_the_sdk_expects(asked):
    command = [sys.executable, "-c", EXPECTED_BY_THE_SDK, str(asked)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


CALLS_OUT = """
    import urllib.request
    wire.ready()
    for request in wire.requests():
        try: urllib.request.urlopen("http://example.org", timeout=9)
        except OSError as error: sys.exit(f"nobody there: {error}")
"""


def test_nobody_outside_is_called(health):
    _, _, ((_, text),) = health(CALLS_OUT, possible=lambda result: result["findings"])
    assert "nobody there: <urlopen error [Errno" in text
    assert text.endswith("Connection refused>")


def test_of_many_offers_only_so_many_are_called_that_the_warm_up_has_them_all(health):
    _, note, _ = health(SILENT, seconds=1, calls=8)
    assert "answer within 0.17 s: validate_tool_credentials of demo, invoke_tool of blob;" in note


@pytest.mark.long
def test_a_plugin_on_the_sdk_is_well_for_a_minute(soak):
    """The SDK is the one that is installed for these tests."""
    folder = str(Path(importlib.util.find_spec("dify_plugin").origin).parent.parent)

    def take_sdk(files):
        files["main.py"] = f"import sys; sys.path.append({folder!r})\n".encode() + main

    main = base("demo_tools")["main.py"]
    code, results = soak("", seconds=60, calls=200, change=take_sdk)
    result = results["soak"]
    assert (code, result["findings"]) == (0, [])
    assert (result["figures"]["calls"], result["figures"]["slow_calls"]) == (200, 0)


def test_without_an_installation_there_is_no_soak(soak):
    code, results = soak(HEALTHY, change=swap("manifest.yaml", "author: tests", "author: T"))
    assert (code, results["soak"]["is_skipped"]) == (1, True)


def test_a_quick_check_starts_nothing_that_could_be_soaked(dify_host, tmp_path):
    code, out, err = dify_host("check", tmp_path / "p.difypkg", "--soak", "--quick")
    assert (code, out) == (2, "")
    assert "--soak: expected either this or --quick, which starts nothing" in err
