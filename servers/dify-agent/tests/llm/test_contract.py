"""What the adapter expects of names that Pydantic AI does not publish."""

import inspect
from collections.abc import Callable, Iterator

import httpx
import pytest
from pydantic_ai.messages import (
    BinaryContent,
    FilePart,
    ModelRequest,
    PartDeltaEvent,
    PartStartEvent,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.providers import Provider
from pydantic_ai.usage import RequestUsage

from dify_agent.adapters.llm import DifyStreamedResponse


def parameters_of(function: Callable[..., object]) -> set[str]:
    return set(inspect.signature(function).parameters)


@pytest.fixture
def response() -> DifyStreamedResponse:
    return DifyStreamedResponse(
        model_request_parameters=ModelRequestParameters(),
        _reader=None,
        _model_name="gpt-5",
        _model_provider="openai",
        _provider_name="DifyPlugin/langgenius/openai",
    )


def test_a_stream_is_written_by_overriding_these():
    abstract = StreamedResponse.__abstractmethods__

    assert abstract == {
        "_get_event_iterator",
        "model_name",
        "provider_name",
        "provider_url",
        "timestamp",
    }
    assert Model.__abstractmethods__ == {"request", "model_name", "system"}
    assert Provider.__abstractmethods__ == {"name", "base_url", "client"}


def test_the_parts_of_an_answer_are_collected_by_the_manager(response):
    manager = response._parts_manager

    text = manager.handle_text_delta(vendor_part_id="t", content="a")
    thinking = manager.handle_thinking_delta(vendor_part_id="k", content="b")
    assert isinstance(text, Iterator)
    assert isinstance(thinking, Iterator)
    events = [*text, *thinking]
    events.append(
        manager.handle_tool_call_delta(
            vendor_part_id="c", tool_name="add", args="{", tool_call_id="c1"
        )
    )
    events.append(
        manager.handle_tool_call_delta(
            vendor_part_id="c", tool_name=None, args="}", tool_call_id=None
        )
    )
    picture = FilePart(content=BinaryContent(data=b"", media_type="image/png"))
    events.append(manager.handle_part(vendor_part_id=None, part=picture))

    assert [type(event) for event in events] == [
        PartStartEvent,
        PartStartEvent,
        PartStartEvent,
        PartDeltaEvent,
        PartStartEvent,
    ]
    assert [part.part_kind for part in response.get().parts] == [
        "text",
        "thinking",
        "tool-call",
        "file",
    ]


def test_cumulative_usage_replaces_what_was_known(response):
    response._add_usage(RequestUsage(input_tokens=5), reported=True, cumulative=True)
    response._add_usage(RequestUsage(input_tokens=7), reported=True, cumulative=True)

    assert response.usage.input_tokens == 7
    assert response._usage_received


def test_instructions_are_read_through_the_model():
    taken = parameters_of(Model._get_instruction_parts)

    assert {"messages", "model_request_parameters"} <= taken


async def test_instructions_of_a_history_are_found(daemon):
    daemon.reply(daemon.chunk("ok"))

    await daemon.ask(ModelRequest(parts=[], instructions="Be kind."))

    assert daemon.sent["prompt_messages"] == [{"role": "system", "content": "Be kind."}]


def test_a_provider_may_own_its_http_client():
    assert Provider._own_http_client is None
    assert Provider._http_client_factory is None
    assert "http_client" in parameters_of(Provider._set_http_client)


def test_errors_of_a_cancelled_connection_are_known(response):
    assert httpx.TransportError in response.get_stream_cancel_errors()
