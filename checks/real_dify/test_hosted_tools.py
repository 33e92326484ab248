"""OpenAI's own tools over the real daemon: images as large as its lines let through, and items that a strategy carries from round to round."""

import base64
from itertools import pairwise

import pytest

from dify import KEY, MODEL_PLUGIN, model_call, run_agent, text_of, user
from gpt5_simulator import (
    FunctionCall,
    OutputItem,
    Reasoning,
    ResponsesSimulator,
    ScriptedModel,
    Text,
)


ACTION = {"type": "search", "query": "page", "queries": ["page"]}


def drawn(size):
    data = base64.b64encode(b"\xff\xd8\xff" + bytes(size - 3)).decode()
    fields = {"result": data, "output_format": "jpeg", "size": "1024x1024"}
    return OutputItem(item={"type": "image_generation_call", **fields})


def said(chunks):
    """Return the text and the images of chunks, the images by their sizes in base64."""
    contents = [chunk["delta"]["message"]["content"] for chunk in chunks]
    parts = [part for content in contents if isinstance(content, list) for part in content]
    text = "".join(content for content in contents if isinstance(content, str))
    return text, [len(part["base64_data"]) for part in parts if part["type"] == "image"]


@pytest.mark.parametrize(
    ("size", "images"), [(30_000, [40_000]), (3_600_000, [4_800_000]), (4_500_000, [])]
)
def test_an_image_comes_through_as_long_as_a_line_holds_it(client, size, images):
    model = ScriptedModel([[drawn(size), Text(text="Drawn.")], [Text(text="Still here.")]])
    with ResponsesSimulator(model=model, api_keys=[KEY]) as simulator:
        data = model_call(simulator.base_url, user("Draw."), image_generation=True)
        text, found = said(client.call(MODEL_PLUGIN, "llm/invoke", data))
        after, _ = said(client.call(MODEL_PLUGIN, "llm/invoke", data))

    assert found == images
    assert text.startswith("Drawn.")
    assert ("left out" in text) == (not images)
    assert after == "Still here."


def test_what_is_no_setting_of_the_model_is_named_before_anything_is_sent(client):
    with ResponsesSimulator(api_keys=[KEY]) as simulator:
        data = model_call(simulator.base_url, user("Search."), web_search_domains="example.org")
        with pytest.raises(Exception, match="web_search_domains goes with web_search"):
            list(client.call(MODEL_PLUGIN, "llm/invoke", data))

    assert simulator.requests == []


@pytest.mark.parametrize("keeps_opaque_body", [True, False])
def test_what_tools_of_openai_did_is_kept_between_rounds(
    client, inner_api, between, keeps_opaque_body
):
    inner_api.tool = lambda parameters: f"This is page {parameters['page']}."
    search = OutputItem(item={"type": "web_search_call", "action": ACTION})
    rounds = [
        [Reasoning(), search, Reasoning(), FunctionCall(name="look_up", arguments={"page": page})]
        for page in (1, 2)
    ]
    model = ScriptedModel([*rounds, [drawn(30_000), Text(text="Two pages.")]])
    with ResponsesSimulator(model=model, api_keys=[KEY]) as simulator:
        between(client, simulator.base_url, keeps_opaque_body=keeps_opaque_body)
        messages = run_agent(client, simulator.base_url)

    assert text_of(messages).endswith("Two pages.")
    assert sum(message["type"] == "blob" for message in messages) == 1
    inputs = [request.body["input"] for request in simulator.requests]
    searches = [sum(item.get("type") == "web_search_call" for item in items) for items in inputs]
    assert searches == [0, 1, 2]
    assert all(later[: len(items)] == items for items, later in pairwise(inputs))
