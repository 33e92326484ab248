import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, override

import httpx
import pytest
from pydantic_ai import ModelMessage, ModelRequest, Tool
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.models import Model
from pydantic_ai.models.function import (
    AgentInfo,
    DeltaThinkingPart,
    DeltaToolCall,
    FunctionModel,
)
from pydantic_ai.models.wrapper import WrapperModel

from dify_agent.compositor import (
    CompositorSessionSnapshot,
    EmptyRuntimeState,
    ExitIntent,
    LayerConfig,
    LayerProvider,
    NoLayerDeps,
    PlainLayer,
)
from dify_agent.layers.dify_plugin import (
    DifyPluginLayerConfig,
    DifyPluginToolConfig,
    DifyPluginToolsLayerConfig,
)
from dify_agent.protocol import (
    CreateRunRequest,
    LayerExitSignals,
    RunComposition,
    RunEvent,
    RunFailedEvent,
    RunLayerSpec,
    RunSucceededEvent,
    TextDeltaEvent,
    ToolCallEvent,
    ToolResultEvent,
)
from dify_agent.runtime.event_sink import InMemoryRunEventSink
from dify_agent.runtime.layer_providers import create_default_layer_providers
from dify_agent.runtime.runner import AgentRunRunner


SECRET = "sk-very-secret-0123456789"

type Delta = str | dict[int, DeltaToolCall] | dict[int, DeltaThinkingPart]
type Turn = Callable[[list[ModelMessage], AgentInfo], AsyncIterator[Delta]]


@dataclass(slots=True, eq=False)
class GreetingLayer(PlainLayer[NoLayerDeps, LayerConfig, EmptyRuntimeState]):
    """A layer with a ready-made tool."""

    type_id: ClassVar[str] = "test.greeting"

    config: LayerConfig

    @property
    @override
    def tools(self) -> Sequence[Tool[object]]:
        return [Tool(greet)]


@dataclass(slots=True, eq=False)
class ScriptedModelLayer(PlainLayer[NoLayerDeps, LayerConfig, EmptyRuntimeState]):
    """A layer with the model that a test wrote, instead of one behind a daemon."""

    type_id: ClassVar[str] = "test.model"

    config: LayerConfig
    model: Model
    left: list[ExitIntent] = field(default_factory=list)

    def get_model(self, *, http_client: httpx.AsyncClient) -> Model:
        assert not http_client.is_closed
        return self.model

    @override
    async def on_exit(self, intent: ExitIntent) -> None:
        self.left.append(intent)


@dataclass(kw_only=True)
class ScriptedRunner:
    """A runner with a scripted model; it keeps what came of its runs."""

    sink: InMemoryRunEventSink = field(default_factory=InMemoryRunEventSink)
    left: list[ExitIntent] = field(default_factory=list)
    requests: list[httpx.Request] = field(default_factory=list)

    async def run(
        self, request: CreateRunRequest, *turns: Sequence[Delta], **settings: Any
    ) -> None:
        script = iter(turns)

        async def play(_messages: list[ModelMessage], _info: AgentInfo) -> AsyncIterator[Delta]:
            for delta in next(script):
                yield delta

        await self.run_turn(request, play, **settings)

    async def run_turn(
        self, request: CreateRunRequest, turn: Turn, *, run_id: str = "run-1", **settings: Any
    ) -> None:
        model = LayerProvider.from_factory(
            ScriptedModelLayer,
            lambda config: ScriptedModelLayer(
                config, FunctionModel(stream_function=turn), self.left
            ),
        )
        async with self.http_client() as http_client:
            runner = AgentRunRunner(
                http_client=http_client,
                event_sink=self.sink,
                layer_providers=[
                    *create_default_layer_providers(),
                    LayerProvider.from_layer_type(GreetingLayer),
                    model,
                ],
                **settings,
            )
            await runner.run(run_id, request)
            assert not http_client.is_closed

    @asynccontextmanager
    async def http_client(self) -> AsyncIterator[httpx.AsyncClient]:
        def refuse(request: httpx.Request) -> httpx.Response:
            self.requests.append(request)
            return httpx.Response(500)

        async with httpx.AsyncClient(transport=httpx.MockTransport(refuse)) as client:
            yield client

    def types(self, run_id: str = "run-1") -> list[str]:
        return [event.type for event in self.sink.events(run_id)]

    def last(self, run_id: str = "run-1") -> RunEvent:
        return self.sink.events(run_id)[-1]

    def refusal(self) -> str:
        """Return why a request was refused, which happens before anything else does."""
        assert self.types() == ["run_started", "run_failed"]
        event = self.last()
        assert isinstance(event, RunFailedEvent)
        assert event.error_type == "AgentRunValidationError"
        return event.error


def layers(*specs: RunLayerSpec, user: str = "Hello") -> CreateRunRequest:
    """Ask for a run of a scripted model with these layers besides."""
    return CreateRunRequest(
        composition=RunComposition(
            layers=[
                RunLayerSpec(
                    name="prompt", type="plain.prompt", config={"prefix": "Be kind.", "user": user}
                ),
                *specs,
                RunLayerSpec(name="llm", type="test.model"),
            ]
        )
    )


def plugin_tool(tool_name: str = "web_search", **settings: object) -> DifyPluginToolConfig:
    return DifyPluginToolConfig.model_validate(
        {
            "plugin_id": "langgenius/search",
            "provider": "search",
            "tool_name": tool_name,
            "credential_type": "api-key",
            "credentials": {"api_key": SECRET},
        }
        | settings
    )


PLUGIN = RunLayerSpec(
    name="plugin", type="dify.plugin", config=DifyPluginLayerConfig(tenant_id="tenant-1")
)


def tools_layer(name: str, *tools: DifyPluginToolConfig) -> RunLayerSpec:
    return RunLayerSpec(
        name=name,
        type="dify.plugin.tools",
        deps={"plugin": "plugin"},
        config=DifyPluginToolsLayerConfig(tools=list(tools)),
    )


def greet(name: str) -> str:
    """Greet somebody."""
    return f"Hello, {name}!"


def calls(tool: str, arguments: str, *, call_id: str = "call-1") -> list[Delta]:
    return [{0: DeltaToolCall(name=tool, json_args=arguments, tool_call_id=call_id)}]


async def test_a_run_tells_what_the_agent_does_as_it_happens():
    scripted = ScriptedRunner()
    await scripted.run(
        layers(),
        [{0: DeltaThinkingPart(content="Who is it?")}, *calls_after_thinking()],
        ["Done", ".", ""],
        tools=[Tool(greet)],
    )
    told = [
        event.model_dump(
            mode="json",
            exclude={"run_id", "created_at", "session_snapshot"},
            exclude_none=True,
        )
        for event in scripted.sink.events("run-1")
    ]
    assert told == [
        {"sequence": 1, "type": "run_started"},
        {"sequence": 2, "type": "thinking_delta", "text": "Who is it?"},
        {
            "sequence": 3,
            "type": "tool_call",
            "tool_call_id": "call-1",
            "tool_name": "greet",
            "arguments": {"name": "Ann"},
        },
        {
            "sequence": 4,
            "type": "tool_result",
            "tool_call_id": "call-1",
            "tool_name": "greet",
            "outcome": "success",
            "content": "Hello, Ann!",
        },
        {"sequence": 5, "type": "text_delta", "text": "Done"},
        {"sequence": 6, "type": "text_delta", "text": "."},
        {"sequence": 7, "type": "run_succeeded", "output": "Done."},
    ]


def calls_after_thinking() -> list[Delta]:
    return [{1: DeltaToolCall(name="greet", json_args='{"name": "Ann"}', tool_call_id="call-1")}]


async def test_an_event_is_out_before_the_model_goes_on():
    scripted = ScriptedRunner()
    heard: list[list[str]] = []

    async def turn(_messages: list[ModelMessage], _info: AgentInfo) -> AsyncIterator[Delta]:
        yield "One"
        yield " two"
        heard.append(scripted.types())

    await scripted.run_turn(layers(), turn)
    assert heard[0][:2] == ["run_started", "text_delta"]


async def test_arguments_that_are_no_json_object_are_told_as_text():
    scripted = ScriptedRunner()
    await scripted.run(layers(), calls("greet", '["Ann"'), ["Sorry"], tools=[Tool(greet)])
    call = next(
        event for event in scripted.sink.events("run-1") if isinstance(event, ToolCallEvent)
    )
    result = next(
        event for event in scripted.sink.events("run-1") if isinstance(event, ToolResultEvent)
    )
    assert call.arguments == '["Ann"'
    assert result.outcome == "retried"


async def test_the_model_gets_the_layers_prompts():
    scripted = ScriptedRunner()
    seen: list[ModelMessage] = []

    async def turn(messages: list[ModelMessage], _info: AgentInfo) -> AsyncIterator[Delta]:
        seen.extend(messages)
        yield "Hello"

    rules = {"prefix": ["Rules:"], "user": ["How are you?"], "suffix": "Answer briefly."}
    await scripted.run_turn(
        layers(RunLayerSpec(name="rules", type="plain.prompt", config=rules)), turn
    )
    [request] = seen
    assert isinstance(request, ModelRequest)
    assert request.instructions == "Be kind.\n\nRules:\n\nAnswer briefly."
    assert [part.content for part in request.parts if part.part_kind == "user-prompt"] == [
        ["Hello", "How are you?"]
    ]


async def test_a_conversation_goes_on_from_the_snapshot():
    scripted = ScriptedRunner()
    history = RunLayerSpec(name="history", type="pydantic_ai.history")
    await scripted.run(layers(history), ["I am fine."])
    first = scripted.last()
    assert isinstance(first, RunSucceededEvent)
    seen: list[str] = []

    async def turn(messages: list[ModelMessage], _info: AgentInfo) -> AsyncIterator[Delta]:
        seen.extend(str(part.content) for message in messages for part in message.parts)
        yield "Still fine."

    request = layers(history, user="And now?")
    request = request.model_copy(update={"session_snapshot": first.session_snapshot})
    wire = CreateRunRequest.model_validate_json(request.model_dump_json())
    await scripted.run_turn(wire, turn, run_id="run-2")
    assert seen == ["Hello", "I am fine.", "And now?"]
    second = scripted.last("run-2")
    assert isinstance(second, RunSucceededEvent)
    kept = second.session_snapshot.layers[1].runtime_state["messages"]
    assert isinstance(kept, list)
    assert len(kept) == 4


async def test_a_conversation_goes_on_from_a_run_that_failed():
    scripted = ScriptedRunner()
    history = RunLayerSpec(name="history", type="pydantic_ai.history")

    def boom() -> str:
        """Fail."""
        raise RuntimeError("broken")

    await scripted.run(layers(history), calls("boom", "{}"), tools=[Tool(boom)])
    failed = scripted.last()
    assert isinstance(failed, RunFailedEvent)
    seen: list[str] = []

    async def turn(messages: list[ModelMessage], _info: AgentInfo) -> AsyncIterator[Delta]:
        seen.extend(
            str(getattr(part, "content", part.part_kind))
            for message in messages
            for part in message.parts
        )
        yield "Fine."

    request = layers(history, user="And now?").model_copy(
        update={"session_snapshot": failed.session_snapshot}
    )
    await scripted.run_turn(request, turn, run_id="run-2")
    assert seen == [
        "Hello",
        "tool-call",
        "The call was interrupted; it has no result.",
        "And now?",
    ]


async def test_a_run_that_cannot_begin_leaves_the_conversation_as_it_was():
    scripted = ScriptedRunner()
    history = RunLayerSpec(name="history", type="pydantic_ai.history")
    await scripted.run(layers(history), ["I am fine."])
    first = scripted.last()
    assert isinstance(first, RunSucceededEvent)
    request = layers(history).model_copy(update={"session_snapshot": first.session_snapshot})
    await scripted.run(request, ["Again."], run_id="run-1")  # which has run before
    failed = scripted.last()
    assert isinstance(failed, RunFailedEvent)
    assert failed.session_snapshot == first.session_snapshot


async def test_a_run_that_failed_before_its_layers_were_entered_leaves_no_snapshot():
    scripted = ScriptedRunner()
    await scripted.run(layers(RunLayerSpec(name="x", type="test.unknown")))
    failed = scripted.last()
    assert isinstance(failed, RunFailedEvent)
    assert failed.session_snapshot is None


async def test_a_run_that_takes_too_long_fails_and_keeps_what_was_said(monkeypatch):
    loop = asyncio.get_running_loop()
    read = loop.time
    scripted = ScriptedRunner()
    history = RunLayerSpec(name="history", type="pydantic_ai.history")

    async def turn(_messages: list[ModelMessage], _info: AgentInfo) -> AsyncIterator[Delta]:
        monkeypatch.setattr(loop, "time", lambda: read() + 600)
        await asyncio.sleep(600)
        yield "Late."

    await scripted.run_turn(layers(history), turn, max_seconds=600)
    failed = scripted.last()
    assert isinstance(failed, RunFailedEvent)
    assert (failed.error_type, failed.error) == (
        "run_time_limit",
        "The run has taken longer than the 600 seconds that it may.",
    )
    assert failed.session_snapshot is not None
    said = failed.session_snapshot.layers[1].runtime_state["messages"]
    assert isinstance(said, list)
    assert "Hello" in str(said[0])


async def test_what_layers_do_after_the_answer_takes_no_time_of_the_run_s(monkeypatch):
    loop = asyncio.get_running_loop()

    async def note(*_: object) -> None:
        now = loop.time()
        monkeypatch.setattr(loop, "time", lambda: now + 3600)
        for _ in range(3):
            await asyncio.sleep(0)

    monkeypatch.setattr(GreetingLayer, "on_end", note)
    scripted = ScriptedRunner()
    greeting = RunLayerSpec(name="greeting", type="test.greeting")
    await scripted.run(layers(greeting), ["Hi"], max_seconds=600)
    ended = scripted.last()
    assert isinstance(ended, RunSucceededEvent)
    assert ended.output == "Hi"


async def test_a_timeout_of_a_tool_s_own_is_not_the_run_s():
    scripted = ScriptedRunner()

    def slow() -> str:
        """Be slow."""
        raise TimeoutError("the tool's")

    await scripted.run(layers(), calls("slow", "{}"), tools=[Tool(slow)], max_seconds=60)
    failed = scripted.last()
    assert isinstance(failed, RunFailedEvent)
    assert (failed.error_type, failed.error) == ("TimeoutError", "the tool's")


async def test_a_run_without_a_model_only_leaves_its_layers_as_the_request_says():
    scripted = ScriptedRunner()
    prompt = RunLayerSpec(name="prompt", type="plain.prompt")
    composition = RunComposition(layers=[prompt])
    snapshot = CompositorSessionSnapshot.model_validate(
        {"layers": [{"name": "prompt", "type_id": "plain.prompt", "lifecycle_state": "suspended"}]}
    )
    request = CreateRunRequest(
        composition=composition,
        session_snapshot=snapshot,
        on_exit=LayerExitSignals(default="delete"),
    )
    await scripted.run(request)
    event = scripted.last()
    assert isinstance(event, RunSucceededEvent)
    assert event.output is None
    assert [layer.lifecycle_state for layer in event.session_snapshot.layers] == ["closed"]


async def test_an_answer_is_held_to_the_shape_that_the_output_layer_asks_for():
    scripted = ScriptedRunner()
    output = RunLayerSpec(
        name="output",
        type="dify.output",
        config={
            "json_schema": {
                "type": "object",
                "properties": {"age": {"type": "integer"}},
                "required": ["age"],
            },
            "name": "person",
        },
    )
    await scripted.run(
        layers(output), calls("final_output", "{}"), calls("final_output", '{"age": 3}')
    )
    event = scripted.last()
    assert isinstance(event, RunSucceededEvent)
    assert event.output == {"age": 3}


async def test_what_becomes_of_the_states_is_as_the_request_says():
    scripted = ScriptedRunner()
    request = layers().model_copy(
        update={"on_exit": LayerExitSignals(default="delete", layers={"prompt": "suspend"})}
    )
    await scripted.run(request, ["Hello"])
    event = scripted.last()
    assert isinstance(event, RunSucceededEvent)
    assert [(layer.name, layer.lifecycle_state) for layer in event.session_snapshot.layers] == [
        ("prompt", "suspended"),
        ("llm", "closed"),
    ]
    assert scripted.left == ["delete"]


@pytest.mark.parametrize("user", ["", " \n"])
async def test_a_blank_prompt_is_refused(user):
    scripted = ScriptedRunner()
    await scripted.run(layers(user=user))
    assert scripted.refusal() == "Agent run requires a user prompt that is not blank."


async def test_a_layer_type_that_nobody_provides_is_refused():
    scripted = ScriptedRunner()
    await scripted.run(layers(RunLayerSpec(name="x", type="ask.human")))
    assert scripted.refusal() == "Layer type id 'ask.human' is not registered."


async def test_a_run_without_a_model_is_refused():
    scripted = ScriptedRunner()
    prompt = RunLayerSpec(name="prompt", type="plain.prompt", config={"user": "Hello"})
    await scripted.run(CreateRunRequest(composition=RunComposition(layers=[prompt])))
    assert scripted.refusal() == "Agent run requires a layer named 'llm'."


async def test_the_layer_named_llm_must_have_a_model():
    scripted = ScriptedRunner()
    prompt = RunLayerSpec(name="llm", type="plain.prompt", config={"user": "Hello"})
    await scripted.run(CreateRunRequest(composition=RunComposition(layers=[prompt])))
    assert scripted.refusal() == "Layer 'llm' must have a model, got PromptLayer."


GREETING = RunLayerSpec(name="greeting", type="test.greeting")


async def test_tools_come_from_the_server_the_layers_and_the_plugins():
    scripted = ScriptedRunner()
    seen: list[str] = []

    async def turn(_messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Delta]:
        seen.extend(tool.name for tool in info.function_tools)
        yield "Hello"

    plugin_tools = tools_layer("tools", plugin_tool("b"), plugin_tool("a"))
    await scripted.run_turn(
        layers(PLUGIN, plugin_tools, GREETING), turn, tools=[Tool(greet, name="zero")]
    )
    assert seen == ["zero", "greet", "b", "a"]


@pytest.mark.parametrize(
    "tools",
    [
        [GREETING],
        [PLUGIN, tools_layer("one", plugin_tool("greet"), plugin_tool("other"))],
        [PLUGIN, tools_layer("one", plugin_tool("x"), plugin_tool("y", name="x"))],
        [PLUGIN, tools_layer("one", plugin_tool("x")), tools_layer("two", plugin_tool("x"))],
    ],
    ids=["server and layer", "server and plugin", "one layer", "two layers"],
)
async def test_tools_of_one_name_are_refused_before_an_agent_is_built(tools):
    scripted = ScriptedRunner()
    built: list[Model] = []

    def wrap(model: Model, _handler: object) -> Model:
        built.append(model)
        return model

    await scripted.run(layers(*tools), tools=[Tool(greet)], wrap_model=wrap)
    name = scripted.refusal().removeprefix(
        "Agent run requires unique tool names across all layers, got duplicates: "
    )
    assert name in {"greet.", "x."}
    assert (built, scripted.requests) == ([], [])


async def test_all_names_that_are_used_twice_are_listed():
    scripted = ScriptedRunner()
    twice = [plugin_tool(name) for name in "zaza"]
    await scripted.run(layers(PLUGIN, tools_layer("one", *twice)))
    assert scripted.refusal() == (
        "Agent run requires unique tool names across all layers, got duplicates: a, z."
    )


async def test_a_tool_named_as_the_answer_is_refused():
    scripted = ScriptedRunner()
    output = RunLayerSpec(
        name="output", type="dify.output", config={"json_schema": {"type": "object"}}
    )
    await scripted.run(layers(output), tools=[Tool(greet, name="final_output")])
    assert scripted.refusal() == (
        "Agent run requires unique tool names across all layers, got duplicates: final_output."
    )


async def test_a_missing_hidden_value_of_a_tool_is_the_requests_fault():
    scripted = ScriptedRunner()
    hidden = [{"name": "site", "type": "string", "form": "form", "required": True}]
    await scripted.run(layers(PLUGIN, tools_layer("tools", plugin_tool(parameters=hidden))))
    assert scripted.refusal() == (
        "Tool 'web_search' requires non-LLM runtime_parameters for: site."
    )


async def test_an_invalid_configuration_is_refused_without_quoting_it():
    scripted = ScriptedRunner()
    await scripted.run(layers(RunLayerSpec(name="p", type="dify.plugin", config={"token": SECRET})))
    assert scripted.refusal() == (
        "Layer type 'dify.plugin' got an invalid config: tenant_id: Field required"
    )


async def test_a_snapshot_of_another_composition_is_refused():
    scripted = ScriptedRunner()
    await scripted.run(layers(), ["Hello"])
    done = scripted.last()
    assert isinstance(done, RunSucceededEvent)
    request = layers(RunLayerSpec(name="more", type="plain.prompt"))
    other = ScriptedRunner()
    await other.run(request.model_copy(update={"session_snapshot": done.session_snapshot}))
    assert "session snapshot must hold the layers" in other.refusal()


async def test_exit_signals_for_unknown_layers_are_refused():
    scripted = ScriptedRunner()
    signals = LayerExitSignals(layers={"nobody": "delete"})
    await scripted.run(layers().model_copy(update={"on_exit": signals}))
    assert scripted.refusal() == "on_exit: no layer is named 'nobody'"


@pytest.mark.parametrize("kind", ["pydantic_ai.history", "dify.output"])
async def test_two_layers_of_a_kind_that_a_run_has_once_are_refused(kind):
    config = {"json_schema": {"type": "object"}} if kind == "dify.output" else None
    twice = [RunLayerSpec(name=name, type=kind, config=config) for name in "ab"]
    scripted = ScriptedRunner()
    await scripted.run(layers(*twice))
    assert scripted.refusal() == f"Agent run takes one layer of type {kind!r}, got 2."


async def test_a_failing_tool_of_the_server_ends_the_run_with_its_error():
    async def explode() -> str:
        raise ZeroDivisionError

    scripted = ScriptedRunner()
    await scripted.run(layers(), calls("explode", "{}"), tools=[Tool(explode)])
    event = scripted.last()
    assert isinstance(event, RunFailedEvent)
    assert (event.error, event.error_type) == ("ZeroDivisionError", "ZeroDivisionError")
    assert scripted.left == ["suspend"]


@pytest.mark.parametrize("as_mapping", [False, True])
async def test_the_error_of_a_run_shows_no_credential(as_mapping):
    async def tell_all() -> str:
        raise LookupError(f"refused {SECRET}, pin-of-the-user and pin-of-all")

    tool = plugin_tool(
        parameters=[
            {"name": "pin", "type": "secret-input", "form": "form", "default": "pin-of-all"},
            {"name": "site", "type": "string", "form": "form"},
        ],
        runtime_parameters={"pin": "pin-of-the-user", "site": "refused"},
    )
    request = layers(PLUGIN, tools_layer("tools", tool))
    if as_mapping:
        request = CreateRunRequest.model_validate_json(request.model_dump_json())
    scripted = ScriptedRunner()
    await scripted.run(request, calls("tell_all", "{}"), tools=[Tool(tell_all)])
    event = scripted.last()
    assert isinstance(event, RunFailedEvent)
    assert event.error == "refused [redacted], [redacted] and [redacted]"


async def test_the_error_of_a_run_shows_no_header_among_the_credentials():
    async def tell_all() -> str:
        raise LookupError("refused gate-key-1")

    credentials = {"extra_headers": '{"X-Gateway": "gate-key-1", "X-Trace": "on"}'}
    request = layers(PLUGIN, tools_layer("tools", plugin_tool(credentials=credentials)))
    scripted = ScriptedRunner()
    await scripted.run(request, calls("tell_all", "{}"), tools=[Tool(tell_all)])
    assert scripted.last().error == "refused [redacted]"


async def test_no_event_of_a_tool_shows_a_value_of_a_hidden_parameter():
    async def echo(said: list[str], more: object = None) -> str:
        return f"{said} {more} of internal.example.org"

    tool = plugin_tool(runtime_parameters={"site": "internal.example.org", "unit": "metre"})
    arguments = '{"said": ["at internal.example.org", "metre"], "more": {"n": 1}}'
    scripted = ScriptedRunner()
    await scripted.run(
        layers(PLUGIN, tools_layer("tools", tool)),
        calls("echo", arguments),
        ["done"],
        tools=[Tool(echo)],
    )

    _, called, result, *_ = scripted.sink.events("run-1")
    assert isinstance(called, ToolCallEvent)
    assert isinstance(result, ToolResultEvent)
    assert called.arguments == {"said": ["at [redacted]", "metre"], "more": {"n": 1}}
    assert result.content == "['at [redacted]', 'metre'] {'n': 1} of [redacted]"


def ask_with_secrets(*specs: RunLayerSpec) -> CreateRunRequest:
    """Ask for a run with a credential, a secret parameter, and hidden values that are no secrets."""
    token = {"name": "token", "type": "secret-input", "form": "form"}
    tool = plugin_tool(
        credentials={"api_key": SECRET, "organization": "Acme Incorporated"},
        parameters=[token],
        runtime_parameters={"token": 'p"w/0rd8', "city": "New York City"},
    )
    return layers(PLUGIN, tools_layer("tools", tool), *specs)


SAID = f"It is {SECRET}, or p%22w%2F0rd8, for Acme Incorporated in New York City. sk-very"
SHOWN = "It is [redacted], or [redacted], for Acme Incorporated in New York City. sk-very"


def texts_of(scripted: "ScriptedRunner", kind: str) -> str:
    events = scripted.sink.events("run-1")
    return "".join(event.text for event in events if event.type == kind)


@pytest.mark.untraced
@pytest.mark.parametrize("size", [1, 2, 7, 1000])
async def test_no_text_of_the_model_shows_a_secret_however_it_is_cut(size):
    pieces = [SAID[start : start + size] for start in range(0, len(SAID), size)]
    thoughts: list[Delta] = [{0: DeltaThinkingPart(content=piece)} for piece in pieces]
    scripted = ScriptedRunner()
    await scripted.run(ask_with_secrets(), [*thoughts, *pieces])

    assert texts_of(scripted, "thinking_delta") == SHOWN
    assert texts_of(scripted, "text_delta") == SHOWN
    assert scripted.last().output == SHOWN


@pytest.mark.parametrize(("key", "said"), [("luna-42", "luna-42"), ("luna-421", "[redacted]")])
async def test_a_key_of_under_eight_characters_is_a_word_for_a_model_and_a_secret_in_errors(
    key, said
):
    token = {"name": "token", "type": "secret-input", "form": "form"}
    tool = plugin_tool(
        credentials={"api_key": key}, parameters=[token], runtime_parameters={"token": f"{key}!"}
    )
    request = layers(PLUGIN, tools_layer("tools", tool))
    scripted, failing = ScriptedRunner(), ScriptedRunner()
    await scripted.run(request, [{0: DeltaThinkingPart(content=f"{key}?")}, f"I am {key}."])

    async def turn(_messages: list[ModelMessage], _info: AgentInfo) -> AsyncIterator[Delta]:
        yield "One"
        raise RuntimeError(f"no key {key}")

    await failing.run_turn(request, turn)

    assert texts_of(scripted, "thinking_delta") == f"{said}?"
    assert texts_of(scripted, "text_delta") == f"I am {said}."
    assert scripted.last().output == f"I am {said}."
    assert failing.last().error == "no key [redacted]"


async def test_what_waited_is_told_before_a_call_of_a_tool():
    async def echo() -> str:
        return "ok"

    call: Delta = {1: DeltaToolCall(name="echo", json_args="{}", tool_call_id="c1")}
    scripted = ScriptedRunner()
    await scripted.run(ask_with_secrets(), ["One sk-", call], ["Two sk-very-"], tools=[Tool(echo)])

    told = [(event.type, getattr(event, "text", "")) for event in scripted.sink.events("run-1")]
    assert told[1:-1] == [
        ("text_delta", "One "),
        ("text_delta", "sk-"),
        ("tool_call", ""),
        ("tool_result", ""),
        ("text_delta", "Two "),
        ("text_delta", "sk-very-"),
    ]


async def test_what_waited_is_told_before_a_failure():
    async def turn(_messages: list[ModelMessage], _info: AgentInfo) -> AsyncIterator[Delta]:
        yield "One sk-"
        raise RuntimeError("broken")

    scripted = ScriptedRunner()
    await scripted.run_turn(ask_with_secrets(), turn)

    assert texts_of(scripted, "text_delta") == "One sk-"
    assert scripted.types()[-1] == "run_failed"


async def test_no_field_of_a_structured_output_shows_a_secret():
    schema = {"type": "object", "properties": {"keys": {"type": "array"}}}
    output = RunLayerSpec(name="output", type="dify.output", config={"json_schema": schema})
    scripted = ScriptedRunner()
    await scripted.run(
        ask_with_secrets(output), calls("final_output", f'{{"keys": ["{SECRET}", 1]}}')
    )

    assert scripted.last().output == {"keys": ["[redacted]", 1]}


@pytest.mark.parametrize("sizes", [(1_025,), (1_000, 25)])
async def test_a_run_has_at_most_1024_tools_of_plugins(sizes):
    def tools(name: str, size: int) -> RunLayerSpec:
        named = [plugin_tool(name=f"{name}_{number}") for number in range(size)]
        config = {"tools": [tool.model_dump() for tool in named]}
        deps = {"plugin": "plugin"}
        return RunLayerSpec(name=name, type="dify.plugin.tools", deps=deps, config=config)

    scripted = ScriptedRunner()
    await scripted.run(layers(PLUGIN, *(tools(f"tools_{size}", size) for size in sizes)))

    assert "at most 1024" in scripted.refusal()


async def test_a_request_that_hides_secrets_in_odd_fields_still_fails_in_order():
    odd = RunLayerSpec(
        name="x", type="dify.plugin", config={"credentials": "no", "tools": "no", "parameters": 1}
    )
    scripted = ScriptedRunner()
    await scripted.run(layers(odd))
    assert "invalid config" in scripted.refusal()


async def test_cancelling_closes_what_the_run_opened_and_goes_on():
    scripted = ScriptedRunner()
    started, closed = asyncio.Event(), asyncio.Event()

    async def turn(_messages: list[ModelMessage], _info: AgentInfo) -> AsyncIterator[Delta]:
        yield "One"
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            closed.set()

    task = asyncio.create_task(scripted.run_turn(layers(), turn))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert scripted.types() == ["run_started", "text_delta", "run_cancelled"]
    assert closed.is_set()
    assert scripted.left == ["suspend"]


async def test_a_model_can_be_wrapped_and_gets_the_handler_of_events():
    scripted = ScriptedRunner()
    handlers: list[object] = []

    def wrap(model: Model, handler: object) -> Model:
        handlers.append(handler)
        return WrapperModel(model)

    await scripted.run(layers(), ["Hello"], wrap_model=wrap)
    assert len(handlers) == 1
    assert callable(handlers[0])
    assert isinstance(scripted.last(), RunSucceededEvent)


async def test_capabilities_belong_to_every_agent():
    class Louder(AbstractCapability[object]):
        @override
        def get_instructions(self) -> str:
            return "Speak up."

    seen: list[str | None] = []

    async def turn(messages: list[ModelMessage], _info: AgentInfo) -> AsyncIterator[Delta]:
        seen.extend(message.instructions for message in messages if message.kind == "request")
        yield "HELLO"

    scripted = ScriptedRunner()
    await scripted.run_turn(layers(), turn, capabilities=[Louder()])
    assert seen == ["Be kind.\n\nSpeak up."]


async def test_runs_may_go_on_at_the_same_time():
    scripted = ScriptedRunner()
    both = asyncio.Barrier(2)

    async def turn(_messages: list[ModelMessage], _info: AgentInfo) -> AsyncIterator[Delta]:
        await both.wait()
        yield "Hello"

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(scripted.run_turn(layers(), turn, run_id="a"))
        tasks.create_task(scripted.run_turn(layers(), turn, run_id="b"))
    assert (
        scripted.types("a") == scripted.types("b") == ["run_started", "text_delta", "run_succeeded"]
    )


async def test_text_comes_piece_by_piece():
    scripted = ScriptedRunner()
    await scripted.run(layers(), ["One", " two", " three"])
    texts = [
        event.text for event in scripted.sink.events("run-1") if isinstance(event, TextDeltaEvent)
    ]
    assert texts == ["One", " two", " three"]
