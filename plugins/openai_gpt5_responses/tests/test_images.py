"""Images and documents as Dify sends them, through the plugin's process."""

import base64
import json
from typing import Any

import pytest

from gpt5_simulator import HttpError, RawServer, ResponsesSimulator
from model_plugin import ModelPlugin, png
from raw_answers import completed, delta, streams


PNG = png(640, 480)
PDF = base64.b64encode(b"%PDF-1.7").decode()
IMAGE = {"type": "image", "format": "png", "mime_type": "image/png", "url": "", "detail": "low"}
DOCUMENT = {"type": "document", "format": ".pdf", "mime_type": "application/pdf", "url": ""}


def user(*parts: object) -> list[dict[str, Any]]:
    return [{"role": "user", "content": list(parts)}]


def sent(plugin: ModelPlugin, server: ResponsesSimulator, *parts: object, **request: Any) -> Any:
    answer = plugin.invoke(server, user(*parts), **request)
    assert answer.error is None
    return server.requests[-1].body["input"][-1]["content"]


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (
            IMAGE | {"base64_data": PNG},
            {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "low"},
        ),
        (
            IMAGE | {"url": "https://dify.example/a.png?sign=1", "detail": "high"},
            {
                "type": "input_image",
                "image_url": "https://dify.example/a.png?sign=1",
                "detail": "high",
            },
        ),
        (
            DOCUMENT | {"base64_data": PDF, "filename": "a.pdf"},
            {
                "type": "input_file",
                "filename": "a.pdf",
                "file_data": f"data:application/pdf;base64,{PDF}",
            },
        ),
        (
            DOCUMENT | {"url": "https://dify.example/a.pdf"},
            {"type": "input_file", "file_url": "https://dify.example/a.pdf"},
        ),
    ],
)
def test_what_dify_sends_arrives_as_it_is(
    plugin: ModelPlugin, server: ResponsesSimulator, part: object, expected: object
) -> None:
    text = {"type": "text", "data": "What?"}

    assert sent(plugin, server, part, text) == [expected, {"type": "input_text", "text": "What?"}]


@pytest.mark.parametrize(
    ("model", "wanted", "taken"),
    [
        ("gpt-5.5", "original", "original"),
        ("gpt-5.2", "original", "high"),
        ("gpt-5.2", None, "low"),
    ],
)
def test_image_detail_counts_before_what_dify_says(
    plugin: ModelPlugin, server: ResponsesSimulator, model: str, wanted: str | None, taken: str
) -> None:
    parameters = {"image_detail": wanted}
    part = IMAGE | {"base64_data": PNG}
    (image,) = sent(plugin, server, part, model=model, model_parameters=parameters)

    assert image["detail"] == taken


@pytest.mark.parametrize("kind", ["image", "document", "audio", "video"])
def test_an_empty_part_is_told_to_the_model(
    plugin: ModelPlugin, server: ResponsesSimulator, kind: str
) -> None:
    part = {"type": kind, "format": "x", "mime_type": "", "filename": "x.y"}
    (text,) = sent(plugin, server, part)

    assert text["type"] == "input_text"
    assert text["text"].startswith(f'[{"file" if kind == "document" else kind} "x.y" omitted: ')


def test_a_tool_s_image_comes_back_to_the_model(
    plugin: ModelPlugin, server: ResponsesSimulator
) -> None:
    tool = {
        "name": "draw_chart",
        "description": "Draw a chart",
        "parameters": {"type": "object", "properties": {}},
    }
    question = {"role": "user", "content": "Draw a chart"}
    first = plugin.invoke(server, [question], tools=[tool])
    (call,) = first.last["message"]["tool_calls"]
    image = IMAGE | {"base64_data": PNG}
    messages = [
        question,
        {"role": "assistant", "content": first.text, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": [image]},
    ]
    assert plugin.invoke(server, messages, tools=[tool]).error is None

    *_, reasoning, _, output = server.requests[-1].body["input"]
    assert reasoning["type"] == "reasoning"  # recalled, although an image came between
    assert output["output"][0]["image_url"].endswith(PNG)


@pytest.mark.parametrize(
    "said",
    [
        "input[2]: json: cannot unmarshal array into Go struct field ResponsesFunctionCallOutput.output of type string",
        "this model does not support image input",
    ],
)
def test_an_image_that_a_server_takes_from_no_tool_follows_in_a_user_s_message(
    plugin: ModelPlugin, said: str
) -> None:
    tool = {"name": "draw", "description": "", "parameters": {"type": "object", "properties": {}}}
    call = {"id": "c1", "type": "function", "function": {"name": "draw", "arguments": "{}"}}
    image = IMAGE | {"base64_data": PNG}
    messages = [
        {"role": "user", "content": "Draw"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "data": "Ok"}, image]},
    ]
    refused = HttpError(status=400, message=said)
    with ResponsesSimulator(faults=[refused] * (1 + ("model" in said))) as server:
        answers = [plugin.invoke(server, messages, tools=[tool], model="gpt-6-sol") for _ in "ab"]
        inputs = [request.body["input"] for request in server.requests]

    assert [answer.error for answer in answers] == [None, None]
    assert inputs[-1] == inputs[-2]  # It is not asked again for what it does not take.
    *_, output, shown = inputs[-1]
    assert output["output"] == "Ok"
    note, seen = shown["content"]
    assert note["text"] == "This came with the result of draw above:"
    is_sentence = seen.get("text") == "[image omitted: this server does not take it]"
    assert is_sentence if "model" in said else seen["image_url"].endswith(PNG)


def test_fifty_megabytes_of_images_get_an_answer_in_short_lines(plugin: ModelPlugin) -> None:
    large = png(2_000, 1_000, b"\0" * 10_000_000)
    with RawServer(streams(delta("Seen.") + completed())) as server:
        answer = plugin.invoke(server, user(*[IMAGE | {"base64_data": large}] * 5))

    assert (answer.error, answer.text) == (None, "Seen.")
    assert sum(len(chunk["delta"]["message"]["content"]) for chunk in answer.chunks) < 10_000
    body = json.loads(server.requests[0][server.requests[0].index(b"{") :])
    assert len(body["input"][0]["content"]) == 5


def test_tokens_of_images_are_counted_by_the_model(plugin: ModelPlugin) -> None:
    def count(model: str, *parts: object) -> int:
        data = {"model": model, "credentials": {}, "prompt_messages": user(*parts), "tools": []}
        return plugin.call("get_llm_num_tokens", **data).chunks[0]["num_tokens"]

    image = IMAGE | {"base64_data": PNG, "detail": "high"}
    text = {"type": "text", "data": "What?"}
    assert count("gpt-5.6", text, image) - count("gpt-5.6", text) == 20 * 15 * 1.2
    assert count("gpt-5", text, image) - count("gpt-5", text) == 70 + 2 * 140
