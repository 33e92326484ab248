import asyncio
import contextlib
import shutil
from pathlib import Path

import pytest
from dbos import DBOS, SetWorkflowID
from pydantic_ai import Agent, ModelRequest, ModelResponse, ModelRetry, Tool, ToolReturn
from pydantic_ai.messages import BinaryContent, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.function import FunctionModel

from dify_agent.server.database import open_database
from dify_agent.server.sealing import SealedSerializer, build_seal
from dify_agent.server.sink import StreamEventSink
from dify_agent.server.steps import RunSteps


@pytest.fixture
def database(tmp_path, prepared_database):
    """Give a database whose queue DBOS knows as soon as it is launched."""
    return Path(shutil.copy(prepared_database, tmp_path))


@pytest.fixture
def run_twice(database):
    """Return a function that runs an agent as a workflow, and again as after a crash just before its end.

    It returns the outputs of both executions.
    """

    def run(function, tools=(), *, history=None):
        return asyncio.run(_run_twice(database, FunctionModel(function), tools, history))

    return run


async def _run_twice(database, model, tools, history):
    outputs = []

    @DBOS.workflow(name="run")
    async def run():
        steps = RunSteps(run_id="run", sink=StreamEventSink(), attempt=len(outputs) + 1)
        agent = Agent(
            steps.wrap_model(model, _hear_nothing),
            tools=tools,
            capabilities=[steps.build_capability()],
        )
        result = await agent.run(None if history else "Hi", message_history=history)
        outputs.append(result.output)
        if len(outputs) == 1:
            raise asyncio.CancelledError
        return outputs

    with _launched(database):
        with SetWorkflowID("run"):
            first = await DBOS.start_workflow_async(run)
        with pytest.raises(asyncio.CancelledError):
            await first.get_result(polling_interval_sec=0.01)
        again = await DBOS.resume_workflow_async("run", queue_name="dify_agent_runs")
        return await again.get_result(polling_interval_sec=0.01)


@contextlib.contextmanager
def _launched(path):
    url = f"sqlite:///{path}"
    seal = build_seal(None)
    database = open_database(url, seal)
    config = {
        "name": "dify-agent",
        "system_database_url": url,
        "system_database_engine": database,
        "serializer": SealedSerializer(seal),
        "log_level": "CRITICAL",
        "notification_listener_polling_interval_sec": 0.01,
    }
    DBOS(config=config)
    DBOS.launch()
    try:
        yield
    finally:
        DBOS.destroy(destroy_registry=True)
        database.dispose()


async def _hear_nothing(_context, events):
    async for _ in events:
        pass


def last_texts(messages):
    return [str(part.content) for part in messages[-1].parts]


def test_a_model_that_is_asked_without_a_stream_is_asked_once(run_twice):
    asked = []

    def answer(messages, _info):
        asked.append(messages)
        return ModelResponse([TextPart("Hello")])

    assert run_twice(answer) == ["Hello", "Hello"]
    assert len(asked) == 1


def test_a_tools_wish_for_another_try_is_remembered_too(run_twice):
    calls = []

    def look(q: str) -> str:
        calls.append(q)
        if q == "a":
            raise ModelRetry("try b")
        return "found"

    def answer(messages, _info):
        last = last_texts(messages)[0]
        if "found" in last:
            return ModelResponse([TextPart(last)])
        return ModelResponse([ToolCallPart("look", {"q": "b" if "try b" in last else "a"})])

    assert run_twice(answer, [Tool(look)]) == ["found", "found"]
    assert calls == ["a", "b"]


def test_the_files_of_a_tool_are_remembered_too(run_twice):
    calls = []

    def draw() -> ToolReturn[str]:
        calls.append("draw")
        image = BinaryContent(data=b"\x89PNG\xff\0", media_type="image/png")
        return ToolReturn(return_value="drawn", content=["Files:", image])

    def answer(messages, _info):
        if len(messages) == 1:
            return ModelResponse([ToolCallPart("draw", {})])
        result, files = messages[-1].parts
        return ModelResponse([TextPart(f"{result.content} {files.content[1].data!r}")])

    said = "drawn b'\\x89PNG\\xff\\x00'"
    assert run_twice(answer, [Tool(draw)]) == [said, said]
    assert calls == ["draw"]


def test_results_stay_with_their_calls_whatever_finishes_first(run_twice):
    slow = asyncio.Event()

    async def look(q: str) -> str:
        if q == "first":
            await slow.wait()
        else:
            slow.set()
        return f"{q}!"

    def answer(messages, _info):
        if len(messages) > 1:
            return ModelResponse([TextPart(" ".join(last_texts(messages)))])
        return ModelResponse(
            [ToolCallPart("look", {"q": q}, tool_call_id=q) for q in ("first", "second")]
        )

    assert run_twice(answer, [Tool(look)]) == ["first! second!"] * 2


def test_a_call_that_an_earlier_run_left_open_is_made_once(run_twice):
    calls = []

    def look(q: str) -> str:
        calls.append(q)
        return "found"

    history = [
        ModelRequest([UserPromptPart("Hi")]),
        ModelResponse([ToolCallPart("look", {"q": "a"})]),
    ]

    def answer(messages, _info):
        return ModelResponse([TextPart(last_texts(messages)[0])])

    assert run_twice(answer, [Tool(look)], history=history) == ["found", "found"]
    assert calls == ["a"]


def test_a_stream_that_no_agent_reads_is_read_to_its_end(database):
    async def answer(_messages, _info):
        yield "Hel"
        yield "lo"

    async def ask():
        @DBOS.workflow(name="ask")
        async def workflow():
            steps = RunSteps(run_id="run", sink=StreamEventSink(), attempt=1)
            model = steps.wrap_model(FunctionModel(stream_function=answer), _hear_nothing)
            request = ModelRequest([UserPromptPart("Hi")])
            async with model.request_stream([request], None, ModelRequestParameters()) as stream:
                return [event async for event in stream], stream.get().text

        with _launched(database):
            return await (await DBOS.start_workflow_async(workflow)).get_result(
                polling_interval_sec=0.01
            )

    assert asyncio.run(ask()) == ([], "Hello")


def test_a_step_that_tells_nothing_stores_nothing():
    async def tell_nothing():
        sink = StreamEventSink()
        async with sink.batched():
            pass
        return sink

    with pytest.raises(RuntimeError, match="without a terminal event"):
        asyncio.run(tell_nothing()).take_terminal()
