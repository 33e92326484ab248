"""The runner with all default layers, on a daemon that is made up: everything but the network is real."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from dify_agent.exceptions import AgentRunValidationError
from dify_agent.protocol import (
    CreateRunRequest,
    RunComposition,
    RunEvent,
    RunFailedEvent,
    RunLayerSpec,
    RunSucceededEvent,
)
from dify_agent.runtime.event_sink import InMemoryRunEventSink
from dify_agent.runtime.layer_providers import create_default_layer_providers
from dify_agent.runtime.runner import AgentRunRunner, validate_composition


EXAMPLE = Path(__file__).parent / "fixtures" / "search_composition.txt"


def frames(*items: object) -> bytes:
    return b"".join(
        b"data: " + json.dumps({"code": 0, "message": "success", "data": item}).encode() + b"\n\n"
        for item in items
    )


def model_chunk(content: object, *, tool_calls: Sequence[object] = ()) -> dict[str, object]:
    message = {"role": "assistant", "content": content, "tool_calls": list(tool_calls)}
    return {
        "model": "gpt-4o-mini",
        "prompt_messages": [],
        "delta": {"index": 0, "message": message, "usage": None, "finish_reason": None},
    }


@dataclass
class PluginDaemon:
    """The peer: a daemon whose model first searches and then answers."""

    requests: list[httpx.Request] = field(default_factory=list)
    failure: bytes | None = None
    found: dict[str, object] = field(
        default_factory=lambda: {"type": "text", "message": {"text": "Found."}}
    )
    last: object = "is found."

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        if self.failure is not None:
            return httpx.Response(200, content=self.failure)
        if request.url.path.endswith("/tool/invoke"):
            return httpx.Response(200, content=frames(self.found))
        return httpx.Response(200, content=self._model_answer())

    def _model_answer(self) -> bytes:
        if len(self.requests) > 1:
            return frames(model_chunk("Dify "), model_chunk(self.last))
        search = {"name": "web_search", "arguments": '{"query": "dify"}'}
        call = {"id": "call-1", "type": "function", "function": search}
        return frames(
            model_chunk("<think>\nLook it up\n</think>"), model_chunk("", tool_calls=[call])
        )

    def body(self, index: int) -> Any:
        return json.loads(self.requests[index].content)


def search_request() -> CreateRunRequest:
    """Return the request of a client that has a model and one tool, and whose user says something."""
    names: dict[str, Any] = {}
    exec(EXAMPLE.read_text(), names)
    prompt = RunLayerSpec(name="prompt", type="plain.prompt", config={"user": "What is Dify?"})
    composition: RunComposition = names["composition"]
    return CreateRunRequest(
        composition=composition.model_copy(update={"layers": [prompt, *composition.layers]})
    )


async def run_with_daemon(daemon: PluginDaemon) -> list[RunEvent]:
    sink = InMemoryRunEventSink()
    providers = create_default_layer_providers(
        plugin_daemon_url="http://daemon:5002", plugin_daemon_api_key="daemon-key-0123456789"
    )
    async with httpx.AsyncClient(transport=httpx.MockTransport(daemon)) as http_client:
        runner = AgentRunRunner(http_client=http_client, event_sink=sink, layer_providers=providers)
        await runner.run("run-1", search_request())
        assert not http_client.is_closed
    return sink.events("run-1")


async def test_a_composition_runs_a_model_and_a_tool_of_two_plugins():
    daemon = PluginDaemon()
    events = await run_with_daemon(daemon)
    assert [event.type for event in events] == [
        "run_started",
        "thinking_delta",
        "tool_call",
        "tool_result",
        "text_delta",
        "text_delta",
        "run_succeeded",
    ]
    assert [(request.url.path, request.headers["X-Plugin-ID"]) for request in daemon.requests] == [
        ("/plugin/tenant-1/dispatch/llm/invoke", "langgenius/openai"),
        ("/plugin/tenant-1/dispatch/tool/invoke", "langgenius/search"),
        ("/plugin/tenant-1/dispatch/llm/invoke", "langgenius/openai"),
    ]
    assert {request.headers["X-Api-Key"] for request in daemon.requests} == {
        "daemon-key-0123456789"
    }
    assert [daemon.body(index)["user_id"] for index in range(3)] == ["user-1"] * 3
    assert daemon.body(1)["data"]["tool_parameters"] == {"site": "docs.dify.ai", "query": "dify"}
    last = events[-1]
    assert isinstance(last, RunSucceededEvent)
    assert last.output == "Dify is found."
    assert "replace-with" not in last.model_dump_json()


class EndlessAnswer(httpx.AsyncByteStream):
    """An answer of one word, and then nothing for as long as somebody listens."""

    def __init__(self) -> None:
        self.said = asyncio.Event()
        self.closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield frames(model_chunk("One"))
        self.said.set()
        await asyncio.Event().wait()

    async def aclose(self) -> None:
        self.closed = True


async def test_cancelling_a_run_lets_go_of_the_model_and_leaves_the_client_open():
    answer = EndlessAnswer()
    sink = InMemoryRunEventSink()
    transport = httpx.MockTransport(lambda _request: httpx.Response(200, stream=answer))
    async with httpx.AsyncClient(transport=transport) as http_client:
        runner = AgentRunRunner(http_client=http_client, event_sink=sink)
        task = asyncio.create_task(runner.run("run-1", search_request()))
        await answer.said.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert answer.closed
        assert not http_client.is_closed
    assert [event.type for event in sink.events("run-1")] == [
        "run_started",
        "text_delta",
        "run_cancelled",
    ]


async def test_an_error_deep_in_a_plugin_is_what_the_run_fails_with():
    inner = json.dumps({"error_type": "InvokeRateLimitError", "message": "slow down"})
    outer = json.dumps({"error_type": "PluginInvokeError", "message": inner})
    failure = b"data: " + json.dumps({"code": -500, "message": outer}).encode() + b"\n\n"
    events = await run_with_daemon(PluginDaemon(failure=failure))
    last = events[-1]
    assert isinstance(last, RunFailedEvent)
    assert (last.error, last.error_type) == ("slow down", "InvokeRateLimitError")


async def test_a_plugin_that_shows_the_model_key_does_not_show_it_to_the_client():
    message = json.dumps({"error_type": "Odd", "message": "bad key replace-with-model-key"})
    failure = b"data: " + json.dumps({"code": -500, "message": message}).encode() + b"\n\n"
    events = await run_with_daemon(PluginDaemon(failure=failure))
    assert "replace-with-model-key" not in events[-1].model_dump_json()
    assert "bad key [redacted]" in events[-1].model_dump_json()


async def test_a_runner_offers_the_default_layers_unless_told_otherwise():
    sink = InMemoryRunEventSink()
    async with httpx.AsyncClient() as http_client:
        pass
    runner = AgentRunRunner(http_client=http_client, event_sink=sink)
    await runner.run("run-1", search_request())
    last = sink.events("run-1")[-1]
    assert isinstance(last, RunFailedEvent)
    assert last.error == (
        "DifyPluginLayer.create_daemon_provider() requires an open shared HTTP client."
    )


async def test_a_composition_can_be_checked_without_running_it():
    providers = create_default_layer_providers()
    validate_composition(search_request().composition, providers)
    unknown = RunComposition(layers=[RunLayerSpec(name="llm", type="test.model")])
    with pytest.raises(AgentRunValidationError, match=r"'test\.model' is not registered"):
        validate_composition(unknown, providers)


IMAGE = {"kind": "binary", "media_type": "image/png"}
IMAGE |= {"data": "iVBORw0KGgoA", "vendor_metadata": {"filename": "a.png", "detail": "high"}}
LINKED = {"kind": "document-url", "url": "https://example.com/a.pdf"}


async def test_the_files_that_a_tool_and_a_model_make_are_told_to_the_client():
    meta = {"mime_type": "image/png", "filename": "plot.png"}
    drawn = {"type": "blob", "message": {"blob": "iVBORw0KGgoA"}, "meta": meta}
    painted = {"type": "image", "base64_data": "AAEC", "mime_type": "image/webp", "format": "webp"}
    events = await run_with_daemon(PluginDaemon(found=drawn, last=[painted]))
    tool_result = next(event for event in events if event.type == "tool_result")
    of_tool, of_model = [event for event in events if event.type == "file"]
    assert (of_tool.data, of_tool.media_type) == (b"\x89PNG\r\n\x1a\n\0", "image/png")
    assert (of_tool.filename, of_tool.tool_call_id) == ("plot.png", tool_result.tool_call_id)
    assert (of_model.data, of_model.media_type) == (b"\0\1\2", "image/webp")
    assert (of_model.filename, of_model.tool_call_id) == ("", None)
    assert events.index(of_tool) == events.index(tool_result) + 1


@pytest.mark.parametrize("user", [["What is it?", IMAGE, LINKED], [IMAGE]])
async def test_files_of_a_composition_reach_the_model(user):
    daemon, sink = PluginDaemon(), InMemoryRunEventSink()
    request = search_request().model_dump(mode="json")
    request["composition"]["layers"][0]["config"]["user"] = user
    async with httpx.AsyncClient(transport=httpx.MockTransport(daemon)) as http_client:
        runner = AgentRunRunner(http_client=http_client, event_sink=sink)
        await runner.run("run-1", CreateRunRequest.model_validate_json(json.dumps(request)))
    (said,) = [
        prompt
        for sent in daemon.requests[-1:]
        for prompt in json.loads(sent.content)["data"]["prompt_messages"]
        if prompt["role"] == "user"
    ]
    (image,) = [part for part in said["content"] if part["type"] == "image"]
    assert (image["base64_data"], image["filename"]) == ("iVBORw0KGgoA", "a.png")
    assert (image["mime_type"], image["detail"]) == ("image/png", "high")
    assert len(said["content"]) == len(user)


@pytest.mark.parametrize(
    "user", [[], [" "], [{"kind": "uploaded-file", "file_id": "f", "provider_name": "x"}]]
)
async def test_a_composition_without_a_question_or_with_an_unknown_file_is_refused(user):
    daemon, sink = PluginDaemon(), InMemoryRunEventSink()
    request = search_request().model_dump(mode="json")
    request["composition"]["layers"][0]["config"]["user"] = user
    async with httpx.AsyncClient(transport=httpx.MockTransport(daemon)) as http_client:
        runner = AgentRunRunner(http_client=http_client, event_sink=sink)
        await runner.run("run-1", CreateRunRequest.model_validate_json(json.dumps(request)))
    assert isinstance(sink.events("run-1")[-1], RunFailedEvent)
    assert daemon.requests == []


async def test_two_providers_of_one_type_are_refused():
    providers = create_default_layer_providers()
    with pytest.raises(AgentRunValidationError, match=r"'plain\.prompt' is registered twice"):
        validate_composition(RunComposition(), [*providers, *providers])
