"""LLM nodes on the model plugin: structured output, files, stop sequences, and a model that somebody has added."""

import pytest

from apps import MODELS, llm_node
from files import PDF, PNG
from upstream import KEY, items, said, thought


SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "country": {"type": "string"}},
    "required": ["city", "country"],
    "additionalProperties": False,
}


def test_a_structured_answer_is_an_object_that_follows_its_schema(apps, upstream):
    upstream.plays([thought(), said('{"city": "Oslo", "country": "Norway"}')])
    node = llm_node(schema=SCHEMA, query="{{#start.text#}}")
    run = apps.workflow("llm", node, "structured_output").run({"text": "Which city?"})

    assert (run.error, run.outputs["found"]) == ("", {"city": "Oslo", "country": "Norway"})
    sent = upstream.requests[0]["text"]["format"]
    assert (sent["type"], sent["strict"]) == ("json_schema", True)
    assert sent["schema"]["required"] == ["city", "country"]


def test_a_schema_that_openai_cannot_check_strictly_is_sent_all_the_same(apps, upstream):
    upstream.plays([said('{"city": "Oslo"}')])
    node = llm_node(schema={**SCHEMA, "required": ["city"]}, query="{{#start.text#}}")
    run = apps.workflow("llm", node, "structured_output").run({"text": "Which city?"})
    assert (run.error, run.outputs["found"]) == ("", {"city": "Oslo"})
    assert not upstream.requests[0]["text"]["format"].get("strict")


def test_the_model_gets_the_files_of_a_message(apps, upstream):
    upstream.plays([said("A dot and no page.")])
    app = apps.chatflow("llm", llm_node())
    files = [app.file("a.png", PNG, "image/png"), app.file("b.pdf", PDF, "application/pdf")]
    run = app.chat("What is in them?", files=files)

    assert (run.error, run.answer) == ("", "A dot and no page.")
    parts = [
        part["type"] for item in items(upstream.requests[0], "message") for part in item["content"]
    ]
    assert {"input_image", "input_file"} <= set(parts)


@pytest.mark.parametrize("format_of_node", [{"reasoning_format": "separated"}, {}])
def test_a_text_that_others_read_has_no_thoughts_where_they_are_set_apart_or_off(
    apps, upstream, format_of_node
):
    upstream.plays([thought("Hm."), said("Monday.")])
    summary = {} if format_of_node else {"reasoning_summary": "off"}
    node = llm_node(query="{{#start.text#}}", **summary) | format_of_node
    run = apps.workflow("llm", node).run({"text": "Which day?"})
    assert (run.error, run.outputs["found"]) == ("", "Monday.")


def test_the_answer_ends_before_a_stop_sequence(apps, upstream):
    upstream.plays([said("one two STOP three")])
    run = apps.chatflow("llm", llm_node(stop=["STOP"])).chat("Count.")
    assert run.answer == "one two"


def test_a_run_says_in_one_sentence_what_went_wrong(apps, upstream):
    upstream.refuses("Unsupported value: 'x'.", 400)
    run = apps.chatflow("llm", llm_node()).chat("Hello?")
    assert "Unsupported value" in run.error
    assert len(run.error) < 400
    assert "Traceback" not in run.error


@pytest.fixture
def added_model(console, upstream):
    """A model that the provider does not list, added by hand; the server is asked whether it answers."""
    upstream.plays([said("Yes.")], repeat=True)
    path = f"/workspaces/current/model-providers/{MODELS}/models/credentials"
    named = {"model": "gpt-5.2-2025-12-11", "model_type": "llm"}
    values = {"openai_api_key": KEY, "openai_api_base": upstream.base_url, "base_model": "gpt-5.2"}

    def forget():
        for saved in console.get(path, **named)["available_credentials"]:
            console.delete(path, **named, credential_id=saved["credential_id"])

    forget()  # what a session has left that did not come to its end
    console.post(path, **named, credentials=values, name="whole-dify")
    yield named["model"]
    forget()


def test_an_added_model_answers_by_what_stands_behind_its_name(apps, upstream, added_model):
    upstream.plays([said("Here.")])
    run = apps.chatflow("llm", llm_node(model=added_model)).chat("Who are you?")
    assert (run.error, run.answer) == ("", "Here.")
    assert upstream.requests[-1]["model"] == added_model
    assert float(run.usage["total_price"]) > 0
