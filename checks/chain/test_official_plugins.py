"""The same with plugins that others have written: `nox -s chain -- --official CHECKOUT`."""

import json
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path

import pytest

from gpt5_simulator import FunctionCall, Reasoning, Text
from runs import KEY, ask, model_of, our_model, prepare, results, run, simulate


pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
OUR_STRATEGIES = ("gpt5-agent/gpt5_agent_strategies", "gpt5_agent_strategies")
STRATEGIES = ["gpt5_function_calling", "gpt5_react"]
DIGITS = {"content": "a1b22", "expression": "[0-9]+"}
ROUNDS = [
    [
        Reasoning(summary=("Two at once.",)),
        FunctionCall(name="eval_expression", arguments={"expression": "17 * 23"}),
        FunctionCall(name="regex_extract", arguments=DIGITS),
    ],
    [
        Reasoning(summary=("Two more.",)),
        FunctionCall(
            name="parse", arguments={"content": '{"a": {"b": 391}}', "json_filter": "$.a.b"}
        ),
        FunctionCall(name="qrcode_generator", arguments={"content": "391"}),
    ],
    [Text(text="It is 391.")],
]


@pytest.mark.parametrize(
    "name", ["tools/json_process", "agent-strategies/cot_agent", "models/openai"]
)
def test_what_the_page_about_testing_shows_passes(package_official, name):
    test = ROOT / f"docs/dify-plugin-host/testing-examples/test_{Path(name).name}.py"
    given = f"--dify-plugin={package_official(name)}"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", given, test]
    run = subprocess.run(command, capture_output=True, check=False, text=True)
    assert run.returncode == 0, run.stdout


def openai_model(simulator):
    return model_of(
        "langgenius/openai",
        "openai",
        "gpt-5.2",
        openai_api_key=KEY,
        openai_api_base=simulator.base_url,
    )


def assert_reasoning_is_kept(requests, *, rounds):
    """Each request begins with the one before, and holds the reasoning of all rounds before it."""
    inputs = [request.body["input"] for request in requests]
    kept = [[item for item in items if item.get("type") == "reasoning"] for items in inputs]
    assert [len(items) for items in kept] == list(range(rounds))
    assert all(item["encrypted_content"] for item in kept[-1])
    for before, after in pairwise(inputs):
        assert after[: len(before)] == before


@pytest.mark.parametrize("choose_model", [our_model, openai_model])
async def test_four_official_tool_plugins_finish_a_run_of_several_rounds(
    official_daemon, official_tools, http_client, choose_model
):
    names = ["eval_expression", "regex_extract", "parse", "qrcode_generator"]
    tools = [
        prepare(provider["plugin_id"], provider["provider"], tool)
        for provider, tool in (official_tools[name] for name in names)
    ]
    with simulate(*ROUNDS) as simulator:
        request = ask(choose_model(simulator), *tools)
        events = await run(official_daemon, http_client, request)

    assert events[-1].type == "run_succeeded", events[-1]
    assert events[-1].output == "It is 391."
    told = results(events)
    assert "391" in told["eval_expression"]
    assert "22" in told["regex_extract"]
    assert "391" in told["parse"]
    assert "tool invoke error" not in told["qrcode_generator"]
    assert_reasoning_is_kept(simulator.requests, rounds=len(ROUNDS))


def offer(tools):
    """Return the calculator as Dify's agent node offers it to a strategy."""
    _, tool = tools["eval_expression"]
    return {
        **tool,
        "identity": {**tool["identity"], "provider": "langgenius/maths/maths"},
        "provider_type": "builtin",
        "runtime_parameters": {},
    }


async def run_strategy(
    daemon, http_client, strategy, *, tool, model, credentials, plugin=OUR_STRATEGIES
):
    """Dispatch a strategy to the daemon, which answers its calls back; return the frames."""
    parameters = {
        "model": {**model, "model_type": "llm", "mode": "chat", "completion_params": {}},
        "tools": [tool],
        "query": "What is 17 * 23?",
        "instruction": "Calculate.",
        "maximum_iterations": 5,
    }
    body = {
        "user_id": "user",
        "context": {"credentials": {"provider_credentials": {model["provider"]: credentials}}},
        "data": {
            "agent_strategy_provider": plugin[1],
            "agent_strategy": strategy,
            "agent_strategy_params": parameters,
        },
    }
    answer = await http_client.post(
        f"{daemon['base_url']}/plugin/tenant/dispatch/agent_strategy/invoke",
        content=json.dumps(body),
        headers={
            "content-type": "application/json",
            "x-api-key": daemon["api_key"],
            "x-plugin-id": plugin[0],
        },
    )
    lines = [line for line in answer.text.splitlines() if line.startswith("data: ")]
    return [json.loads(line.removeprefix("data: ")) for line in lines]


def said(frames):
    assert all(frame["code"] == 0 for frame in frames), frames[-1]
    messages = [frame["data"] for frame in frames]
    return "".join(each["message"]["text"] for each in messages if each["type"] == "text")


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_our_strategies_keep_the_official_openai_plugin_going(
    official_daemon, official_tools, http_client, strategy
):
    """Its default protocol sends content in parts as `input_text`, which the server refuses in an answer."""
    sums = [
        [
            Reasoning(summary=("Sum.",)),
            Text(text="Let me see."),
            FunctionCall(name="eval_expression", arguments={"expression": expression}),
        ]
        for expression in ("17 * 23", "391 + 1")
    ]
    with simulate(*sums, [Text(text="391, then 392.")]) as simulator:
        frames = await run_strategy(
            official_daemon,
            http_client,
            strategy,
            tool=offer(official_tools),
            model={"provider": "langgenius/openai/openai", "model": "gpt-5.2"},
            credentials={"openai_api_key": KEY, "openai_api_base": simulator.base_url},
        )
    assert said(frames).endswith("391, then 392.")
    outputs = [
        item["output"]
        for item in simulator.requests[-1].body["input"]
        if item.get("type") == "function_call_output"
    ]
    assert ["391" in outputs[0], "392" in outputs[1]] == [True, True]


ACTION = '{"action": "eval_expression", "action_input": {"expression": "17 * 23"}}'
OFFICIAL_ROUNDS = {
    "function_calling": [
        [
            Reasoning(summary=("Sum.",)),
            FunctionCall(name="eval_expression", arguments={"expression": "17 * 23"}),
        ],
        [Text(text="It is 391.")],
    ],
    "ReAct": [
        [Text(text=f"Thought: a sum.\nAction:\n```json\n{ACTION}\n```\nObservation: 5")],
        [Text(text='Action: {"action": "Final Answer", "action_input": "It is 391."}')],
    ],
}


@pytest.mark.parametrize("strategy", OFFICIAL_ROUNDS)
async def test_official_strategies_call_tools_with_our_model(
    official_daemon, official_tools, http_client, strategy
):
    with simulate(*OFFICIAL_ROUNDS[strategy]) as simulator:
        model = our_model(simulator)
        frames = await run_strategy(
            official_daemon,
            http_client,
            strategy,
            tool=offer(official_tools),
            model={
                "provider": f"{model.plugin_id}/{model.model_provider}",
                "model": model.model,
            },
            credentials=model.credentials,
            plugin=("langgenius/agent", "agent"),
        )
    assert said(frames).strip().endswith("It is 391.")
    first, second = (request.body["input"] for request in simulator.requests)
    # ReAct keeps its question where it tells what was observed: the whole conversation is one prompt.
    assert "391" not in json.dumps(first)
    assert "391" in json.dumps(second[1:])
    kept = [item for item in second if item.get("type") == "reasoning"]
    assert len(kept) == (strategy == "function_calling")


THOUGHT = 'If a < b & "c" then:\n\n\tmultiply '


class ChatServer(BaseHTTPRequestHandler):
    """A server of Chat Completions that thinks, calls a tool, and then answers."""

    requests: list

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.requests.append(request)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        call = {
            "index": 0,
            "id": "call_1",
            "type": "function",
            "function": {"name": "eval_expression", "arguments": '{"expression": "17 * 23"}'},
        }
        first = [{"reasoning_content": piece} for piece in (THOUGHT[:7], THOUGHT[7:])]
        first += [{"content": "Let me see."}, {"tool_calls": [call]}]
        has_result = any(message["role"] == "tool" for message in request["messages"])
        for delta in [{"content": "It is 391."}] if has_result else first:
            self.send_chunk({"index": 0, "delta": delta, "finish_reason": None})
        reason = "stop" if has_result else "tool_calls"
        self.send_chunk({"index": 0, "delta": {}, "finish_reason": reason})
        self.wfile.write(b"data: [DONE]\n\n")

    def send_chunk(self, choice):
        # With usage, for else these plugins count tokens by a vocabulary that they fetch from the network.
        usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
        chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        chunk |= {"choices": [choice], "usage": usage}
        self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())

    def log_message(self, *_):
        """Say nothing."""


@contextmanager
def chat_server():
    handler = type("Handler", (ChatServer,), {"requests": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", handler.requests
        finally:
            server.shutdown()


THINKERS = {"deepseek": "deepseek-v4-pro", "moonshot": "kimi-k2-thinking"}


@pytest.mark.parametrize("provider", THINKERS)
@pytest.mark.parametrize("way", [*STRATEGIES, "dify-agent"])
async def test_reasoning_that_a_plugin_rebuilds_from_its_text_comes_back(
    official_daemon, official_tools, http_client, provider, way
):
    plugin_id, model = f"langgenius/{provider}", THINKERS[provider]
    with chat_server() as (url, requests):
        credentials = {"api_key": KEY, "endpoint_url": url}
        if way == "dify-agent":
            tools, tool = official_tools["eval_expression"]
            request = ask(
                model_of(plugin_id, provider, model, **credentials),
                prepare(tools["plugin_id"], tools["provider"], tool),
            )
            answer = (await run(official_daemon, http_client, request))[-1].output
        else:
            answer = said(
                await run_strategy(
                    official_daemon,
                    http_client,
                    way,
                    tool=offer(official_tools),
                    model={"provider": f"{plugin_id}/{provider}", "model": model},
                    credentials=credentials,
                )
            )
    assert answer.endswith("It is 391.")
    [_, second] = requests
    [sent_back] = [message for message in second["messages"] if message["role"] == "assistant"]
    assert sent_back["reasoning_content"].strip() == THOUGHT.strip()
    assert sent_back["content"].strip() == "Let me see."
