"""The steps of a run: what an attempt after a crash finds done, and what is told again."""

import asyncio
import json

import pytest
from pydantic_ai import Agent, ModelRequest, ModelResponse, ModelRetry, Tool, ToolReturn
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import BinaryContent, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.function import FunctionModel

from dify_agent.server._recorder import RunRecorder  # noqa: PLC2701 - the parts of an executor, around a model of the test
from dify_agent.server._sink import ExecutionSink  # noqa: PLC2701 - likewise
from dify_agent.server._steps import RunSteps  # noqa: PLC2701 - likewise
from run_log import RunLog


@pytest.fixture
def run_twice(build_execution):
    """Return a function that runs an agent, and again as after a crash just before its end; it returns both outputs."""

    async def run(function, tools=(), *, history=None):
        first = build_execution({})
        return [
            await run_agent(execution, FunctionModel(function), tools, history)
            for execution in (first, first.again())
        ]

    return run


def take_steps(execution):
    recorder = RunRecorder(None)
    sink = ExecutionSink(execution, recorder)
    return RunSteps(execution, sink, recorder, repeat_shown=True)


async def run_agent(execution, model, tools, history):
    steps = take_steps(execution)
    agent = Agent(
        steps.wrap_model(model, hear_nothing), tools=tools, capabilities=[steps.build_capability()]
    )
    result = await agent.run(None if history else "Hi", message_history=history)
    return result.output


async def hear_nothing(_context, events):
    async for _ in events:
        pass


def last_texts(messages):
    return [str(part.content) for part in messages[-1].parts]


async def test_a_model_that_is_asked_without_a_stream_is_asked_once(run_twice):
    asked = []

    def answer(messages, _info):
        asked.append(messages)
        return ModelResponse([TextPart("Hello")])

    assert await run_twice(answer) == ["Hello", "Hello"]
    assert len(asked) == 1


@pytest.mark.parametrize("error", [ModelRetry, ToolFailed])
async def test_an_error_by_which_a_tool_answers_is_remembered_too(run_twice, error):
    calls = []

    def look(q: str) -> str:
        calls.append(q)
        if q == "a":
            raise error("take b")
        return "found"

    def answer(messages, _info):
        last = last_texts(messages)[0]
        if "found" in last:
            return ModelResponse([TextPart(last)])
        return ModelResponse([ToolCallPart("look", {"q": "b" if "take b" in last else "a"})])

    assert await run_twice(answer, [Tool(look)]) == ["found", "found"]
    assert calls == ["a", "b"]


@pytest.mark.parametrize("result", ["text", None, 3, ["a", {"b": 1.5}]])
async def test_any_json_that_a_tool_returns_is_remembered(run_twice, result):
    calls = []

    def look() -> object:
        calls.append(1)
        return result

    def answer(messages, _info):
        if len(messages) == 1:
            return ModelResponse([ToolCallPart("look", {})])
        return ModelResponse([TextPart(repr(messages[-1].parts[0].content))])

    assert await run_twice(answer, [Tool(look)]) == [repr(result)] * 2
    assert calls == [1]


async def test_the_files_of_a_tool_are_remembered_too(run_twice):
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
    assert await run_twice(answer, [Tool(draw)]) == [said, said]
    assert calls == ["draw"]


async def test_results_stay_with_their_calls_whatever_finishes_first(run_twice):
    calls = []

    quick = asyncio.Event()

    async def look(q: str) -> str:
        calls.append(q)
        if q == "a":
            await quick.wait()
        else:
            quick.set()
        return f"{q}!"

    def answer(messages, _info):
        if len(messages) > 1:
            return ModelResponse([TextPart(" ".join(last_texts(messages)))])
        return ModelResponse([ToolCallPart("look", {"q": q}, tool_call_id=q) for q in "ab"])

    assert await run_twice(answer, [Tool(look)]) == ["a! b!"] * 2
    assert sorted(calls) == ["a", "b"]


async def test_a_call_that_comes_again_in_a_later_answer_under_the_same_id_is_made_again(run_twice):
    calls = []

    def look(q: str) -> str:
        calls.append(q)
        return f"{len(calls)}"

    def answer(messages, _info):
        if len(messages) == 5:
            return ModelResponse([TextPart(" ".join(last_texts(messages)))])
        return ModelResponse([ToolCallPart("look", {"q": "a"}, tool_call_id="c")])

    assert await run_twice(answer, [Tool(look)]) == ["2", "2"]
    assert calls == ["a", "a"]


async def test_a_call_that_an_earlier_run_left_open_is_made_once(run_twice):
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

    assert await run_twice(answer, [Tool(look)], history=history) == ["found", "found"]
    assert calls == ["a"]


async def test_a_stream_that_no_agent_reads_is_read_to_its_end(build_execution):
    async def answer(_messages, _info):
        yield "Hel"
        yield "lo"

    steps = take_steps(build_execution({}))
    model = steps.wrap_model(FunctionModel(stream_function=answer), hear_nothing)
    request = ModelRequest([UserPromptPart("Hi")])
    async with model.request_stream([request], None, ModelRequestParameters()) as stream:
        assert [event async for event in stream] == []
        assert stream.get().text == "Hello"


def test_an_attempt_that_ends_nowhere_has_no_result(build_execution):
    execution = build_execution({})
    sink = ExecutionSink(execution, RunRecorder(None))
    with pytest.raises(RuntimeError, match="without a result"):
        sink.take_end()


async def test_an_error_by_which_a_tool_answers_stands_in_the_log(build_execution, tmp_path):
    def look() -> str:
        raise ToolFailed("no such page")

    def answer(messages, _info):
        if len(messages) == 1:
            return ModelResponse([ToolCallPart("look", {})])
        return ModelResponse([TextPart("Gone.")])

    execution = build_execution({})
    recorder = RunRecorder(RunLog(tmp_path))
    steps = RunSteps(execution, ExecutionSink(execution, recorder), recorder, repeat_shown=True)
    agent = Agent(
        steps.wrap_model(FunctionModel(answer), hear_nothing),
        tools=[Tool(look)],
        capabilities=[steps.build_capability()],
    )
    await agent.run("Hi")
    recorder.close()

    [file] = tmp_path.iterdir()
    [result] = [
        line for line in map(json.loads, file.read_text().splitlines()) if line["type"] == "result"
    ]
    assert (result["outcome"], result["content"]) == ("failed", "no such page")


async def test_any_other_error_of_a_tool_ends_the_run_and_records_nothing(build_execution):
    def look() -> str:
        raise RuntimeError("a fault of ours")

    def answer(_messages, _info):
        return ModelResponse([ToolCallPart("look", {})])

    execution = build_execution({})
    with pytest.raises(RuntimeError, match="a fault of ours"):
        await run_agent(execution, FunctionModel(answer), [Tool(look)], None)
    assert list(execution.recorded) == ["model:1"]
