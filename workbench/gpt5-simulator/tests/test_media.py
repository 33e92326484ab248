"""Images and files in requests: what is refused, what the demonstration model says of them, what they cost."""

import base64
import hashlib
import struct

import pytest

from gpt5_simulator import ResponsesSimulator


def data_url(data, kind="image/png"):
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def png(width, height):
    head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height)
    return head + b"\x08\2\0\0\0"


PNG = data_url(png(640, 480))
IMAGE = {"type": "input_image", "image_url": PNG}
FILE = {
    "type": "input_file",
    "filename": "a.pdf",
    "file_data": data_url(b"%PDF-1.7", "application/pdf"),
}
USER = {"role": "user", "content": "Hi"}
CALL = {"type": "function_call", "call_id": "call_1", "name": "draw", "arguments": "{}"}


def digest(data):
    return hashlib.sha256(data).hexdigest()[:12]


def message(*parts, role="user"):
    return {"role": role, "content": list(parts)}


def output(*parts):
    return {"type": "function_call_output", "call_id": "call_1", "output": list(parts)}


def text_of(response):
    assert response.status_code == 200, response.text
    return response.json()["output"][-1]["content"][0]["text"]


AT = "input[0].content[0]"


@pytest.mark.parametrize(
    ("part", "param", "code"),
    [
        ({"type": "input_image"}, f"{AT}.image_url", "missing_required_parameter"),
        (IMAGE | {"file_id": "f"}, AT, "mutually_exclusive_parameters"),
        ({"type": "input_image", "image_url": {"url": PNG}}, f"{AT}.image_url", "invalid_type"),
        (IMAGE | {"detail": "huge"}, f"{AT}.detail", "invalid_value"),
        (IMAGE | {"detail": "original"}, f"{AT}.detail", "unsupported_value"),
        (IMAGE | {"image_url": "/files/1.png"}, f"{AT}.image_url", "invalid_value"),
        (IMAGE | {"image_url": "data:image/png"}, f"{AT}.image_url", "invalid_value"),
        (
            IMAGE | {"image_url": data_url(b"<svg/>", "image/svg+xml")},
            f"{AT}.image_url",
            "invalid_value",
        ),
        (IMAGE | {"image_url": "data:image/png;base64,"}, f"{AT}.image_url", "invalid_value"),
        (IMAGE | {"image_url": "data:image/png,abc"}, f"{AT}.image_url", "invalid_value"),
        (IMAGE | {"image_url": "data:image/png;base64,a-_b"}, f"{AT}.image_url", "invalid_value"),
        (IMAGE | {"image_url": data_url(b"no image")}, f"{AT}.image_url", "image_parse_error"),
        (
            IMAGE | {"image_url": data_url(b"RIFF\0\0\0\0WEBPVP8X" + b"\0" * 12)},
            f"{AT}.image_url",
            "image_parse_error",
        ),
        ({"type": "input_file"}, f"{AT}.file_data", "missing_required_parameter"),
        (
            {"type": "input_file", "file_data": FILE["file_data"]},
            f"{AT}.filename",
            "missing_required_parameter",
        ),
        (FILE | {"detail": "original"}, f"{AT}.detail", "invalid_value"),
        (FILE | {"file_data": "JVBERi0="}, f"{AT}.file_data", "invalid_value"),
        (FILE | {"file_data": data_url(b"ID3", "audio/mpeg")}, f"{AT}.file_data", "invalid_value"),
        (FILE | {"file_data": "data:text/plain;base64,"}, f"{AT}.file_data", "invalid_value"),
        (FILE | {"file_data": "data:text/plain;base64,é"}, f"{AT}.file_data", "invalid_value"),
    ],
)
def test_a_part_that_cannot_be_read_is_refused_with_its_place(server, ask, part, param, code):
    response = ask(server, input=[message(part)])
    error = response.json()["error"]

    assert response.status_code == 400
    assert (error["param"], error["code"]) == (param, code)


def test_the_parts_of_a_tools_output_are_checked_at_their_place(server, ask):
    """As recorded: 400 for a sound in a file, at `input[3].output[0].file_data`."""
    sound = FILE | {"file_data": data_url(b"ID3", "audio/mpeg")}
    error = ask(server, input=[USER, CALL, output(sound)]).json()["error"]

    assert (error["param"], error["code"]) == ("input[2].output[0].file_data", "invalid_value")
    assert error["message"].endswith("but got unsupported MIME type 'audio/mpeg'.")
    assert ask(server, input=[USER, CALL, output({"type": "output_text"})]).status_code == 400
    assert ask(server, input=[USER, CALL, {**output(), "output": 5}]).status_code == 400


@pytest.mark.parametrize(
    ("role", "param"),
    [("system", AT), ("developer", AT), ("assistant", f"{AT}.type")],
)
@pytest.mark.parametrize("part", [IMAGE, FILE])
def test_an_image_or_file_may_stand_with_users_and_tools_only(server, ask, part, role, param):
    error = ask(server, input=[message(part, role=role), USER]).json()["error"]

    assert (error["param"], error["code"]) == (param, "invalid_value")


def test_there_is_a_limit_to_the_number_of_images(server, ask):
    part = {"type": "input_image", "file_id": "file-1"}

    assert ask(server, input=[message(*[part] * 1_500)]).status_code == 200
    error = ask(server, input=[message(*[part] * 1_501)]).json()["error"]
    assert error["message"].startswith("Too many images in request. Expected at most 1500")


def test_there_is_a_limit_to_the_size_of_files(server, ask):
    large = FILE | {"file_data": "data:text/plain;base64," + "QUFB" * (18 * 1024 * 1024)}
    error = ask(server, input=[message(large)]).json()["error"]

    assert "The limit is 52428800 bytes" in error["message"]


@pytest.mark.parametrize(
    "part",
    [
        IMAGE | {"detail": "high"},
        {"type": "input_image", "image_url": "https://example.com/a.png", "detail": None},
        {"type": "input_image", "file_id": "file-1"},
        FILE | {"detail": "low"},
        {"type": "input_file", "file_url": "https://example.com/a.pdf"},
        {"type": "input_file", "file_id": "file-1"},
    ],
)
def test_what_the_api_takes_is_taken(server, ask, part):
    assert ask(server, input=[message(part)]).status_code == 200
    assert ask(server, input=[USER, CALL, output(part)]).status_code == 200


def test_an_original_image_is_taken_by_the_models_that_have_it(server, ask):
    part = IMAGE | {"detail": "original"}

    assert ask(server, input=[message(part)], model="gpt-5.5").status_code == 200
    with ResponsesSimulator(strict=False) as lenient:
        response = ask(lenient, input=[message(part, IMAGE | {"image_url": 5})], model="mine")
    assert response.status_code == 200


def test_the_demonstration_model_says_what_it_was_shown(server, ask):
    link = {"type": "input_image", "image_url": "https://example.com/a.png"}
    items = [
        message(IMAGE, FILE, {"type": "input_text", "text": "What is this?"}),
        CALL,
        output(
            {"type": "input_text", "text": "drawn"}, link, {"type": "input_file", "file_id": "f"}
        ),
    ]

    assert text_of(ask(server, input=items)).split("\n") == [
        "This is what I was shown:",
        f"- user: image, image/png, 640 x 480 pixels, 29 bytes, SHA-256 {digest(png(640, 480))}",
        f"- user: file 'a.pdf', application/pdf, 8 bytes, SHA-256 {digest(b'%PDF-1.7')}",
        "- draw: image at https://example.com/a.png",
        "- draw: file with the id f",
        "This is what the tools returned:",
        "- draw: drawn",
    ]


def test_of_very_many_images_the_rest_is_counted(server, ask):
    part = {"type": "input_image", "file_id": "file-1"}

    assert "\n- and 10 more\n" in text_of(ask(server, input=[message(*[part] * 60)]))


def test_images_and_files_cost_what_they_are_and_not_their_base64(server, ask):
    def tokens(*parts):
        usage = ask(server, input=[message(*parts)]).json()["usage"]
        return usage["input_tokens"]

    large = data_url(png(640, 480) + b"x" * 100_000)
    assert tokens(IMAGE) == tokens(IMAGE | {"image_url": large}) == pytest.approx(300, abs=30)
    assert tokens(IMAGE | {"image_url": "https://example.com/a.png"}) == pytest.approx(1024, abs=30)
    text = data_url(b"x" * 4_000, "text/plain")
    assert tokens(FILE | {"file_data": text}) == pytest.approx(1000, abs=30)
