"""Files on the whole way of dify-agent: each kind from each place, through the plugin's process, to a Responses server and back."""

import base64
import struct
import zlib
from itertools import pairwise

import pytest
from pydantic_ai import (
    Agent,
    BinaryContent,
    DocumentUrl,
    ImageUrl,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.messages import FilePart, FileUrl
from pydantic_ai.models import ModelRequestParameters

from dify_agent.adapters.llm import DifyLLMAdapterModel, DifyPluginDaemonProvider
from dify_agent.protocol import CreateRunRequest
from gpt5_simulator import FunctionCall, ResponsesSimulator, Text
from message_shapes import CALL_ID, NOT_HEARD, SHAPES, media_of
from runs import KEY, TENANT, ask, our_model, run, simulate


pytestmark = pytest.mark.anyio


def png(width=2, *, noise=0):
    """Return a real PNG, `noise` bytes longer than it need be."""

    def chunk(kind, data):
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", width, 1, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"\0" + bytes(3 * width))
    extra = chunk(b"teXt", bytes(range(256)) * (noise // 256)) if noise else b""
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + extra
        + chunk(b"IDAT", pixels)
        + chunk(b"IEND", b"")
    )


def binary(data, media_type, **metadata):
    return BinaryContent(data=data, media_type=media_type, vendor_metadata=metadata or None)


KINDS = {
    "png": binary(png(), "image/png", filename="a.png", detail="high"),
    "a large png": binary(png(3, noise=900_000), "image/png"),
    "an image's URL": ImageUrl("https://example.com/a.png"),
    "pdf": binary(b"%PDF-1.7\n" + bytes(range(256)), "application/pdf", filename="größe 1.pdf"),
    "a document's URL": DocumentUrl("https://example.com/report.pdf"),
    "csv": binary(b"a,b\n1,2\n", "text/csv"),
}
PLACES = ("user", "history", "answer", "tool")


def given(item):
    """Return what of a file has to arrive: its bytes, or its URL."""
    return item.data if isinstance(item, BinaryContent) else item.url


def arrived(body):
    """Return what of files is in a request, in order: bytes and URLs."""
    found = []
    for item in body["input"]:
        parts = item.get("content") or item.get("output") or []
        for part in parts if isinstance(parts, list) else []:
            value = part.get("image_url") or part.get("file_data") or part.get("file_url")
            if value:
                found.append(
                    base64.b64decode(value.partition(",")[2]) if value[:5] == "data:" else value
                )
    return found


@pytest.fixture
def model_for(daemon, http_client):
    """Return a function that makes a model that is the plugin's, with a server behind it."""

    def make(simulator):
        provider = DifyPluginDaemonProvider(
            tenant_id=TENANT,
            plugin_id="gpt5-agent/openai_gpt5_responses",
            plugin_daemon_url=daemon["base_url"],
            plugin_daemon_api_key=daemon["api_key"],
            http_client=http_client,
        )
        config = our_model(simulator)
        named = {"model_provider": config.model_provider, "credentials": config.credentials}
        return DifyLLMAdapterModel(config.model, provider, **named)

    return make


@pytest.fixture
def agent_of(model_for):
    return lambda simulator, *tools: Agent(model_for(simulator), tools=tools)


def content_of(part):
    """Return a part of Dify's as Pydantic AI has it."""
    if part["type"] == "text":
        return part["data"]
    metadata = {"filename": part["filename"], "detail": part.get("detail")}
    known = {"media_type": part["mime_type"], "vendor_metadata": metadata}
    if part["url"]:
        return {"image": ImageUrl, "document": DocumentUrl}[part["type"]](part["url"], **known)
    return BinaryContent(data=base64.b64decode(part["base64_data"]), **known)


def history_of(shape):
    """Return a conversation of the table as Pydantic AI has it; None where its messages hold no such thing."""
    contents = [content_of(part) for part in shape.parts]
    asked, held = ModelRequest([UserPromptPart("Begin.")]), ModelRequest([UserPromptPart(contents)])
    match shape.place:
        case "user":
            return [held]
        case "history":
            return [held, ModelResponse([TextPart("Seen.")]), asked]
        case "tool":
            called = ModelResponse([ToolCallPart("look", {}, tool_call_id=CALL_ID)])
            return [asked, called, ModelRequest([ToolReturnPart("look", contents, CALL_ID)])]
        case "assistant" if not any(isinstance(each, FileUrl) for each in contents):
            parts = [
                TextPart(each) if isinstance(each, str) else FilePart(each) for each in contents
            ]
            return [asked, ModelResponse(parts), asked]
        case _:
            return None


TAKEN = [shape for shape in SHAPES if history_of(shape)]


@pytest.mark.parametrize("shape", TAKEN, ids=lambda shape: shape.name)
async def test_the_shapes_of_the_table_arrive_by_dify_agent_too(model_for, shape):
    with ResponsesSimulator(api_keys=[KEY]) as simulator:
        await model_for(simulator).request(history_of(shape), None, ModelRequestParameters())
        [items] = [request.body["input"] for request in simulator.requests]

    not_heard = '[audio "talk.mp3" omitted: the model gpt-5.2 reads no audio files]'
    assert media_of(items) == shape.media
    told = [not_heard if each == NOT_HEARD else each for each in shape.told]
    assert [each for each in told if each not in str(items)] == []


def test_what_of_the_table_dify_agent_has_no_words_for():
    """Pydantic AI's instructions are text, and its answers hold files by their bytes."""
    assert len(TAKEN) == 22
    assert {shape.place for shape in SHAPES if shape not in TAKEN} == {"system", "assistant"}


@pytest.mark.parametrize("place", PLACES)
async def test_every_kind_of_file_arrives_whole_and_in_order_in_each_round(agent_of, place):
    items = list(KINDS.values())
    files = [each for each in items if place != "answer" or isinstance(each, BinaryContent)]

    def draw(number: int) -> list:
        return [f"Drawn: {number}.", *(files if place == "tool" else [])]

    call = FunctionCall(name="draw", arguments={"number": 1})
    history = None
    if place == "history":
        history = [
            ModelRequest([UserPromptPart(["See:", *files])]),
            ModelResponse([TextPart("Ok.")]),
        ]
    if place == "answer":
        answer = ModelResponse([TextPart("Here:"), *(FilePart(each) for each in files)])
        history = [ModelRequest([UserPromptPart("Draw.")]), answer]
    with simulate([call], [call], [Text(text="Done.")]) as simulator:
        said = ["Look:", *files, "Go on."] if place == "user" else "Go on."
        result = await agent_of(simulator, draw).run(said, message_history=history)
        bodies = [request.body for request in simulator.requests]

    assert result.output == "Done."
    sent = [given(each) for each in files]
    rounds = [0, 1, 2] if place == "tool" else [1, 1, 1]
    assert [arrived(body) for body in bodies] == [sent * times for times in rounds]
    for before, after in pairwise(bodies):
        assert after["input"][: len(before["input"])] == before["input"]


async def test_the_files_of_a_composition_arrive_and_are_told_by_the_demonstration_model(
    daemon, http_client, tool
):
    with simulate([Text(text="A picture.")]) as simulator:
        request = ask(our_model(simulator), tool("words")).model_dump(mode="json")
        encoded = base64.b64encode(png(7)).decode()
        file = {"kind": "binary", "media_type": "image/png", "data": encoded}
        request["composition"]["layers"][1]["config"]["user"] = ["What is on it?", file]
        events = await run(daemon, http_client, CreateRunRequest.model_validate(request))
        [body] = [request.body for request in simulator.requests]

    assert events[-1].output == "A picture."
    assert arrived(body) == [png(7)]


async def test_fifty_megabytes_of_images_in_the_history_end_in_an_answer(agent_of):
    newest = png(2, noise=1_000_000)
    images = [binary(png(1, noise=1_000_000), "image/png") for _ in range(49)]
    history = []
    for image in [*images, binary(newest, "image/png")]:
        history += [
            ModelRequest([UserPromptPart(["See:", image])]),
            ModelResponse([TextPart("Ok.")]),
        ]
    with simulate([Text(text="Done.")]) as simulator:
        result = await agent_of(simulator).run("Go on.", message_history=history)
        [request] = simulator.requests

    assert result.output == "Done."
    found = arrived(request.body)
    assert found[-1] == newest
    assert 1 <= len(found) < 5
    assert str(request.body).count("omitted: no room for it beside") == 50 - len(found)


async def test_a_picture_of_a_plugins_tool_reaches_the_model_and_the_client(
    daemon, http_client, tool
):
    call = FunctionCall(name="blob", arguments={"size": 100_000, "mime_type": "image/png"})
    with simulate([call], [Text(text="Seen.")], strict=False) as simulator:
        events = await run(daemon, http_client, ask(our_model(simulator), tool("blob")))
        bodies = [request.body for request in simulator.requests]

    pattern = (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 400)[:100_000]
    assert events[-1].output == "Seen.", KEY
    assert [arrived(body) for body in bodies] == [[], [pattern]]
    [told] = [event for event in events if event.type == "file"]
    assert (told.data, told.media_type, told.filename) == (pattern, "image/png", "pattern.bin")
