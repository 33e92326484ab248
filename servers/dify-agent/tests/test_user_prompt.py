"""What the user of one of Dify's agent apps says."""

import base64
import weakref

import pytest
from pydantic import ValidationError
from pydantic_ai.messages import AudioUrl, BinaryContent, DocumentUrl, ImageUrl, VideoUrl

from dify_agent.layers.user_prompt import UserPromptLayer, UserPromptLayerConfig


PNG = b"\x89PNG\r\n\x1a\n"
IMAGE = {
    "type": "image",
    "filename": "chart.png",
    "mime_type": "image/png",
    "format": "png",
    "base64_data": base64.b64encode(PNG).decode(),
}


def prompts(*files, text="What is on it?"):
    config = UserPromptLayerConfig.model_validate({"text": text, "files": files})
    return UserPromptLayer.from_config(config).user_prompts


def linked(**fields):
    return {name: value for name, value in IMAGE.items() if name != "base64_data"} | fields


def test_a_text_stands_before_its_files():
    text, image = prompts(IMAGE | {"detail": "high"})

    assert text == "What is on it?"
    assert isinstance(image, BinaryContent)
    assert (image.data, image.media_type) == (PNG, "image/png")
    assert image.vendor_metadata == {"filename": "chart.png", "detail": "high"}


def test_a_file_is_decoded_once_and_nobody_keeps_its_base64():
    config = UserPromptLayerConfig.model_validate({"text": "What is on it?", "files": [IMAGE]})
    layer, known = UserPromptLayer.from_config(config), weakref.ref(config)
    del config

    assert layer.user_prompts[1] is layer.user_prompts[1]
    assert known() is None


def test_a_blank_text_says_nothing():
    assert prompts(text=" \n") == []


@pytest.mark.parametrize(
    ("kind", "mime", "expected"),
    [
        ("image", "image/png", ImageUrl),
        ("audio", "audio/mpeg", AudioUrl),
        ("video", "video/mp4", VideoUrl),
        ("document", "application/pdf", DocumentUrl),
        ("custom", "text/plain", DocumentUrl),
    ],
)
def test_a_file_may_be_behind_a_link(kind, mime, expected):
    file = linked(type=kind, mime_type=mime, url="https://dify.example/file", filename="")
    [_, link] = prompts(file | {"base64_data": None})

    assert isinstance(link, expected)
    assert (link.url, link.media_type) == ("https://dify.example/file", mime)
    assert link.vendor_metadata is None


def test_later_versions_say_how_a_file_comes():
    [_, image] = prompts(IMAGE | {"delivery": "multimodal"})
    assert image.data == PNG


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"transfer_method": "local_file", "reference": "upload:1"}, "upload:1"),
        ({"transfer_method": "remote_url", "url": "https://a.example/b.zip"}, "b.zip"),
    ],
)
def test_of_a_file_that_dify_leaves_to_a_shell_the_model_is_told(fields, name):
    [_, told] = prompts({"delivery": "download", "type": "document", **fields})

    assert name in told
    assert "it can only be downloaded in a shell, and there is none here" in told


@pytest.mark.parametrize(
    ("file", "problem"),
    [
        (IMAGE | {"base64_data": "*"}, "expected base64"),
        (IMAGE | {"base64_data": "ü"}, "expected base64"),
        (IMAGE | {"url": "https://dify.example/file"}, "expected either base64_data or url"),
        (linked(), "expected either base64_data or url"),
        (IMAGE | {"mime_type": ""}, "expected a mime_type"),
        (IMAGE | {"type": "poem"}, "type"),
        (IMAGE | {"unknown": 1}, "Extra inputs"),
    ],
)
def test_a_file_that_cannot_be_shown_is_refused_and_not_quoted(file, problem):
    with pytest.raises(ValidationError, match=problem) as refused:
        prompts(file)
    assert IMAGE["base64_data"] not in str(refused.value)


def test_a_file_s_bytes_are_not_shown():
    config = UserPromptLayerConfig.model_validate({"text": "", "files": [IMAGE]})
    assert IMAGE["base64_data"] not in repr(config)
