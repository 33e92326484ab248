"""Files on their way to a model: which it gets, and how many."""

import base64
import json

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    AudioUrl,
    BinaryContent,
    DocumentUrl,
    FilePart,
    ImageUrl,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
    VideoUrl,
)


PIXEL = BinaryContent(
    data=b"\x89PNG", media_type="image/png", vendor_metadata={"filename": "a.png"}
)
PAPER = BinaryContent(data=b"%PDF-", media_type="application/pdf")
EACH = [
    PIXEL,
    ImageUrl("https://example.com/a.png"),
    PAPER,
    DocumentUrl("https://example.com/a.pdf", vendor_metadata={"filename": "b.pdf"}),
    AudioUrl("https://example.com/a.mp3"),
    VideoUrl("https://example.com/a.mp4"),
]


def said(*content: object) -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(list(content))])


def kinds(prompt: dict) -> list[str]:
    return [part["type"] for part in prompt["content"]]


async def test_a_model_gets_what_it_has_features_for_and_a_sentence_for_the_rest(daemon):
    daemon.schema = {"model": "gpt-5", "features": ["tool-call", "vision"]}

    (prompt,) = await daemon.ask_for(said("Look:", *EACH))

    assert kinds(prompt) == ["text", "image", "image", "text", "text", "text", "text"]
    assert [part["data"] for part in prompt["content"][3:]] == [
        f'[document "{PAPER.identifier}.pdf" omitted: the model gpt-5 reads no document files]',
        '[document "b.pdf" omitted: the model gpt-5 reads no document files]',
        "[audio omitted: the model gpt-5 reads no audio files]",
        "[video omitted: the model gpt-5 reads no video files]",
    ]


@pytest.mark.parametrize("features", [["vision", "document", "audio", "video"], None])
async def test_a_model_gets_all_where_nothing_is_known_against_it(daemon, features):
    daemon.schema = {"features": features}

    (prompt,) = await daemon.ask_for(said(*EACH))

    assert kinds(prompt) == ["image", "image", "document", "document", "audio", "video"]


@pytest.mark.parametrize(
    "schema",
    [
        None,
        {"features": 3},
        b"data: nonsense\n\n",
        httpx.ConnectError("gone"),
        b'data: {"code": -500, "message": "no", "data": null}\n\n',
        b"",
    ],
)
async def test_a_schema_that_cannot_be_had_stops_no_call(daemon, schema):
    daemon.schema = schema

    (prompt,) = await daemon.ask_for(said(PIXEL))

    assert kinds(prompt) == ["image"]


async def test_the_schema_is_asked_for_once_and_only_where_there_are_files(daemon):
    daemon.schema = {"features": []}
    daemon.reply(daemon.chunk("ok")).reply(daemon.chunk("ok")).reply(daemon.chunk("ok"))
    model = daemon.model()

    await daemon.ask(model=model)
    assert daemon.schema_requests == []
    await daemon.ask(said(PIXEL), model=model)
    await daemon.ask(said(PIXEL), model=model)

    (asked,) = daemon.schema_requests
    assert json.loads(asked.content)["data"] == {
        "provider": "openai",
        "model_type": "llm",
        "model": "gpt-5",
        "credentials": {"api_key": "sk-model-key-0123456789"},
    }


@pytest.mark.parametrize("place", ["user", "history", "answer", "tool"])
async def test_files_arrive_byte_for_byte_from_every_place(daemon, place):
    data = bytes(range(256)) * 100
    file = BinaryContent(data=data, media_type="image/png")
    question, answer = said("Hi"), ModelResponse(parts=[TextPart("ok")])
    call = ModelResponse(parts=[ToolCallPart("draw", {}, tool_call_id="c")])
    messages = {
        "user": [said("Look:", file)],
        "history": [said("Look:", file), answer, question],
        "answer": [question, ModelResponse(parts=[FilePart(content=file)]), question],
        "tool": [question, call, ModelRequest(parts=[ToolReturnPart("draw", ["x", file], "c")])],
    }

    prompts = await daemon.ask_for(*messages[place])

    (image,) = [
        part
        for prompt in prompts
        if isinstance(prompt["content"], list)
        for part in prompt["content"]
        if part["type"] == "image"
    ]
    assert base64.b64decode(image["base64_data"]) == data


BOUND = "dify_agent.adapters.llm._files.MOST_PROMPT_BYTES"


def image(size: int, name: str = "") -> BinaryContent:
    metadata = {"filename": name} if name else None
    return BinaryContent(data=bytes(size), media_type="image/png", vendor_metadata=metadata)


def sizes(prompts: list[dict]) -> list[int]:
    """Return the size of each file that is still whole, and 0 for one that is a sentence."""
    contents = [prompt["content"] for prompt in prompts if isinstance(prompt["content"], list)]
    parts = [part for content in contents for part in content]
    is_file = [part["type"] != "text" or "omitted" in part["data"] for part in parts]
    found = [part for part, is_one in zip(parts, is_file, strict=True) if is_one]
    return [len(base64.b64decode(part.get("base64_data", ""))) for part in found]


async def test_the_oldest_files_give_way_once_they_are_too_much(daemon, monkeypatch):
    monkeypatch.setattr(BOUND, 16_000)

    prompts = await daemon.ask_for(*(said(image(3000, f"{number}.png")) for number in range(4)))

    assert sizes(prompts) == [0, 0, 0, 3000]
    assert prompts[0]["content"][0]["data"] == (
        '[image "0.png" omitted: no room for it beside the newer ones in one request]'
    )


async def test_of_one_messages_files_only_those_give_way_that_must(daemon, monkeypatch):
    monkeypatch.setattr(BOUND, 16_000)

    prompts = await daemon.ask_for(said(image(3000)), said(*[image(3000) for _ in range(4)]))

    assert sizes(prompts) == [0, 0, 3000, 3000, 3000]


async def test_the_newest_file_stays_whatever_its_size_and_whatever_follows_it(daemon, monkeypatch):
    monkeypatch.setattr(BOUND, 1000)

    prompts = await daemon.ask_for(said(image(1000)), said(image(9000)), said("x" * 9000))

    assert sizes(prompts) == [0, 9000]


async def test_fifty_megabytes_of_images_leave_as_one_line_that_a_plugin_can_read(daemon):
    prompts = await daemon.ask_for(*(said(image(1_050_000)) for _ in range(48)))

    assert len(daemon.requests[-1].content) < 5 * 1024 * 1024
    assert sizes(prompts)[-1] == 1_050_000


messages = st.lists(
    st.lists(
        st.integers(750, 7000).map(image) | st.text(min_size=1, max_size=200),
        min_size=1,
        max_size=3,
    ),
    max_size=12,
)


@pytest.mark.untraced
@given(messages)
async def test_what_was_left_out_stays_left_out_as_the_conversation_grows(make_daemon, contents):
    """Of each step's files the newest are whole, and none is that was a sentence before."""
    before: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BOUND, 20_000)
        for count in range(1, len(contents) + 1):
            asked = make_daemon().ask_for(*(said(*content) for content in contents[:count]))
            now = sizes(await asked)
            assert all(new in {old, 0} for old, new in zip(before, now, strict=False))
            given_in = [each for content in contents[:count] for each in content]
            files = [len(each.data) for each in given_in if isinstance(each, BinaryContent)]
            whole = [size for size in now if size]
            assert whole == files[len(files) - len(whole) :]
            assert bool(whole) == bool(files)
            before = now
