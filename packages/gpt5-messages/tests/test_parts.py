"""Images, files and what is neither, in the shapes that go around, at every place of a conversation."""

import base64
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpt5_messages import ItemStore, build_input, move_result_media, without_reasoning


PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n and the rest of it").decode()
PDF = base64.b64encode(b"%PDF-1.7 and the rest of it").decode()
IMAGE_URL = "https://files.example/chart.png?sign=a%2Bb"
FILE_URL = "https://files.example/report.pdf"
PNG_DATA = f"data:image/png;base64,{PNG}"
PDF_DATA = f"data:application/pdf;base64,{PDF}"


def image(source: str, detail: str = "auto") -> dict[str, str]:
    return {"type": "input_image", "detail": detail, "image_url": source}


def file(data: str, name: str) -> dict[str, str]:
    return {"type": "input_file", "filename": name, "file_data": data}


def text(said: str) -> dict[str, str]:
    return {"type": "input_text", "text": said}


def built(*parts: object, role: str = "user") -> Any:
    (item,) = build_input([{"role": role, "content": ["see", *parts]}])
    assert item["content"][0] == text("see")
    return item["content"][1:]


def test_a_text_with_a_cache_breakpoint_keeps_it_and_stands_alone() -> None:
    mark = {"prompt_cache_breakpoint": {"mode": "explicit", "ttl": "12h"}}
    parts = [{"type": "text", "text": "long"} | mark, text("see")]
    empty = text("") | mark
    kept = [text("long") | mark, text("see")]
    call = {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f"}}]}

    for role in ("user", "developer", "system"):
        (item,) = build_input([{"role": role, "content": [*parts, empty]}])
        assert item["content"] == kept
    *_, output = build_input([call, {"role": "tool", "tool_call_id": "c", "content": parts}])
    assert output["output"] == kept


class Detail(Enum):
    HIGH = "high"


@dataclass
class Shape:
    """An object as a platform's SDK makes them."""

    type: str = "image"
    format: str = "png"
    mime_type: str = "image/png"
    base64_data: str = ""
    url: str = ""
    detail: Detail = field(default=Detail.HIGH)

    @property
    def data(self) -> str:
        return self.url or f"data:{self.mime_type};base64,{self.base64_data}"


@dataclass
class Binary:
    """Bytes as pydantic-ai keeps them."""

    data: bytes
    media_type: str
    kind: str = "binary"


@dataclass
class Link:
    """A link as pydantic-ai keeps them, which works out its type."""

    url: str
    kind: str = "image-url"

    @property
    def media_type(self) -> str:
        raise ValueError(self.url)


DIFY = {"type": "image", "format": "png", "mime_type": "image/png", "detail": "low"}
DOCUMENT = {"type": "document", "format": "pdf", "mime_type": "application/pdf"}

IMAGES = [
    (DIFY | {"base64_data": PNG, "url": "", "filename": "a.png"}, image(PNG_DATA, "low")),
    (DIFY | {"base64_data": "", "url": IMAGE_URL}, image(IMAGE_URL, "low")),
    (Shape(base64_data=PNG), image(PNG_DATA, "high")),
    (Shape(url=IMAGE_URL), image(IMAGE_URL, "high")),
    ({"type": "image_url", "image_url": IMAGE_URL}, image(IMAGE_URL)),
    (
        {"type": "image_url", "image_url": {"url": PNG_DATA, "detail": "high"}},
        image(PNG_DATA, "high"),
    ),
    ({"type": "input_image", "image_url": IMAGE_URL}, image(IMAGE_URL)),
    (
        {"type": "input_image", "image_url": PNG_DATA, "detail": "original", "new": 1},
        image(PNG_DATA, "original") | {"new": 1},
    ),
    (
        {"type": "input_image", "file_id": "file-1", "image_url": None},
        {"type": "input_image", "detail": "auto", "file_id": "file-1"},
    ),
    ({"type": "image", "base64": PNG, "mime_type": "image/png", "id": "lc_1"}, image(PNG_DATA)),
    (
        {"type": "image", "source_type": "base64", "data": PNG, "mime_type": "image/png"},
        image(PNG_DATA),
    ),
    ({"type": "image", "source_type": "url", "url": IMAGE_URL}, image(IMAGE_URL)),
    (
        {"type": "image", "source_type": "id", "id": "file-1"},
        {"type": "input_image", "detail": "auto", "file_id": "file-1"},
    ),
    (
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
        image(PNG_DATA),
    ),
    ({"type": "image", "data": PNG, "mimeType": "image/png"}, image(PNG_DATA)),
    (
        {
            "kind": "binary",
            "data": PNG,
            "media_type": "image/png",
            "vendor_metadata": {"detail": "high"},
        },
        image(PNG_DATA, "high"),
    ),
    ({"kind": "image-url", "url": IMAGE_URL, "media_type": "image/png"}, image(IMAGE_URL)),
    (Binary(base64.b64decode(PNG), "image/png"), image(PNG_DATA)),
    (Link(IMAGE_URL), image(IMAGE_URL)),
]

FILES = [
    (DOCUMENT | {"base64_data": PDF, "filename": "a.pdf"}, file(PDF_DATA, "a.pdf")),
    (DOCUMENT | {"base64_data": PDF, "filename": ""}, file(PDF_DATA, "document.pdf")),
    (DOCUMENT | {"url": FILE_URL}, {"type": "input_file", "file_url": FILE_URL}),
    (
        {"type": "file", "file": {"filename": "a.pdf", "file_data": PDF_DATA}},
        file(PDF_DATA, "a.pdf"),
    ),
    ({"type": "file", "file": {"file_id": "f"}}, {"type": "input_file", "file_id": "f"}),
    (
        {"type": "input_file", "filename": "a", "file_data": PDF_DATA, "detail": "low"},
        file(PDF_DATA, "a") | {"detail": "low"},
    ),
    (
        {"type": "input_file", "file_url": FILE_URL},
        {"type": "input_file", "file_url": FILE_URL},
    ),
    (
        {
            "type": "file",
            "base64": PDF,
            "mime_type": "application/pdf",
            "extras": {"filename": "x"},
        },
        file(PDF_DATA, "x"),
    ),
    (
        {"type": "resource", "resource": {"blob": PDF, "mimeType": "application/pdf"}},
        file(PDF_DATA, "document.pdf"),
    ),
    ({"kind": "document-url", "url": FILE_URL}, {"type": "input_file", "file_url": FILE_URL}),
    (
        {"kind": "uploaded-file", "file_id": "f", "media_type": "application/pdf"},
        {"type": "input_file", "file_id": "f"},
    ),
]


@pytest.mark.parametrize(("part", "expected"), IMAGES + FILES)
def test_a_part_of_any_shape_goes_out_as_the_api_takes_it(part: object, expected: object) -> None:
    assert built(part) == [expected]


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (DIFY | {"mime_type": "image/jpg", "base64_data": PNG}, "data:image/jpeg;base64,"),
        (DIFY | {"mime_type": "image/jpg; q=1", "base64_data": PNG}, "data:image/jpeg;base64,"),
        (DIFY | {"mime_type": "application/octet-stream", "base64_data": PNG}, PNG_DATA),
        (DIFY | {"mime_type": "image/bmp", "base64_data": PNG}, PNG_DATA),
        (DIFY | {"mime_type": "", "base64_data": "/9j/4AAQSkZJRg=="}, "data:image/jpeg;"),
        (DIFY | {"mime_type": "", "base64_data": "R0lGODlhAQABAAAAACw="}, "data:image/gif;"),
        (DIFY | {"mime_type": "", "base64_data": "UklGRiQAAABXRUJQVlA4"}, "data:image/webp;"),
        (Binary(base64.b64decode(PNG), ""), None),
        ({"kind": "binary", "data": PDF, "media_type": ""}, PDF_DATA),
        (
            {"type": "file", "file": {"filename": "n.md", "file_data": "aGk="}},
            "data:text/markdown;base64,aGk=",
        ),
        (
            DOCUMENT
            | {"mime_type": "application/octet-stream", "format": ".txt", "base64_data": "aGk="},
            "data:text/plain;base64,aGk=",
        ),
    ],
)
def test_the_type_is_what_is_said_or_else_what_the_bytes_or_the_name_say(
    part: object, expected: str | None
) -> None:
    (out,) = built(part)
    data = out.get("image_url") or out.get("file_data")

    assert data.startswith(expected or PNG_DATA)


@pytest.mark.parametrize("written", ["__77777_z8", "__77777_\nz8=\n", "//77777/z8=", "//77777/z8"])
def test_base64_of_any_alphabet_arrives_in_the_standard_one(written: str) -> None:
    (out,) = built(DIFY | {"base64_data": written})

    decoded = base64.b64decode(out["image_url"].partition(",")[2], validate=True)
    assert decoded.hex() == "fffefbefbeffcf"


def test_a_file_that_is_given_as_text_is_text() -> None:
    assert built({"type": "text-plain", "text": "words"}, SEEN) == [text("words"), image(PNG_DATA)]


AUDIO = "models read text, images and documents, and no audio"
NOT_READ = "models read PNG, JPEG, WebP and GIF images, and not "


@pytest.mark.parametrize(
    ("part", "told"),
    [
        ({"type": "audio", "filename": "a.mp3", "base64_data": "QUJD"}, f'audio "a.mp3" omitted: {AUDIO}'),
        ({"type": "input_audio", "input_audio": {"data": "QUJD"}}, f"audio omitted: {AUDIO}"),
        ({"kind": "binary", "data": "QUJD", "media_type": "audio/wav"}, f"audio omitted: {AUDIO}"),
        ({"type": "video", "url": "https://x.example/v"}, "video omitted: " + AUDIO.replace("audio", "video")),
        (DIFY | {"mime_type": "image/svg+xml", "base64_data": "PHN2"}, f"image omitted: {NOT_READ}image/svg+xml"),
        (DIFY | {"mime_type": "image/svg+xml", "url": IMAGE_URL}, f"image omitted: {NOT_READ}image/svg+xml"),
        (DIFY | {"mime_type": "", "base64_data": "é"}, f"image omitted: {NOT_READ}this"),
        (DIFY, "image omitted: it is empty"),
        (Shape(), "image omitted: it is empty"),
        ({"type": "image_url", "image_url": {"url": ""}}, "image omitted: it is empty"),
        ({"type": "input_image", "image_url": "data:image/png;base64,"}, "image omitted: it is empty"),
        (DOCUMENT | {"filename": "[a]"}, 'file "_a_" omitted: it is empty'),
        (DIFY | {"url": "/files/tools/1.png"}, "image omitted: its link is no http or https address"),
        ({"type": "file", "file": {"file_data": "QUJD"}}, "file omitted: nothing says of which type it is"),
        ({"type": "widget", "x": 1}, "widget omitted: it is no text, image or document"),
    ],
)  # fmt: skip
def test_a_sentence_stands_for_what_cannot_be_sent(part: object, told: str) -> None:
    (item,) = build_input([{"role": "user", "content": [part]}])

    assert item["content"] == [text(f"[{told}]")]


def test_texts_alone_are_one_part_and_beside_an_image_stay_apart() -> None:
    seen = {"type": "input_image", "image_url": IMAGE_URL}

    assert build_input([{"role": "user", "content": ["a", "b"]}])[0]["content"] == [text("a\nb")]
    assert built("b", seen, "c", "") == [text("b"), image(IMAGE_URL), text("c")]


CALL = {"id": "c1", "function": {"name": "look", "arguments": "{}"}}
SEEN = {"type": "image_url", "image_url": {"url": PNG_DATA}}


def shape(items: list[dict[str, Any]]) -> list[str]:
    return [item.get("role", item["type"]) for item in items]


@pytest.mark.parametrize(
    "result",
    [
        {"role": "tool", "tool_call_id": "c1", "content": ["seen:", SEEN]},
        {"call_id": "c1", "content": ["seen:", SEEN]},
        {
            "parts": [
                {
                    "part_kind": "tool-return",
                    "tool_name": "look",
                    "tool_call_id": "c1",
                    "content": [
                        "seen:",
                        {"kind": "binary", "data": PNG, "media_type": "image/png"},
                    ],
                }
            ]
        },
    ],
)
def test_a_tool_answers_with_parts(result: dict[str, Any]) -> None:
    call = {"role": "assistant", "tool_calls": [CALL]}

    assert build_input([call, result])[-1] == {
        "type": "function_call_output",
        "call_id": "c1",
        "output": [text("seen:"), image(PNG_DATA)],
    }


def test_an_image_inside_the_data_of_a_tool_stands_behind_it() -> None:
    data = {"kind": "binary", "data": PNG, "media_type": "image/png"}
    value = {"plot": data, "more": [1, data]}
    parts = [
        {"part_kind": "tool-call", "tool_name": "f", "args": "{}", "tool_call_id": "c1"},
        {"part_kind": "tool-return", "tool_name": "f", "tool_call_id": "c1", "content": value},
    ]
    (*_, output) = build_input([{"parts": parts[:1]}, {"parts": parts[1:]}])

    assert output["output"] == [
        text('{"plot": "(part 1 after this)", "more": [1, "(part 2 after this)"]}'),
        image(PNG_DATA),
        image(PNG_DATA),
    ]


def test_an_image_that_a_model_of_pydantic_ai_made_moves_behind_its_answer() -> None:
    made = {"kind": "binary", "data": PNG, "media_type": "image/png"}
    parts = [
        {"part_kind": "text", "content": "Here"},
        {"part_kind": "text", "content": " it is."},
        {"part_kind": "file", "content": made},
    ]

    assert build_input([{"parts": parts}]) == [
        {"type": "message", "role": "assistant", "content": "Here it is."},
        {"type": "message", "role": "user", "content": [text(FROM["assistant"]), image(PNG_DATA)]},
    ]


FROM = {
    "assistant": "This came with the assistant's message above:",
    "developer": "This belongs to the developer's message above:",
    "system": "This belongs to the system message above:",
}


@pytest.mark.parametrize("role", ["system", "developer"])
def test_an_image_of_an_instruction_moves_into_a_user_message_right_behind(role: str) -> None:
    messages = [
        {"role": role, "content": ["Our logo:", SEEN, "Be kind."]},
        {"role": role, "content": [SEEN]},
        {"role": "user", "content": "Hi"},
    ]
    moved = {"type": "message", "role": "user", "content": [text(FROM[role]), image(PNG_DATA)]}

    assert build_input(messages) == [
        {"type": "message", "role": role, "content": [text("Our logo:"), text("Be kind.")]},
        moved,
        moved,
        {"type": "message", "role": "user", "content": [text("Hi")]},
    ]


REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"}
MADE_CALL = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"}
OPAQUE = {"responses_output": [REASONING, MADE_CALL]}


@pytest.mark.parametrize("opaque", [None, OPAQUE])
def test_what_belongs_together_stays_so(opaque: object) -> None:
    answer = {"role": "assistant", "content": [SEEN], "tool_calls": [CALL], "opaque_body": opaque}
    result = {"role": "tool", "tool_call_id": "c1", "content": "ok"}
    items = build_input([answer, result, {"role": "user", "content": "And?"}])

    reasoning = ["reasoning"] if opaque else []
    assert shape(items) == [*reasoning, "function_call", "function_call_output", "user", "user"]
    assert items[-2]["content"] == [text(FROM["assistant"]), image(PNG_DATA)]


def test_sound_that_an_assistant_said_is_told_of_too() -> None:
    said = {"role": "assistant", "content": ["Hear", {"type": "audio", "base64_data": "QUJD"}]}
    answer, note = build_input([said])

    assert answer == {"type": "message", "role": "assistant", "content": "Hear"}
    assert note["content"] == [text(FROM["assistant"]), text(f"[audio omitted: {AUDIO}]")]


def test_items_of_the_api_are_kept_but_for_images_where_none_may_stand() -> None:
    seen = {"type": "input_image", "image_url": PNG_DATA, "detail": "original"}
    user = {"type": "message", "role": "user", "content": [seen]}
    output = {"type": "function_call_output", "call_id": "c1", "output": [seen]}
    said = {"type": "message", "role": "assistant", "id": "msg_1", "content": [seen]}
    items = build_input([user, MADE_CALL, output, REASONING, said])

    assert items == [
        user,
        MADE_CALL,
        output,
        REASONING,
        {"type": "message", "role": "assistant", "content": "(what follows below)"},
        {"type": "message", "role": "user", "content": [text(FROM["assistant"]), seen]},
    ]


def test_a_hosted_call_that_nobody_answers_holds_nothing_up() -> None:
    said = {"role": "assistant", "content": [SEEN]}
    searched = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    items = build_input([said, searched, {"role": "user", "content": "Hi"}])

    assert shape(items) == ["web_search_call", "user", "user"]


def test_images_of_results_move_behind_all_results_of_their_round() -> None:
    def result(call_id: str, *parts: dict[str, Any]) -> dict[str, Any]:
        return {"type": "function_call_output", "call_id": call_id, "output": list(parts)}

    calls = [MADE_CALL, {**MADE_CALL, "call_id": "c2"}]
    asked = {"type": "message", "role": "user", "content": [text("And?")]}
    seen = image(PNG_DATA)
    items = [*calls, result("c1", seen, text("It.")), result("c2", text("a")), asked]

    assert move_result_media([*items, result("lost", seen)]) == [
        *calls,
        result("c1", text("It.")),
        result("c2", text("a")),
        {
            "type": "message",
            "role": "user",
            "content": [text("This came with the result of look above:"), seen],
        },
        asked,
        {**result("lost"), "output": "(what follows below)"},
        {
            "type": "message",
            "role": "user",
            "content": [text("This came with the result of a tool above:"), seen],
        },
    ]
    assert move_result_media([calls[0], {**result("c1"), "output": "a"}])[1]["output"] == "a"


def test_a_message_of_the_api_with_parts_of_others_is_read() -> None:
    foreign = {"type": "message", "role": "user", "content": [{"type": "text", "text": "a"}, SEEN]}

    assert build_input([foreign])[0]["content"] == [text("a"), image(PNG_DATA)]


def test_what_led_to_calls_is_recalled_whatever_became_of_the_images() -> None:
    told = [
        ["What?", SEEN],
        "What?\n[image]",
        ["What?", {"type": "audio", "filename": "a b.mp3", "base64_data": "QUJD"}],
        'What?[image "chart.png" omitted: the oldest images had to go]',
        "What?",
    ]
    store = ItemStore()
    store.remember("k", [{"role": "user", "content": told[0]}], [REASONING, MADE_CALL])
    answer = {"role": "assistant", "tool_calls": [CALL]}
    result = {"call_id": "c1", "content": "ok"}
    for content in told:
        history = [{"role": "user", "content": content}, answer, result]
        items = build_input(history, recall=lambda turn: store.recall("k", turn))
        assert REASONING in items
    assert without_reasoning(items)


PIECES = st.lists(
    st.sampled_from(IMAGES + FILES)
    | st.text(min_size=1, max_size=5).map(lambda said: (said, text(said))),
    max_size=8,
).filter(lambda pieces: any(not isinstance(part, str) for part, _ in pieces))


@given(PIECES, st.sampled_from(["user", "tool", "system", "assistant"]))
def test_any_mixture_goes_out_in_order_and_byte_for_byte(
    pieces: list[tuple[Any, Any]], role: str
) -> None:
    marker = ({"type": "image_url", "image_url": IMAGE_URL}, image(IMAGE_URL))
    parts, expected = zip(*pieces, marker, strict=True)
    call = {"role": "assistant", "tool_calls": [CALL]}
    before = [call] if role == "tool" else []
    message = {"role": role, "content": list(parts), "tool_call_id": "c1"}
    items = build_input([*before, message])[len(before) :]

    if role in ("user", "tool"):
        (item,) = items
        assert item["output" if role == "tool" else "content"] == list(expected)
        return
    *said, moved = items
    texts = [part["text"] for part in expected if part["type"] == "input_text"]
    media = [part for part in expected if part["type"] != "input_text"]
    plain = [part["text"] if isinstance(part, dict) else part for part in _contents(said)]
    assert [part for part in moved["content"][1:] if part["type"] != "input_text"] == media
    if role == "system":
        assert plain == texts


def _contents(items: list[dict[str, Any]]) -> list[Any]:
    return [part for item in items for part in item["content"]]
