"""A chat app on the model plugin: turns, reasoning, tokens and prices, files, and what a user reads when something goes wrong."""

import time
from decimal import Decimal
from itertools import pairwise

import pytest

from dify import wait_until
from files import PDF, PNG
from upstream import items, said, texts, thought


def take_turns(app, questions):
    """Ask one after the other in one conversation, and return what Dify streams of each."""
    runs = []
    for question in questions:
        conversation = runs[0].conversation if runs else ""
        runs.append(app.chat(question, conversation=conversation))
        time.sleep(1.2)  # Dify orders messages by whole seconds
    return runs


def test_four_turns_of_a_chat_build_on_each_other(apps, upstream):
    upstream.plays(*([thought(), said(f"Answer {turn}.")] for turn in range(4)))
    runs = take_turns(apps.chat(), [f"Question {turn}?" for turn in range(4)])

    assert [run.answer for run in runs] == [f"Answer {turn}." for turn in range(4)]
    assert all("<think>\nLet me see.\n</think>" in run.text for run in runs)
    spoken = [texts(body) for body in upstream.requests]
    assert spoken[3] == [
        *("Question 0?", "Answer 0.", "Question 1?", "Answer 1."),
        *("Question 2?", "Answer 2.", "Question 3?"),
    ]
    assert all(later[: len(one)] == one for one, later in pairwise(spoken))


def test_reasoning_of_plain_answers_comes_back_where_all_turns_are_asked_for(apps, upstream):
    upstream.plays(*([thought(), said(f"Answer {turn}.")] for turn in range(3)))
    take_turns(
        apps.chat(model="gpt-5.4", reasoning_context="all_turns"), ["One?", "Two?", "Three?"]
    )
    assert [len(items(body, "reasoning")) for body in upstream.requests] == [0, 1, 2]


def test_tokens_and_their_price_stand_beside_the_answer(apps, upstream):
    upstream.plays([thought(), said("Four.")])
    usage = apps.chat().chat("What is two and two?").usage

    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    # The catalogue's prices of gpt-5.2, for a million tokens.
    price = usage["prompt_tokens"] * Decimal("1.75") + usage["completion_tokens"] * Decimal(14)
    assert Decimal(usage["total_price"]) == pytest.approx(price / 1_000_000, abs=Decimal("1e-7"))
    assert usage["currency"] == "USD"


def test_a_conversation_gets_its_name_from_the_cheapest_model_with_little_reasoning(apps, upstream):
    upstream.plays([said("Four.")])
    apps.chat().chat("What is two and two?")
    wait_until(lambda: upstream.names, "the name")  # Dify asks for it when the answer is told
    [request] = upstream.names
    assert (request["model"], request["reasoning"]["effort"]) == ("gpt-6-luna", "none")


@pytest.mark.parametrize(
    ("name", "content", "mime_type", "kind"),
    [("a.png", PNG, "image/png", "input_image"), ("a.pdf", PDF, "application/pdf", "input_file")],
)
def test_the_model_gets_the_files_of_a_message(apps, upstream, name, content, mime_type, kind):
    upstream.plays([said("I have seen it.")])
    app = apps.chat()
    run = app.chat("What is in it?", files=[app.file(name, content, mime_type)])

    assert run.answer == "I have seen it.", run.error
    [request] = upstream.requests
    assert kind in {part["type"] for part in items(request, "message")[-1]["content"]}


@pytest.mark.parametrize(
    ("status", "message", "told"),
    [
        (400, "Unsupported value: 'x'.", "Unsupported value"),
        (401, "Incorrect API key provided: sk-1234.", "Incorrect API key"),
        (403, "Your country is not supported.", "is not allowed to do this"),
        (404, "The model 'gpt-5.2' does not exist.", "has no model 'gpt-5.2'"),
    ],
)
def test_a_user_reads_in_one_sentence_what_went_wrong(apps, upstream, status, message, told):
    upstream.refuses(message, status)
    run = apps.chat().chat("Hello?")
    [error] = run.of("error")
    assert told in error["message"]
    assert len(error["message"]) < 400
    assert "sk-" not in error["message"]
    assert "Traceback" not in error["message"]


def test_a_parameter_that_cannot_be_is_named(apps, upstream):
    run = apps.chat(response_format="json_schema").chat("Hello?")
    assert "json_schema" in run.error
    assert upstream.requests == []
