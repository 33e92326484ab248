import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest


QUESTION = """call clock {"timezone": "Asia/Tokyo"}
call fail_on_demand {"message": "out of ink"}"""

KEY = "sk-very-secret"
SERVER = "the OpenAI-compatible server at http://127.0.0.1:9/v1"


@pytest.fixture(autouse=True)
def _server(monkeypatch):
    """Name a server that nobody calls: the model plugin of these tests needs none."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://user:password@127.0.0.1:9/v1")


@pytest.fixture
def _simulator(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.delenv("OPENAI_BASE_URL")


@pytest.fixture
def dify_host(dify_host, monkeypatch, shared_plugins):
    """Run the installed command beside the plugins; return exit code, stdout and stderr."""
    monkeypatch.chdir(shared_plugins.parent)
    return dify_host


@pytest.fixture
def plugins(dify_host, monkeypatch, plugins):  # noqa: ARG001 - it comes before
    """Lay out plugins that a test may change, and run the command beside these."""
    monkeypatch.chdir(plugins.parent)
    return plugins


@pytest.fixture
def events(dify_host):
    """Run `chat --json` and return its events."""

    def run(question, *options):
        code, out, err = dify_host("chat", question, "--json", *options)
        assert (code, err) == (0, "")
        return [json.loads(line) for line in out.splitlines()]

    return run


def kinds(events):
    return [event["event"] for event in events]


def test_a_conversation_is_shown_as_it_happens(dify_host):
    code, out, err = dify_host("chat", QUESTION)
    assert (code, err) == (0, "")
    expected = """\
steps with echo-2, answered by the OpenAI-compatible server at http://127.0.0.1:9/v1
tools: clock, calculator, fail_on_demand

Round 1
│ which tool?
→ clock(timezone=Asia/Tokyo)
→ fail_on_demand(message=out of ink)
← clock: TIME in Asia/Tokyo
✗ fail_on_demand: tool invoke error: out of ink

Round 2
results: TIME in Asia/Tokyo | tool invoke error: out of ink

2 rounds · 30 tokens · 0.00004 USD · SECONDS s · stopped: answered
"""
    shown = re.sub(r"\w+, [-\d]+ [:\d]+ JST \(UTC\+0900\)", "TIME", out)
    assert re.sub(r"[\d.]+ s ·", "SECONDS s ·", shown) == expected


def test_events_tell_the_same_to_programs(events):
    taken = events(QUESTION)
    assert kinds(taken) == [
        "start",
        "round",
        "thought",
        "tool_call",
        "tool_call",
        "tool_result",
        "tool_result",
        "round",
        "text",
        "text",
        "finish",
    ]
    start, _, thought, call, _, answered, failed, *_, finish = taken
    assert start["strategy"] == "steps"
    assert start["model"] == "echo-2"
    assert start["tools"] == ["clock", "calculator", "fail_on_demand"]
    assert thought["text"] == "\nwhich tool?\n"
    assert (call["name"], call["arguments"]) == ("clock", {"timezone": "Asia/Tokyo"})
    assert (answered["id"], answered["status"]) == (call["id"], "success")
    assert failed["status"] == "error"
    assert failed["result"] == "tool invoke error: out of ink"
    assert (finish["rounds"], finish["total_tokens"]) == (2, 30)
    assert (finish["total_price"], finish["currency"]) == ("0.00004", "USD")
    assert finish["answer"].startswith("results: ")
    assert finish["metadata"]["stop_reason"] == "answered"


@pytest.mark.parametrize(
    ("key", "url", "shown"),
    [
        ("", "", "the built-in simulator (gpt5-simulator), no key needed"),
        (KEY, "", "OpenAI at https://api.openai.com/v1"),
        (
            "",
            "https://user:password@example.com/v1",
            "the OpenAI-compatible server at https://example.com/v1",
        ),
    ],
)
def test_the_server_that_answers_is_named(events, monkeypatch, key, url, shown):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    assert events("hello")[0]["server"] == shown


def test_the_model_gets_the_server_as_credentials(events, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert json.loads(events("request")[-1]["answer"])["credentials"] == {
        "request_timeout_seconds": "300",
        "openai_api_key": KEY,
        "openai_api_base": "http://127.0.0.1:9/v1",
    }


@pytest.mark.usefixtures("_simulator")
def test_the_model_gets_the_simulator_as_credentials(events):
    credentials = json.loads(events("request")[-1]["answer"])["credentials"]
    assert credentials["openai_api_base"].startswith("http://127.0.0.1:")


def test_neither_key_nor_password_is_shown(dify_host):
    for question in (QUESTION, "fail InvokeAuthorizationError bad key", "fail X y"):
        for option in ((), ("--json",)):
            _, out, err = dify_host("chat", question, *option)
            assert not re.search(f"{KEY}|password", out + err)


def test_options_reach_the_strategy(events):
    options = [
        ("--strategy", "quiet"),
        ("--model", "echo-1"),
        ("--effort", "high"),
        ("--max-iterations", "7"),
        ("--max-total-tokens", "500"),
        ("--max-cost", "0.25"),
        ("--allowed-tools", "clock"),
        ("--allowed-tools", "mail"),
        ("--answer-schema", '{"type": "object"}'),
        ("--approval-rules", '{"mail": "always"}'),
        ("--tool-search",),
        ("--fallback-model", "echo-2"),
        ("--fail-on-model-failure",),
        ("--max-seconds", "9.5"),
        ("--instruction", "Be brief."),
    ]
    start, text, _ = events("params", "--hide-thoughts", *sum(options, ()))
    assert (start["strategy"], start["model"]) == ("quiet", "echo-1")
    params = json.loads(text["text"])
    assert params["model"]["model"] == "echo-1"
    assert params["model"]["completion_params"] == {"reasoning_effort": "high"}
    assert params["maximum_iterations"] == 7
    budgets = [params[f"max_{name}"] for name in ("total_tokens", "cost", "seconds", "tool_calls")]
    assert budgets == [500, 0.25, 9.5, None]
    assert params["allowed_tools"] == "clock\nmail"
    assert params["answer_schema"] == '{"type": "object"}'
    assert params["approval_rules"] == '{"mail": "always"}'
    assert params["tool_search"] is True
    assert params["fallback_model"] == "echo-2"
    assert params["fail_on_model_failure"] is True
    assert params["emit_intermediate_thoughts"] is False
    assert params["instruction"] == "Be brief."


@pytest.mark.parametrize("data", [{"budgets": "USED"}, {"output": {"budgets": "USED"}}])
def test_budgets_are_shown_as_they_are_used(dify_host, events, data):
    used = [{"name": "max_cost", "used": "0.1", "maximum": "2"}]
    data = json.loads(json.dumps(data).replace('"USED"', json.dumps(used)))
    question = "logs " + json.dumps([["ROUND 1", "start", {}], ["ROUND 1", "success", data]])
    assert events(question)[2] == {"event": "budget", **used[0]}
    assert "max_cost: 0.1 of 2 used\n" in dify_host("chat", question)[1]


def test_a_budget_that_a_strategy_does_not_know_is_refused(dify_host):
    code, _, err = dify_host("chat", "hello", "--strategy", "steps", "--max-cost", "1")
    assert code == 2
    assert "there is no parameter of strategy 'steps' named 'max_cost'" in err


def test_hidden_thoughts_stay_hidden(dify_host):
    _, out, _ = dify_host("chat", QUESTION, "--hide-thoughts")
    assert "which tool?" not in out
    assert "→ clock" in out


def test_functions_of_a_file_become_tools_beside_the_built_in_ones(dify_host, tmp_path):
    tools = tmp_path / "tools.py"
    tools.write_text(
        'def double(n: int) -> str:\n    "Double."\n    print("noise")\n    return f"{2 * n}"\n'
        'def clock(timezone: str) -> str:\n    "Mine."\n    return "noon"\n'
    )
    question = 'call double {"n": 21}\ncall clock {"timezone": "x"}'
    code, out, err = dify_host("chat", question, "--json", "--tools", tools)
    taken = [json.loads(line) for line in out.splitlines()]
    assert (code, err) == (0, "noise\n")  # what a tool prints stays out of the events
    assert taken[0]["tools"] == ["clock", "calculator", "fail_on_demand", "double"]
    results = [event["result"] for event in taken if event["event"] == "tool_result"]
    assert results == ["42", "noon"]


TOOL_PLUGIN = """
wire.ready()
for request in wire.requests():
    data = request["data"]
    seen = {"credentials": data["credentials"], "around": os.environ.get("SHOP_TOKEN")}
    wire.stream(request, {"type": "json", "message": {"json_object": seen}, "meta": None})
    wire.end(request)
"""
TEXT = {"label": {"en_US": "x"}, "human_description": {"en_US": "x"}, "llm_description": "x"}


@pytest.fixture
def shop(plugins, make_plugin):  # noqa: ARG001 - the others
    """Put a plugin with two tools beside the others: one for `SHOP_TOKEN`, one that an app's builder has to set."""
    folder = make_plugin(TOOL_PLUGIN, name="shop", plugins={"tools": ["p.yaml"]})
    label = {"en_US": "x"}
    identity = {"author": "tests", "label": label}
    token = {"type": "secret-input", "required": True, "label": label}
    zone = {"type": "text-input", "required": False, "label": label, "default": "eu"}
    credentials = {"token": token, "shop_zone": zone, "note": {**zone, "default": None}}
    provider = {"identity": {**identity, "name": "shop"}, "tools": ["buy.yaml", "sell.yaml"]}
    provider["credentials_for_provider"] = credentials
    (folder / "p.yaml").write_text(json.dumps(provider))
    size = {**TEXT, "name": "size", "type": "number", "form": "form", "default": 3}
    what = {**TEXT, "name": "what", "type": "string", "form": "llm", "required": True}
    store = {**TEXT, "name": "store", "type": "string", "form": "form", "required": True}
    for name, parameters in {"buy": [what, size], "sell": [what, store]}.items():
        tool = {"identity": {**identity, "name": name}, "parameters": parameters}
        tool["description"] = {"human": label, "llm": f"To {name}."}
        (folder / f"{name}.yaml").write_text(json.dumps(tool))
    return folder


@pytest.mark.usefixtures("shop")
def test_the_tools_of_plugins_are_offered_with_credentials_by_variable(events, monkeypatch):
    monkeypatch.setenv("SHOP_TOKEN", "let-me-in")
    monkeypatch.setenv("SHOP_NOTE", " ")

    notice, start, *_, answered, _ = events("params")

    assert start["tools"] == ["clock", "calculator", "fail_on_demand", "buy"]
    assert (notice["plugin"], notice["text"]) == (
        "shop",
        "the tool 'sell' cannot be offered: expected store set by an app's builder",
    )
    *_, offered = json.loads(answered["text"])["tools"]
    assert offered["identity"]["provider"] == "tests/shop/shop"
    assert offered["runtime_parameters"] == {"size": 3}
    call = {"tool_type": "builtin", "provider": "tests/shop/shop", "tool": "buy"}
    *_, answered, _ = events(f"raw tool {json.dumps({**call, 'tool_parameters': {}})}")
    seen = json.loads(answered["text"])[0]["data"]["message"]["json_object"]
    assert seen == {"credentials": {"token": "let-me-in", "shop_zone": "eu"}, "around": None}


@pytest.mark.usefixtures("shop")
def test_tools_without_a_credential_that_they_need_are_left_out_and_told(dify_host):
    code, out, _ = dify_host("chat", "hello")
    assert code == 0
    told = "shop: the tools of 'shop' cannot be offered: expected SHOP_TOKEN in the environment"
    assert told in out.splitlines()
    assert "tools: clock, calculator, fail_on_demand\n" in out


def test_thoughts_are_told_from_text_wherever_the_tags_are_cut(events):
    text = "a<think>b < c</think>d<thin e</think>f<think></think>g<thi"
    expected = [("text", "a"), ("thought", "b < c"), ("text", "d<thin efg<thi")]
    for pieces in ([text], list(text), [text[:5], text[5:20], text[20:]]):
        taken = []
        for event in events(f"pieces {json.dumps(pieces)}")[1:-1]:
            if taken and taken[-1][0] == event["event"]:
                taken[-1] = (event["event"], taken[-1][1] + event["text"])
            else:
                taken.append((event["event"], event["text"]))
        assert taken == expected


def test_arguments_are_found_however_a_strategy_calls_them(events):
    shown = [
        ({"tool_call_args": {"a": 1}}, {"a": 1}),
        ({"input": {"tool_call_args": {"a": 1}, "tool_call_name": "t"}}, {"a": 1}),
        ({"input": {"a": 1}}, {"a": 1}),
        ({"call": {"arguments": '{"a": 1}'}}, {"a": 1}),
        ({"arguments": "[1]"}, "[1]"),
        ({"arguments": "{"}, "{"),
        ({"arg_count": 2}, {"arg_count": 2}),
        ({}, {}),
    ]
    calls = events(f"logs {json.dumps([['CALL t', 'start', data] for data, _ in shown])}")[1:-1]
    assert [(call["event"], call["name"], call["arguments"]) for call in calls] == [
        ("tool_call", "t", arguments) for _, arguments in shown
    ]


def test_a_failed_call_without_an_error_text_shows_its_data(events):
    (result,) = events('logs [["CALL t", "error", {"output": {"tool_response": "no"}}]]')[1:-1]
    assert (result["status"], result["result"]) == ("error", "no")


def test_other_messages_are_shown_as_they_are(events, dify_host):
    message = events("attach")[1]
    assert message == {
        "event": "message",
        "type": "link",
        "message": {"text": "https://example.com"},
    }
    assert '[link] {"text": "https://example.com"}' in dify_host("chat", "attach")[1]


def test_an_output_of_an_agent_is_shown_once_unless_it_repeats_the_answer(events):
    def variable(name, value, **given):
        content = {"variable_name": name, "variable_value": value, **given}
        return {"type": "variable", "message": content, "meta": None}

    given = [
        variable("final_answer", "Mon", stream=True),
        {"type": "text", "message": {"text": "<think>?</think>Monday"}, "meta": None},
        variable("final_answer", "day", stream=True),
        variable("day", 1),
    ]
    shown = events(f"give {json.dumps(given)}")
    assert [event["message"] for event in shown if event["event"] == "message"] == [
        {"variable_name": "day", "variable_value": 1}
    ]
    assert shown[-1]["answer"] == "Monday"


def test_what_plugins_complain_about_is_shown(dify_host, plugins):
    main = plugins / "small_agent" / "main.py"
    main.write_text("print('debugging')\n" + main.read_text())
    complaint = "a line on stdout is not a message of the protocol: debugging"
    assert f"small_agent: {complaint}" in dify_host("chat", "hello")[1].splitlines()
    notice = json.loads(dify_host("chat", "hello", "--json")[1].splitlines()[0])
    expected = {"event": "notice", "plugin": "small_agent", "level": "ERROR", "text": complaint}
    assert notice == expected


def test_control_characters_do_not_reach_the_terminal(dify_host):
    _, out, _ = dify_host("chat", "pieces " + json.dumps(["red \x1b[31malert\x07"]))
    assert "red [31malert" in out
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", out)


def test_thoughts_and_answers_are_told_apart_in_a_pipe_too(dify_host):
    pieces = ["<think>", "\n\nfirst ", "step\n\nsecond", "</think>", "\nand ", "so", "\n"]
    _, out, _ = dify_host("chat", f"pieces {json.dumps(pieces)}")
    assert out.splitlines()[2:-2] == ["│ first step", "│ ", "│ second", "and so"]


def test_line_breaks_alone_are_no_text(events):
    pieces = ["<think>a</think>", "\n", "<think>b</think>\n", "\n", "c", "\n", "d"]
    taken = events(f"pieces {json.dumps(pieces)}")[1:-1]
    assert [(event["event"], event["text"]) for event in taken] == [
        ("thought", "a"),
        ("thought", "b"),
        ("text", "\n\nc"),
        ("text", "\n"),
        ("text", "d"),
    ]


def test_arguments_that_are_no_object_are_shown_as_they_are(dify_host):
    _, out, _ = dify_host("chat", "logs " + json.dumps([["CALL t", "start", {"args": "1, 2"}]]))
    assert "→ t(1, 2)" in out.splitlines()


def test_a_failure_in_the_middle_of_a_line_ends_the_line(dify_host):
    _, out, _ = dify_host("chat", "fail InvokeError no")
    assert out.endswith("so far\n")


def test_long_results_are_cut_on_the_screen_only(dify_host):
    shown = dify_host("chat", "logs " + json.dumps([["CALL t", "success", {"result": "x" * 900}]]))
    assert "← t: " + "x" * 500 + "…" in shown[1]


def test_the_plugins_folder_may_lie_above(dify_host, monkeypatch, shared_plugins):
    monkeypatch.chdir(shared_plugins / "echo_model" / "provider")
    assert dify_host("chat", "hello")[0] == 0


def test_the_strategy_and_the_model_have_names_that_are_preferred(dify_host, plugins):
    strategy = plugins / "small_agent" / "strategies" / "quiet.yaml"
    strategy.write_text(strategy.read_text().replace("quiet", "gpt5_function_calling"))
    model = plugins / "echo_model" / "models" / "llm" / "echo-3.yaml"
    model.rename(model.with_name("gpt-5.2.yaml")).write_text("model: gpt-5.2")
    _, out, _ = dify_host("chat", "hello")
    assert out.startswith("gpt5_function_calling with gpt-5.2, answered by")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["hello", "--strategy", "none"], "there is no strategy 'none'; expected one of: steps"),
        (["hello", "--model", "none"], "there is no model 'none'; expected one of: echo-2"),
        (["hello", "--effort", "huge"], "there is no reasoning_effort 'huge'; expected one of"),
        (["hello", "--tools", "none.py"], "none.py: no such file; expected a Python file"),
        (["hello", "--plugins", "none"], "none: no such folder; expected one that holds plugin"),
        (["hello", "--plugins", "."], "expected a model plugin in it"),
    ],
)
def test_bad_usage_gets_one_line_and_exit_code_2(dify_host, arguments, problem):
    code, _, err = dify_host("chat", *arguments)
    assert code == 2
    assert err.count("\n") == 1
    assert err.startswith("dify-host: error: ")
    assert problem in err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["chat", " "], "expected some text"),
        (["chat", "\udcff"], "expected UTF-8 text"),
        (["chat", "hello", "--max-iterations", "0"], "--max-iterations"),
        (["chat", "hello", "--max-tool-calls", "-1"], "--max-tool-calls"),
        (["chat", "hello", "--bogus"], "No such option: --bogus"),
        (["chat"], "Missing argument"),
    ],
)
def test_a_malformed_command_line_gets_exit_code_2(dify_host, arguments, problem):
    code, _, err = dify_host(*arguments)
    assert code == 2
    assert problem in err


@pytest.mark.parametrize("url", ["example.com/v1", "ftp://example.com", "http://", "http://a:b/"])
def test_a_server_address_that_is_none_is_refused_without_showing_it(dify_host, monkeypatch, url):
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    code, _, err = dify_host("chat", "hello")
    assert code == 2
    expected = "OPENAI_BASE_URL: expected an address such as https://api.openai.com/v1"
    assert err == f"dify-host: error: {expected}\n"


def test_a_folder_without_plugins_is_refused(dify_host, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    code, _, err = dify_host("chat", "hello")
    assert code == 2
    assert (
        "expected a folder 'plugins' here or in a parent folder; --plugins takes another one" in err
    )


@pytest.mark.usefixtures("plugins")
def test_two_plugins_of_a_kind_are_one_too_many(dify_host, make_plugin):
    make_plugin("", name="another", plugins={"models": ["provider.yaml"]})
    code, _, err = dify_host("chat", "hello")
    assert code == 2
    assert "expected one model plugin in it, found: another, echo_model" in err


@pytest.mark.parametrize(
    ("question", "problem"),
    [
        (
            "fail InvokeAuthorizationError no",
            f"{SERVER} refused the key; expected a valid one in OPENAI_API_KEY",
        ),
        (
            "fail InvokeConnectionError no",
            f"no answer from {SERVER}; expected a Responses API at OPENAI_BASE_URL",
        ),
        (
            "fail InvokeServerUnavailableError no",
            f"the model call failed: no ({SERVER} was asked, as named by OPENAI_BASE_URL)",
        ),
        (
            "fail InvokeBadRequestError no",
            f"the model call failed: no ({SERVER} was asked, as named by OPENAI_BASE_URL)",
        ),
        ("fail InvokeRateLimitError slow down", "the model call failed: slow down"),
        ("null", "the run failed: read llm model failed: unmarshal json failed: content field"),
        (
            "odd",
            "unmarshal_error: unmarshal json failed: Key: 'AgentStrategyResponseChunk.ToolResponseChunk.Type' Error:",
        ),
        ("die", "plugin 'small_agent' ended with exit code 1; its stderr ends with: out of memory"),
    ],
)
def test_a_run_that_fails_gets_one_line_and_exit_code_1(dify_host, question, problem):
    code, _, err = dify_host("chat", question)
    assert code == 1
    assert err.count("\n") == 1
    assert err.startswith(f"dify-host: error: {problem}")


def test_a_server_that_no_setting_names_is_not_blamed_on_one(dify_host, monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL")
    err = dify_host("chat", "fail InvokeServerUnavailableError no")[2]
    assert err == "dify-host: error: the model call failed: no\n"


def test_programs_get_the_failure_as_an_event_too(dify_host):
    code, out, err = dify_host("chat", "fail InvokeRateLimitError slow down", "--json")
    last = json.loads(out.splitlines()[-1])
    assert code == 1
    assert last == {"event": "error", "message": "the model call failed: slow down"}
    assert err == "dify-host: error: the model call failed: slow down\n"


def test_a_plugin_that_dies_at_the_start_shows_its_last_words(dify_host, plugins):
    (plugins / "small_agent" / "main.py").write_text("import nothing_like_it")
    code, out, err = dify_host("chat", "hello")
    assert (code, out) == (1, "")
    assert err == (
        "dify-host: error: plugin 'small_agent' ended with exit code 1 before its first heartbeat; "
        "its stderr ends with: ModuleNotFoundError: No module named 'nothing_like_it'\n"
    )


def start_hanging(folder):
    """Start a conversation that hangs in the model; return it and the model plugin's process."""
    command = [Path(sys.executable).with_name("dify-host"), "chat", "hang", "--json"]
    host = subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Whoever runs the tests in the background has them ignore SIGINT, and ignoring is inherited.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509  no threads here
    )
    for line in host.stdout:
        event = json.loads(line)
        if event["event"] == "notice":
            return host, os.pidfd_open(int(event["text"]))
    raise AssertionError(host.stderr.read())


def test_an_interrupt_leaves_nothing_running(shared_plugins):
    host, plugin = start_hanging(shared_plugins.parent)
    host.send_signal(signal.SIGINT)
    out, err = host.communicate(timeout=120)
    ended, _, _ = select.select([plugin], [], [], 0)
    os.close(plugin)
    assert ended
    assert host.returncode == 130
    assert "Traceback" not in out + err


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)]
)
def test_every_signal_that_ends_a_run_ends_its_plugins(monkeypatch, dify_host, number, code):
    reading, writing = os.pipe()

    def interrupt(lines):
        """Wait for what the model plugin says once it hangs, which is its process id."""
        for event in map(json.loads, lines):
            if event["event"] == "notice":
                plugin = os.pidfd_open(int(event["text"]))
                os.kill(os.getpid(), number)
                return plugin
        raise AssertionError

    with os.fdopen(reading) as lines, ThreadPoolExecutor(1) as pool:
        found = pool.submit(interrupt, lines)
        with os.fdopen(writing, "w") as out:
            monkeypatch.setattr(sys, "stdout", out)
            assert dify_host("chat", "hang", "--json")[0] == code
        plugin = found.result()
    ended, _, _ = select.select([plugin], [], [], 0)
    os.close(plugin)
    assert ended


def test_a_pipe_that_is_closed_early_ends_the_run_without_a_traceback(shared_plugins):
    command = [Path(sys.executable).with_name("dify-host"), "chat", "hello", "--json"]
    reading, writing = os.pipe()
    os.close(reading)
    host = subprocess.run(
        command,
        cwd=shared_plugins.parent,
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writing)
    assert (host.returncode, host.stderr) == (1, "")


def test_a_disk_that_is_full_is_told_without_a_traceback(shared_plugins):
    command = [Path(sys.executable).with_name("dify-host"), "chat", "hello"]
    with Path("/dev/full").open("w") as full:
        host = subprocess.run(
            command,
            cwd=shared_plugins.parent,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert host.returncode == 1
    assert host.stderr.endswith("dify-host: error: [Errno 28] No space left on device\n")
    assert "Traceback" not in host.stderr


def test_a_disk_that_is_full_is_told_where_programs_read_as_well(monkeypatch, dify_host):
    with Path("/dev/full").open("w", buffering=1) as full:
        monkeypatch.setattr(sys, "stdout", full)
        code, _, err = dify_host("chat", "hello", "--json")
    assert (code, err) == (1, "dify-host: error: [Errno 28] No space left on device\n")


@pytest.mark.usefixtures("shared_state")
def test_packages_answer_as_their_sources_do(dify_host, packages):
    code, out, err = dify_host("chat", QUESTION, "--packages", packages)
    assert (code, err) == (0, "")
    assert out.splitlines()[-1].startswith("2 rounds")


def test_a_package_is_installed_once(dify_host, packages, state):
    dify_host("chat", "hello", "--packages", packages)
    before = {path: path.stat().st_mtime_ns for path in state.rglob(".venv/dify/plugin.json")}
    assert len(before) == 2
    dify_host("chat", "hello", "--packages", packages)
    after = {path: path.stat().st_mtime_ns for path in state.rglob(".venv/dify/plugin.json")}
    assert after == before


def test_an_installation_that_was_cut_short_is_done_again(dify_host, packages, state):
    dify_host("chat", "hello", "--packages", packages)
    for mark in state.rglob(".venv/dify/plugin.json"):
        mark.unlink()
        mark.parents[2].joinpath("main.py").write_text("import half_a_file")
    assert dify_host("chat", "hello", "--packages", packages)[0] == 0


@pytest.mark.usefixtures("shared_state")
def test_the_latest_of_several_versions_is_taken(dify_host, packages, tmp_path):
    folder = tmp_path / "dist"
    shutil.copytree(packages, folder)
    with (
        zipfile.ZipFile(folder / "echo_model.difypkg") as given,
        zipfile.ZipFile(folder / "a_first.difypkg", "w") as newer,
    ):
        for name in given.namelist():
            content = given.read(name).replace(b"version: 0.0.1\n", b"version: 0.0.10\n")
            newer.writestr(name, content.replace(b'"results: "', b'"newer: "'))
    _, out, _ = dify_host("chat", QUESTION, "--packages", folder)
    assert "\nnewer: TIME" in re.sub(r"\w+, [-\d]+ [:\d]+ JST \(UTC\+0900\)", "TIME", out)


def respoil(package, target, path, content):
    """Copy a package with one file of another content, or one more."""
    with zipfile.ZipFile(package) as given, zipfile.ZipFile(target, "w") as spoilt:
        files = {name: given.read(name) for name in given.namelist()}
        for name, kept in {**files, path: content}.items():
            spoilt.writestr(name, kept)


@pytest.mark.usefixtures("state")
@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("../evil.py", "'../evil.py': expected a relative path"),
        (
            "wheels/tiny_top-0.1.0+bundle-py3-none-any.whl",
            "`uv sync --no-dev --frozen` failed: error: Failed to",
        ),
    ],
)
def test_a_package_that_cannot_be_installed_is_explained(
    dify_host, packages, tmp_path, path, problem
):
    folder = tmp_path / "dist"
    folder.mkdir()
    respoil(packages / "echo_model.difypkg", folder / "p.difypkg", path, b"")
    code, _, err = dify_host("chat", "hello", "--packages", folder)
    assert code
    assert problem in err


def test_packages_that_are_none_are_named(dify_host, tmp_path):
    assert (
        "no such folder; expected one that holds packages"
        in dify_host("chat", "hello", "--packages", tmp_path / "none")[2]
    )
    assert "expected a model plugin in it" in dify_host("chat", "hello", "--packages", tmp_path)[2]
    with zipfile.ZipFile(tmp_path / "p.difypkg", "w") as archive:
        archive.writestr("main.py", "")
    code, _, err = dify_host("chat", "hello", "--packages", tmp_path)
    assert code == 2
    assert "p.difypkg: expected a file 'manifest.yaml'" in err


def test_sources_and_packages_at_once_are_refused(dify_host):
    code, _, err = dify_host("chat", "hello", "--packages", "dist", "--plugins", "plugins")
    assert code == 2
    assert "expected either this or --plugins, not both" in err
