"""Files of tools on their way to the model that called them."""

import base64
import json

import httpx
import pytest
from pydantic_ai import Agent, ModelRequest, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.messages import BinaryContent, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import FunctionModel

from dify_agent.layers.dify_plugin import (
    DifyPluginLayerConfig,
    DifyPluginToolConfig,
    DifyPluginToolsLayerConfig,
)
from dify_agent.layers.dify_plugin.plugin_layer import DifyPluginLayer
from dify_agent.layers.dify_plugin.tools_layer import DifyPluginToolsDeps, DifyPluginToolsLayer


PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40
JPEG, GIF, PDF = b"\xff\xd8\xff\xe0" + PNG, b"GIF89a" + PNG, b"%PDF-1.7"
WEBP = b"RIFF\x00\x00\x00\x00WEBP" + PNG


def blob(data=PNG, **meta):
    content = {"blob": base64.b64encode(data).decode()}
    return {"type": "blob", "message": content, "meta": meta}


def chunks(data, **meta):
    pieces = [data[start : start + 8192] for start in range(0, len(data), 8192)]
    for number, piece in enumerate([*pieces, b""]):
        encoded = base64.b64encode(piece).decode()
        content = {"id": "b", "sequence": number, "total_length": len(data), "blob": encoded}
        yield {
            "type": "blob_chunk",
            "message": {**content, "end": number == len(pieces)},
            "meta": meta,
        }


def linked(kind, url, **meta):
    return {"type": kind, "message": {"text": url}, "meta": meta}


def data_url(data=PNG, media_type="image/png"):
    return f"data:{media_type};base64,{base64.b64encode(data).decode()}"


async def call(*items, times=1):
    """Call a tool that answers with these messages; return the texts and the contents that the model read."""
    lines = [json.dumps({"code": 0, "message": "success", "data": item}) for item in items]
    body = "".join(f"data: {line}\n\n" for line in lines)
    config = {"plugin_id": "a/b", "provider": "p", "tool_name": "draw"}
    tool = DifyPluginToolConfig(**config, credential_type="api-key")
    plugin = DifyPluginLayer.from_config_with_settings(
        DifyPluginLayerConfig(tenant_id="t"), daemon_url="http://daemon/", daemon_api_key="k"
    )
    layer = DifyPluginToolsLayer.from_config(DifyPluginToolsLayerConfig(tools=[tool]))
    layer.bind(deps=DifyPluginToolsDeps(plugin=plugin))

    def model(messages, _info):
        asked = [ToolCallPart("draw", {}, tool_call_id=f"c{number}") for number in range(times)]
        return ModelResponse(parts=asked if len(messages) == 1 else [TextPart("done")])

    transport = httpx.MockTransport(lambda _: httpx.Response(200, text=body))
    async with httpx.AsyncClient(transport=transport) as http_client:
        tools = await layer.get_tools(http_client=http_client)
        result = await Agent(FunctionModel(model), tools=tools).run("go")
    told = [each for each in result.all_messages()[1:] if isinstance(each, ModelRequest)]
    parts = [part for message in told for part in message.parts]
    texts = [part.content for part in parts if isinstance(part, ToolReturnPart)]
    return texts, [part.content for part in parts if isinstance(part, UserPromptPart)]


@pytest.mark.parametrize(
    ("items", "media_type", "name"),
    [
        ([blob(mime_type="image/png", filename="plot.png")], "image/png", "plot.png"),
        ([blob(JPEG, mime_type="IMAGE/JPEG; q=1")], "image/jpeg", None),
        ([blob(PDF, mime_type="application/pdf")], "application/pdf", None),
        (list(chunks(WEBP, mime_type="image/webp", filename="")), "image/webp", None),
        ([linked("image", data_url())], "image/png", None),
        ([linked("link", data_url(GIF, "image/gif"), filename=3)], "image/gif", None),
        ([blob(JPEG, mime_type="image/png")], "image/jpeg", None),
        ([blob()], "image/png", None),
        ([linked("image_link", "DATA:;base64," + data_url().partition(",")[2])], "image/png", None),
    ],
)
async def test_an_image_or_pdf_of_a_tool_follows_its_result(items, media_type, name):
    (text,), (content,) = await call(*items)
    assert isinstance(text, str)
    assert "omitted" not in text
    told, file = content
    assert told == "Files from the tool draw:"
    assert isinstance(file, BinaryContent)
    assert (file.data[-9:], file.media_type) in ((PNG[-9:], media_type), (PDF[-9:], media_type))
    assert file.vendor_metadata == ({"filename": name} if name else None)


LINK = "it is behind a link, which is not followed here"
NONE = "models read PNG, JPEG, WebP and GIF images and PDFs, and this is none"


@pytest.mark.parametrize(
    ("item", "sentence"),
    [
        (
            blob(b"<svg/>", mime_type="image/svg+xml", filename="a.svg"),
            f'[image "a.svg" omitted: {NONE}]',
        ),
        (blob(b"<html>", mime_type="image/png"), f"[image omitted: {NONE}]"),
        (blob(b"no PDF", mime_type="application/pdf; v=1"), f"[file omitted: {NONE}]"),
        (blob(b"", mime_type="image/png"), "[image omitted: it is empty]"),
        (
            blob(PNG.ljust(3_800_001), mime_type="image/png"),
            "[image omitted: it has 3,800,001 bytes, and a model is shown 3,800,000 at most]",
        ),
        (linked("image", "https://example.com/a.png"), f"[image omitted: {LINK}]"),
        (linked("image_link", "/files/tools/a.png", filename=1), f"[image omitted: {LINK}]"),
        (linked("link", "https://e.com/1", mime_type="image/png"), f"[image omitted: {LINK}]"),
        (
            linked("binary_link", "/f", mime_type="application/pdf", filename="b.pdf"),
            f'[file "b.pdf" omitted: {LINK}]',
        ),
        (linked("image", "data:image/png,plain"), "[image omitted: it is empty]"),
        (linked("link", "data:image/png;base64,*"), "[image omitted: it is empty]"),
        (linked("image", "data:image/png;base64"), "[image omitted: it is empty]"),
    ],
)
async def test_an_image_or_pdf_that_the_model_does_not_see_is_told_with_the_reason(item, sentence):
    (text,), contents = await call(item)
    assert text.endswith(f"\n{sentence}")
    assert contents == []


@pytest.mark.parametrize(
    "item",
    [
        blob(b"a,b", mime_type="text/csv"),
        blob(b"\0\1"),
        linked("link", "https://example.com/"),
        linked("link", "data:text/csv;base64,YQ=="),
        {"type": "file", "message": {}, "meta": {}},
        {"type": "text", "message": {"text": data_url()}},
    ],
)
async def test_other_files_and_links_stay_the_text_that_they_were(item):
    (text,), contents = await call(item)
    assert "omitted" not in text
    assert contents == []


async def test_the_files_of_several_calls_follow_all_results_in_order():
    texts, contents = await call(
        blob(mime_type="image/png"), blob(b"%PDF-", mime_type="application/pdf"), times=2
    )
    assert len(texts) == 2
    assert [[each.data for each in content[1:]] for content in contents] == [[PNG, b"%PDF-"]] * 2


async def test_no_reply_brings_more_than_twenty_files_and_twenty_reasons():
    (text,), (content,) = await call(*[blob(GIF + bytes([number])) for number in range(25)])
    assert [file.data[-1] for file in content[1:]] == list(range(20))
    assert text.count("[image omitted: a model is shown twenty files of a reply]") == 5

    (text,), _ = await call(*[linked("image", "/a.png")] * 1_000)
    assert text.count(LINK) == 20
    assert text.endswith("\n[980 more files omitted]")
