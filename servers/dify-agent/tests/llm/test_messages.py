import pytest
from pydantic_ai import Agent
from pydantic_ai.exceptions import (
    PydanticAIDeprecationWarning,
    UnexpectedModelBehavior,
    UserError,
)
from pydantic_ai.messages import (
    AudioUrl,
    BinaryContent,
    CachePoint,
    CompactionPart,
    DocumentUrl,
    FilePart,
    ImageUrl,
    InstructionPart,
    ModelRequest,
    ModelResponse,
    NativeToolCallPart,
    NativeToolReturnPart,
    RetryFeedbackPart,
    RetryInfo,
    RetryPromptPart,
    SpeechPart,
    SystemPromptPart,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UploadedFile,
    UserPromptPart,
    VideoUrl,
)
from pydantic_ai.models import ModelRequestParameters


PIXEL = BinaryContent(data=b"\x89PNG", media_type="image/png")


def request(*parts: object) -> ModelRequest:
    return ModelRequest(parts=list(parts))


def response(*parts: object) -> ModelResponse:
    return ModelResponse(parts=list(parts))


async def test_system_and_user_prompts_keep_their_order(daemon):
    prompts = await daemon.ask_for(request(SystemPromptPart("Be kind."), UserPromptPart("Hi")))

    assert prompts == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Hi"},
    ]


async def test_instructions_follow_the_system_prompts_at_the_beginning(daemon):
    daemon.reply(daemon.chunk("ok"))
    agent = Agent(daemon.model(), system_prompt="System.", instructions=["One.", "Two."])

    await agent.run("Hi")

    assert daemon.sent["prompt_messages"] == [
        {"role": "system", "content": "System."},
        {"role": "system", "content": "One.\n\nTwo."},
        {"role": "user", "content": "Hi"},
    ]


async def test_each_instruction_part_is_a_message_of_its_own(daemon):
    daemon.reply(daemon.chunk("ok"))
    parts = [InstructionPart(content="One."), InstructionPart(content="Two.", dynamic=True)]

    await daemon.ask(parameters=ModelRequestParameters(instruction_parts=parts))

    assert daemon.sent["prompt_messages"] == [
        {"role": "system", "content": "One."},
        {"role": "system", "content": "Two."},
        {"role": "user", "content": "hi"},
    ]


async def test_a_later_system_prompt_stays_where_it_is(daemon):
    prompts = await daemon.ask_for(
        request(UserPromptPart("Hi"), SystemPromptPart("Now in French."))
    )

    assert [prompt["role"] for prompt in prompts] == ["user", "system"]


async def test_tool_results_name_their_call_and_tool(daemon):
    prompts = await daemon.ask_for(
        request(
            ToolReturnPart(tool_name="add", content={"sum": 4}, tool_call_id="c1"),
            ToolReturnPart(tool_name="say", content="hi", tool_call_id="c2"),
        )
    )

    assert prompts == [
        {"role": "tool", "content": '{"sum":4}', "tool_call_id": "c1", "name": "add"},
        {"role": "tool", "content": "hi", "tool_call_id": "c2", "name": "say"},
    ]


async def test_files_that_tools_return_follow_all_results_as_the_users(daemon):
    prompts = await daemon.ask_for(
        request(
            ToolReturnPart(tool_name="draw", content=PIXEL, tool_call_id="c1"),
            ToolReturnPart(tool_name="say", content="hi", tool_call_id="c2"),
        )
    )

    assert [prompt["role"] for prompt in prompts] == ["tool", "tool", "user"]
    assert prompts[0]["content"] == f"See file {PIXEL.identifier}."
    assert [part["type"] for part in prompts[2]["content"]] == ["text", "image", "text"]


async def test_retry_feedback_is_the_users(daemon):
    part = RetryFeedbackPart("Shorter, please.", retry=RetryInfo(cause="model_retry"))

    (prompt,) = await daemon.ask_for(request(part))

    assert prompt == {"role": "user", "content": part.model_response()}


@pytest.mark.parametrize(
    ("tool_name", "expected"),
    [
        ("add", {"role": "tool", "tool_call_id": "c1", "name": "add"}),
        (None, {"role": "user"}),
    ],
)
async def test_retry_prompts_of_old_histories_are_understood(daemon, tool_name, expected):
    with pytest.warns(PydanticAIDeprecationWarning):
        part = RetryPromptPart("Bad.", tool_name=tool_name, tool_call_id="c1")

    (prompt,) = await daemon.ask_for(request(part))

    assert prompt == {**expected, "content": part.model_response()}


async def test_a_summary_of_earlier_messages_is_the_users(daemon):
    (prompt,) = await daemon.ask_for(request(CompactionPart(content="They said hi.")))

    assert prompt == {
        "role": "user",
        "content": "Summary of the conversation so far:\n\nThey said hi.",
    }


async def test_texts_and_thoughts_of_an_answer_become_one_text(daemon):
    prompts = await daemon.ask_for(
        request(UserPromptPart("2+2?")),
        response(ThinkingPart("Add them."), ThinkingPart(""), TextPart("It is "), TextPart("4.")),
    )

    assert prompts[1] == {
        "role": "assistant",
        "content": "<think>\nAdd them.\n</think>It is 4.",
        "tool_calls": [],
    }


async def test_tool_calls_carry_their_arguments_as_json(daemon):
    (prompt,) = await daemon.ask_for(
        response(
            ToolCallPart("add", {"a": 1, "b": "ü"}, tool_call_id="c1"),
            ToolCallPart("now", None, tool_call_id="c2"),
        )
    )

    assert prompt == {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a":1,"b":"ü"}'}},
            {"id": "c2", "type": "function", "function": {"name": "now", "arguments": "{}"}},
        ],
    }  # fmt: skip


async def test_calls_without_an_id_get_the_one_that_their_results_get(daemon):
    answer, _, result = await daemon.ask_for(
        response(
            TextPart("Look."),
            ToolCallPart("add", "{}", tool_call_id="c1"),
            ToolCallPart("add", "{}", tool_call_id=""),
        ),
        request(
            ToolReturnPart(tool_name="add", content="1", tool_call_id="c1"),
            ToolReturnPart(tool_name="add", content="2", tool_call_id=""),
        ),
    )

    assert [call["id"] for call in answer["tool_calls"]] == ["c1", "tool-call-1-add"]
    assert result["tool_call_id"] == "tool-call-1-add"


async def test_an_answer_with_nothing_in_it_is_left_out(daemon):
    prompts = await daemon.ask_for(
        request(UserPromptPart("Hi")), response(TextPart("")), request(UserPromptPart("Hello?"))
    )

    assert [prompt["role"] for prompt in prompts] == ["user", "user"]


async def test_what_belongs_to_another_provider_is_left_out_of_an_answer(daemon):
    (prompt,) = await daemon.ask_for(
        response(
            NativeToolCallPart("web_search", {"q": "x"}),
            NativeToolReturnPart(tool_name="web_search", content="y", tool_call_id="c"),
            CompactionPart(content=None),
            TextPart("Found."),
        )
    )

    assert prompt == {"role": "assistant", "content": "Found.", "tool_calls": []}


async def test_files_of_an_answer_are_parts_of_its_content(daemon):
    (prompt,) = await daemon.ask_for(response(TextPart("Here."), FilePart(content=PIXEL)))

    assert [part["type"] for part in prompt["content"]] == ["text", "image"]


@pytest.mark.parametrize(
    "message",
    [
        request(SpeechPart(speaker="user", transcript="hi")),
        response(SpeechPart(speaker="assistant", transcript="hi")),
        request(CompactionPart(content=None)),
    ],
)
async def test_a_part_without_a_form_here_is_refused_by_name(daemon, message):
    with pytest.raises(UnexpectedModelBehavior, match=f"A '{message.parts[0].part_kind}' part"):
        await daemon.ask(message)

    assert daemon.requests == []


async def test_user_content_becomes_the_daemons_parts(daemon):
    content = [
        "Look:",
        TextContent("twice"),
        CachePoint(),
        ImageUrl("https://example.com/a.png"),
        ImageUrl("https://example.com/b.jpg", vendor_metadata={"detail": "high"}),
        AudioUrl("https://example.com/a.mp3"),
        VideoUrl("https://example.com/a.mp4"),
        DocumentUrl("https://example.com/a.pdf"),
    ]

    (prompt,) = await daemon.ask_for(request(UserPromptPart(content)))

    def linked(kind: str, suffix: str, media_type: str, **rest: str) -> dict[str, str]:
        return {
            "type": kind,
            "format": suffix,
            "mime_type": media_type,
            "base64_data": "",
            "filename": "",
            **rest,
        }

    assert prompt["content"] == [
        {"type": "text", "data": "Look:"},
        {"type": "text", "data": "twice"},
        linked("image", "png", "image/png", url="https://example.com/a.png", detail="low"),
        linked("image", "jpeg", "image/jpeg", url="https://example.com/b.jpg", detail="high"),
        linked("audio", "mp3", "audio/mpeg", url="https://example.com/a.mp3"),
        linked("video", "mp4", "video/mp4", url="https://example.com/a.mp4"),
        linked("document", "pdf", "application/pdf", url="https://example.com/a.pdf"),
    ]


@pytest.mark.parametrize(
    ("media_type", "kind", "suffix"),
    [
        ("image/png", "image", "png"),
        ("audio/wav", "audio", "wav"),
        ("video/webm", "video", "webm"),
        ("application/pdf", "document", "pdf"),
        ("text/plain", "document", "txt"),
    ],
)
async def test_files_at_hand_go_as_base64(daemon, media_type, kind, suffix):
    part = UserPromptPart([BinaryContent(data=b"abc", media_type=media_type)])

    (prompt,) = await daemon.ask_for(request(part))

    detail = {"detail": "low"} if kind == "image" else {}
    assert prompt["content"] == [
        {
            "type": kind,
            "format": suffix,
            "mime_type": media_type,
            "url": "",
            "base64_data": "YWJj",
            "filename": f"{part.content[0].identifier}.{suffix}" if kind == "document" else "",
            **detail,
        }
    ]


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (UploadedFile(file_id="f1", provider_name="openai"), "a UploadedFile cannot be sent"),
        (ImageUrl("https://example.com/a.png", force_download=True), "force_download=True is not"),
        (ImageUrl("https://example.com/a"), "the format of a ImageUrl is unknown"),
        (BinaryContent(data=b"", media_type="application/x-nope"), "format of a BinaryContent"),
    ],
)
async def test_content_that_the_daemon_does_not_know_is_refused_by_name(daemon, item, message):
    with pytest.raises(UserError, match=message):
        await daemon.ask(request(UserPromptPart([item])))

    assert daemon.requests == []
