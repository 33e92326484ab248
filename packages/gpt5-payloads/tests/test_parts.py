"""What becomes of images and files on their way to a model, and what they count."""

import base64
import math
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpt5_payloads import (
    PayloadError,
    build_request,
    count_tokens,
    omit_media,
    profile_for,
    wire_item,
)


def data_url(data: bytes, kind: str = "image/png") -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height)


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height)


def jpeg(width: int, height: int) -> bytes:
    comment = b"\xff\xe1\x00\x06Exif\xff\xff\xc4\x00\x04\0\0"
    frame = b"\xff\xc2\x00\x11\x08" + struct.pack(">HH", height, width) + b"\x03\0\0"
    return b"\xff\xd8" + comment + frame


def webp(width: int, height: int, *, kind: str = "VP8 ") -> bytes:
    head = b"RIFF\0\0\0\0WEBP" + kind.encode()
    match kind:
        case "VP8 ":
            return head + b"\0" * 10 + struct.pack("<HH", width, height)
        case "VP8L":
            bits = (width - 1) | (height - 1) << 14
            return head + b"\0" * 4 + b"\x2f" + struct.pack("<I", bits) + b"\0" * 9
        case _:
            sides = (struct.pack("<I", side - 1)[:3] for side in (width, height))
            return head + b"\0" * 8 + b"".join(sides)


def lossless(width: int, height: int) -> bytes:
    return webp(width, height, kind="VP8L")


def extended(width: int, height: int) -> bytes:
    return webp(width, height, kind="VP8X")


def image(source: str | None, **fields: object) -> dict[str, Any]:
    return {"type": "input_image", "image_url": source, **fields}


def message(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(parts)}


def sent(model: str, item: dict[str, Any], **parameters: object) -> Any:
    (out,) = build_request(model=model, input=[item], parameters=parameters)["input"]
    return out


def tokens(model: str, part: dict[str, Any]) -> int:
    return count_tokens([message(part)], model=model) - count_tokens([message()], model=model)


PNG = data_url(png(640, 480))
FILE = {
    "type": "input_file",
    "filename": "a.pdf",
    "file_data": data_url(b"%PDF", "application/pdf"),
}


@pytest.mark.parametrize("detail", ["low", "auto", "high", "original", "huge"])
def test_an_image_keeps_its_detail_where_the_model_has_it(detail: object) -> None:
    part = image(PNG, detail=detail)

    assert sent("gpt-6.2-sol", message(part, FILE))["content"] == [part, FILE]


@pytest.mark.parametrize("part", [image(PNG, detail="auto"), FILE, {"type": "input_text"}])
@pytest.mark.parametrize("place", ["content", "output"])
def test_a_cache_breakpoint_goes_to_models_that_have_it_and_is_refused_for_others(
    part: dict[str, Any], place: str
) -> None:
    marked = {**part, "prompt_cache_breakpoint": {"mode": "explicit"}}
    item = {"type": "message", "role": "user", place: [{"type": "input_text", "text": "a"}, marked]}

    assert sent("gpt-5.6", item) == sent("another-model", item) == item
    assert sent("gpt-5.5", {**item, place: [{**part, "prompt_cache_breakpoint": None}]})
    with pytest.raises(PayloadError, match="is not available for this model") as refused:
        sent("gpt-5.5", item)
    assert refused.value.field == "prompt_cache_breakpoint"


@pytest.mark.parametrize("given", [{}, {"detail": None}])
def test_an_image_without_a_detail_goes_out_with_one_for_other_servers_demand_it(
    given: dict[str, None],
) -> None:
    output = {"type": "function_call_output", "call_id": "c", "output": [image(PNG, **given)]}

    assert sent("gpt-5.2", message(image(PNG, **given)))["content"] == [image(PNG, detail="auto")]
    assert sent("gpt-5.2", output)["output"] == [image(PNG, detail="auto")]


SAID = {"type": "output_text", "text": "Hi", "annotations": [], "logprobs": []}
WHOLE = {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed"}
OUTPUT = {"type": "function_call_output", "call_id": "c"}
MARKED = {"type": "input_text", "text": "a", "prompt_cache_breakpoint": {"mode": "explicit"}}


@pytest.mark.parametrize(
    ("item", "wire"),
    [
        ({"role": "user", "content": "Hi"}, {"type": "message", "role": "user", "content": "Hi"}),
        (
            {"type": None, "role": "assistant", "content": [SAID], "phase": "commentary"},
            {"type": "message", "role": "assistant", "content": "Hi", "phase": "commentary"},
        ),
        (
            {**WHOLE, "id": None, "content": [SAID, {"type": "refusal", "refusal": "No."}]},
            {"type": "message", "role": "assistant", "content": "Hi\nNo."},
        ),
        ({**WHOLE, "content": [SAID]}, {**WHOLE, "content": [SAID]}),
        (
            {"role": "assistant", "content": [SAID, FILE]},
            {"type": "message", "role": "assistant", "content": [SAID, FILE]},
        ),
        (
            {"role": "assistant", "content": []},
            {"type": "message", "role": "assistant", "content": []},
        ),
        (
            {**OUTPUT, "output": [{"type": "input_text", "text": text} for text in "ab"]},
            {**OUTPUT, "output": "a\nb"},
        ),
        ({**OUTPUT, "output": [MARKED]}, {**OUTPUT, "output": [MARKED]}),
        ({**OUTPUT, "output": [SAID, FILE]}, {**OUTPUT, "output": [SAID, FILE]}),
        ({"type": "reasoning", "role": "assistant", "content": [SAID]},) * 2,
        ({"type": "additional_tools", "role": "developer", "tools": []},) * 2,
    ],
)
def test_an_item_goes_out_in_the_shape_that_all_servers_take(
    item: dict[str, Any], wire: dict[str, Any]
) -> None:
    assert sent("gpt-5.6", item) == wire
    assert wire_item(wire) == wire


def test_a_server_that_takes_no_files_gets_a_sentence_for_each() -> None:
    told = {"type": "input_text", "text": '[file "a.pdf" omitted: it takes none]'}
    item = {"type": "message", "role": "user", "content": [FILE, image(PNG), "bare"]}
    output = {**OUTPUT, "output": [FILE]}

    assert omit_media(item, "file", reason="it takes none")["content"] == [told, image(PNG), "bare"]
    assert omit_media(output, "file", reason="it takes none")["output"] == told["text"]
    assert output["output"] == [FILE]


@pytest.mark.parametrize(
    ("model", "wanted", "taken"),
    [
        ("gpt-5.2", "original", "high"),
        ("gpt-5.4-mini", "original", "high"),
        ("gpt-5.4", "original", "original"),
        ("gpt-5", "low", "low"),
        ("deployment-of-mine", "original", "original"),
    ],
)
def test_a_detail_is_fitted_to_the_model(model: str, wanted: str, taken: str) -> None:
    assert sent(model, message(image(PNG, detail=wanted)))["content"][0]["detail"] == taken
    assert sent(model, message(image(PNG)), image_detail=wanted)["content"][0]["detail"] == taken


def test_the_parameter_counts_for_every_image_and_for_no_file() -> None:
    output = {"type": "function_call_output", "call_id": "c", "output": [image(PNG, detail="low")]}
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    items = [message(image(PNG), FILE), call, output]
    body = build_request(model="gpt-5.5", input=items, parameters={"image_detail": " Original "})

    assert body["input"][0]["content"] == [image(PNG, detail="original"), FILE]
    assert body["input"][2]["output"] == [image(PNG, detail="original")]
    assert items[0] == message(image(PNG), FILE)


def test_an_unknown_detail_is_an_error_that_names_the_field() -> None:
    with pytest.raises(PayloadError, match="unsupported image_detail: full") as caught:
        build_request(model="gpt-5", input=[], parameters={"image_detail": "full"})
    assert caught.value.field == "image_detail"


@pytest.mark.parametrize("model", ["gpt-3.5-turbo", "gpt-4", "o3-mini", "openai/gpt-oss-120b"])
def test_a_model_that_reads_text_only_is_told_what_it_does_not_see(model: str) -> None:
    (picture, file) = sent(model, message(image(PNG), FILE))["content"]
    reason = "omitted: this model reads text only]"

    assert picture == {"type": "input_text", "text": f"[image {reason}"}
    assert file == {"type": "input_text", "text": f'[file "a.pdf" {reason}'}


@pytest.mark.parametrize("model", ["gpt-4-turbo", "gpt-4o", "o3", "gpt-5", "some-model"])
def test_other_models_read_images_and_files(model: str) -> None:
    profile = profile_for(model)

    assert profile.images
    assert profile.files


def test_the_word_json_inside_an_image_does_not_count() -> None:
    part = image("data:image/png;base64,json")

    with pytest.raises(PayloadError, match="the word JSON"):
        sent("gpt-5", message(part), response_format="json_object")


MAKERS = [png, gif, jpeg, webp, lossless, extended]


@pytest.mark.parametrize("make", MAKERS)
@given(width=st.integers(1, 10_000), height=st.integers(1, 10_000))
def test_the_size_is_read_of_every_format(make: Any, width: int, height: int) -> None:
    part = image(data_url(make(width, height)), detail="original")

    patches = math.ceil(width / 32) * math.ceil(height / 32)
    assert tokens("gpt-5.6", part) == math.ceil(patches * 1.2)


UNKNOWN = 1229  # as an image of 1024 by 1024


@pytest.mark.parametrize(
    "source",
    [
        None,
        "https://example.com/a.png",
        "data:nothing",
        "data:image/png;base64,é",
        data_url(b""),
        data_url(b"<svg/>"),
        data_url(png(1, 1)[:14]),
        data_url(jpeg(640, 480)[:18]),
        data_url(b"\xff\xd8\xff\xda nothing that ends"),
        data_url(jpeg(0, 480)),
        data_url(webp(0, 0)),
        data_url(extended(5, 5)[:20]),
    ],
)
def test_an_image_of_unknown_size_counts_as_a_middling_one(source: str | None) -> None:
    assert tokens("gpt-5.6", image(source)) == UNKNOWN


@pytest.mark.parametrize(
    ("model", "size", "detail", "expected"),
    [
        # The guide's own two examples, by the factor of the model.
        ("gpt-5.2", (1024, 1024), "high", math.ceil(1024 * 1.2)),
        ("gpt-5.2", (1800, 2400), "high", math.ceil(1452 * 1.2)),
        ("gpt-5-mini", (1024, 1024), "auto", math.ceil(1024 * 1.2)),
        ("gpt-5-nano", (1024, 1024), None, math.ceil(1024 * 1.5)),
        ("gpt-5.2", (4000, 3000), "original", math.ceil(1452 * 1.2)),
        ("gpt-5.2", (2048, 1024), "low", math.ceil(128 * 1.2)),
        ("gpt-5.4", (4000, 3000), "auto", math.ceil(2451 * 1.2)),
        ("gpt-5.4", (4000, 3000), "original", math.ceil(9890 * 1.2)),
        ("gpt-5.5", (4000, 3000), "auto", math.ceil(9890 * 1.2)),
        ("gpt-5.5", (12_000, 400), "original", math.ceil(1316 * 1.2)),
        ("gpt-5.6", (4000, 3000), "auto", math.ceil(125 * 94 * 1.2)),
        ("gpt-6.2-sol", (4000, 3000), "high", math.ceil(2451 * 1.2)),
        ("gpt-5.6", (100_000, 20), "high", math.ceil(64 * 1.2)),
        ("gpt-5", (1024, 1024), "high", 70 + 4 * 140),
        ("gpt-5", (4096, 8192), "high", 70 + 6 * 140),
        ("gpt-5", (300, 200), "auto", 70 + 140),
        ("gpt-5", (300, 200), "low", 70),
        ("gpt-4o", (1024, 1024), "high", 765),
    ],
)
def test_images_count_as_openai_counts_them(
    model: str, size: tuple[int, int], detail: str | None, expected: int
) -> None:
    assert tokens(model, image(data_url(png(*size)), detail=detail)) == expected


@given(st.integers(1, 20_000), st.integers(1, 20_000))
def test_no_image_is_over_its_models_budget(width: int, height: int) -> None:
    part = image(data_url(png(width, height)), detail="high")

    assert 1 <= tokens("gpt-5.2", part) <= math.ceil(1536 * 1.2)


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (FILE, 1_500),
        (FILE | {"file_data": data_url(b"x" * 120_000, "application/pdf")}, 4_500),
        (FILE | {"file_data": data_url(b"x" * 3_000, "text/plain")}, 754),
        ({"type": "input_file", "file_url": "https://example.com/a.pdf"}, 3_000),
        ({"type": "input_text", "text": ""}, 0),
    ],
)
def test_a_file_counts_by_its_size(part: dict[str, Any], expected: int) -> None:
    unnamed = {key: value for key, value in part.items() if key != "filename"}

    assert tokens("gpt-5", unnamed) == expected


def test_what_is_no_part_at_all_is_left_to_the_server() -> None:
    item = {"type": "message", "role": "user", "content": ["bare", 5]}

    assert sent("gpt-5", item) == item
    assert count_tokens([item]) >= 4
