"""The thirty shapes of messages in whole agent runs: both plugins as processes, Dify's part between them, the simulator behind them.

With `--official` also our strategies with the official OpenAI plugin, and the official strategy with our model.
"""

import base64
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import pytest

from conftest import MODEL_PLUGIN, STRATEGY_PLUGIN
from dify_plugin_host import AgentRequest, LocalFile, PluginHost, PluginInvokeError, PythonTool
from dify_plugin_host.installation import installed
from gpt5_simulator import FunctionCall, ResponsesSimulator, ScriptedModel, Text
from message_shapes import NOT_HEARD, SHAPES, MessageShape, differences


LOOK = FunctionCall(name="look", arguments={})
STRATEGIES = ["gpt5_function_calling", "gpt5_react"]
TURNS = [[LOOK], [LOOK], [Text(text="Done.")]]


@dataclass(frozen=True, kw_only=True)
class Given:
    """A shape as an agent node gives it to a strategy, and what is to arrive.

    Attributes:
        shape: The shape, with what is to arrive of it each time that it is there.
        way: How it gets in.
        times: How often it is there, by request.
        request: What differs in the run that is asked for.
        results: What the tool puts out in each call.
    """

    shape: MessageShape
    way: str
    times: tuple[int, int, int]
    request: dict[str, Any]
    results: list[dict[str, Any]]

    @property
    def name(self):
        return f"{self.shape.name}, {self.way}"

    def differences(self, inputs):
        """Return what did not arrive as it should have, request by request."""
        found = [] if len(inputs) == len(TURNS) else [f"{len(inputs)} requests"]
        for number, (times, items) in enumerate(zip(self.times, inputs, strict=False), 1):
            told = self.shape.told if times else []
            due = replace(self.shape, media=self.shape.media * times, told=told)
            found += [f"request {number}: {what}" for what in differences(due, items)]
        for number, (before, after) in enumerate(pairwise(inputs), 2):
            if after[: len(before)] != before:
                found.append(f"request {number}: does not begin with the one before")
        return found


# The end is the model plugin's or the strategy's to say.
NOT_READ = '[audio "talk.mp3" omitted: '
LINKED = "please tell user to check it."
QUIET = [{"type": "text", "message": {"text": "Looked."}}]


def told_as(sentence, shape):
    """Return the shape with another sentence in the place of sound."""
    return replace(shape, told=[sentence if each == NOT_HEARD else each for each in shape.told])


def in_history(shape):
    """Give all messages but the last question as the node's memory does."""
    *history, last = shape.messages
    asks = last["role"] == "user"
    request = {
        "history": history if asks else shape.messages,
        "query": last["content"] if asks else "And now?",
    }
    shape = told_as(NOT_READ, shape)
    return Given(shape=shape, way="history", times=(1, 1, 1), request=request, results=QUIET)


def in_query(shape):
    """Give a message as a query and its files; what Dify hands over so has no detail."""
    texts = [part["data"] for part in shape.parts if part["type"] == "text"]
    files = [
        LocalFile(
            name=part["filename"],
            content=base64.b64decode(part["base64_data"]),
            mime_type=part["mime_type"],
        )
        for part in shape.parts
        if part["type"] != "text"
    ]
    request = {"query": " ".join(texts) or "What?", "files": files}
    shape = told_as(NOT_READ, in_detail(shape))
    return Given(shape=shape, way="query", times=(1, 1, 1), request=request, results=QUIET)


def in_result(shape):
    """Give a message as what a tool puts out, of whose files Dify makes links."""
    results = [
        {"type": "text", "message": {"text": part["data"]}}
        if part["type"] == "text"
        else {
            "type": "blob",
            "message": {"blob": part["base64_data"]},
            "meta": {"mime_type": part["mime_type"], "filename": part["filename"]},
        }
        for part in shape.parts
    ]
    shape, request = told_as(LINKED, in_detail(shape)), {"query": "Look."}
    return Given(shape=shape, way="result", times=(0, 1, 2), request=request, results=results)


def in_detail(shape):
    """Return the shape with all images in high detail, as our strategies send what came without any."""
    media = [part | ({"detail": "high"} if "detail" in part else {}) for part in shape.media]
    return replace(shape, media=media)


# A file of a query or out of a tool is always behind a link that is fetched: there are no two shapes of it.
HAS_BYTES = [shape for shape in SHAPES if "by link" not in shape.name]
GIVEN = [
    *(in_query(shape) for shape in HAS_BYTES if shape.place == "user"),
    *(in_history(shape) for shape in SHAPES if shape.place != "user"),
    *(in_result(shape) for shape in HAS_BYTES if shape.place == "tool"),
]


class LookTool(PythonTool):
    """A tool that puts out several messages, as those of plugins do; which ones is `function`'s to say."""

    async def invoke(self, arguments, *, find_file=None):  # noqa: ARG002 - what each call says is set
        return self.function()


class Agents:
    """A host with a strategy's and a model's plugin, the simulator behind it."""

    def __init__(self, runner, strategy_plugin, model_plugin):
        self._runner = runner
        self._turns = ScriptedModel([])
        self._results = []
        self._server = ResponsesSimulator(model=self)
        self._plugins = (strategy_plugin, model_plugin)

    def respond(self, request):
        """Answer as the script of the current run says."""
        return self._turns.respond(request)

    @contextmanager
    def running(self):
        tool = LookTool(
            name="look", description="Look.", parameters=(), function=lambda: self._results
        )
        with self._server:
            host = PluginHost(
                *self._plugins,
                credentials={
                    "openai_api_key": "key",
                    "openai_api_base": self._server.base_url,
                },
                tools=[tool],
            )
            self._runner.run(host.start())
            try:
                self._host = host
                yield self
            finally:
                self._runner.run(host.stop())

    def run(self, case, strategy):
        """Return the inputs of all requests, and the answer or what is said instead."""
        self._turns, self._results = ScriptedModel(TURNS), case.results
        before = len(self._server.requests)
        request = AgentRequest(strategy=strategy, model="gpt-5.2", **case.request)
        answer = self._runner.run(self._collect(request))
        return [each.body["input"] for each in self._server.requests[before:]], answer

    async def _collect(self, request):
        said = ""
        try:
            async for message in self._host.run(request):
                said += message["message"]["text"] if message["type"] == "text" else ""
        except PluginInvokeError as error:
            said += str(error)
        return said


@pytest.fixture(scope="module")
def agents(runner):
    with Agents(runner, STRATEGY_PLUGIN, MODEL_PLUGIN).running() as agents:
        yield agents


def test_which_shapes_an_agent_node_has_a_form_for():
    assert len(GIVEN) == 32
    covered = {case.shape.name for case in GIVEN}
    assert {shape.name for shape in SHAPES} - covered == {
        "image by link, user",
        "document by link, user",
    }


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("case", GIVEN, ids=lambda case: case.name)
def test_every_part_arrives_in_each_round_of_a_run(case, agents, strategy):
    inputs, answer = agents.run(case, strategy)
    assert case.differences(inputs) == []
    assert answer.endswith("Done.")


def run_all(agents, strategy):
    """Return of each case the inputs and the answer, or what is told instead: each run ends with one of the two."""
    runs = [(case, *agents.run(case, strategy)) for case in GIVEN]
    assert all(answer.strip() for _, _, answer in runs)
    return runs


def differing(runs):
    return {case.name for case, inputs, _ in runs if case.differences(inputs)}


def refused(runs):
    """Return what is told by the names of the cases without an answer."""
    return {case.name: answer for case, _, answer in runs if not answer.strip().endswith("Done.")}


def names(chosen):
    return {case.name for case in GIVEN if chosen(case)}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_our_strategies_with_the_official_openai_plugin(strategy, runner, package_official):
    """It does not declare that its models read documents, which are told of then."""
    model_plugin = installed(package_official("models/openai"))
    with Agents(runner, STRATEGY_PLUGIN, model_plugin).running() as agents:
        runs = run_all(agents, strategy)

    def has(case, *kinds):
        return case.shape.name.startswith(kinds)

    documents = names(lambda case: has(case, "document", "mixture"))
    assert differing(runs) == documents
    assert refused(runs) == {}
    for case, inputs, _ in runs:
        if case.name in documents:
            told = "result link: " if case.way == "result" else " omitted: this model"
            assert told in str(inputs[-1])


def test_the_official_strategy_with_our_model(runner, package_official):
    """It shows images in low detail and no other files, what came before its own rounds in the first of them only, and nothing out of tools."""
    plugin = installed(package_official("agent-strategies/cot_agent"))
    with Agents(runner, plugin, MODEL_PLUGIN).running() as agents:
        runs = run_all(agents, "function_calling")

    assert differing(runs) == names(
        lambda case: case.way != "history" or case.shape.place == "history"
    )
    assert refused(runs) == {}
