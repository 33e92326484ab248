"""Turns that a node remembers, in the place of the texts of Dify's memory."""

import base64
import itertools
import json
import random

import pytest

from file_server import PNG, SEES
from scripted_dify import DifyError, call, chunk, parameter, text_message, tool, usage
from test_approval import Storage, give_storage, logs, text, turn


LOOK = tool("look", parameter("at"))
BODY = {"carry": "content_part", "responses_output": [{"type": "reasoning", "id": "rs_1"}]}
REMEMBERED = "Remembered turns"
RANDOM_LETTERS = base64.b64encode(random.Random(7).randbytes(220_000)).decode()


pytestmark = pytest.mark.usefixtures("storage")


@pytest.fixture
def storage(agent):
    kept = give_storage(agent, Storage())
    agent.dify.tools["look"] = [text_message("a red door")]
    agent.dify.model = []
    return kept


def say(agent, *answers):
    """Have the model answer these, each after a look."""
    for number, answer in enumerate(answers):
        looks = [call("look", '{"at": "the door"}', id_=f"c{number}")]
        agent.dify.model += [
            [chunk("I look.", calls=looks, opaque=BODY, usage=usage())],
            [chunk(answer, opaque=BODY, usage=usage())],
        ]


def ask(agent, query, *, history=(), **given):
    given = {"tools": [LOOK], "approval_rules": None, "remember_turns": True, **given}
    return turn(agent, query, history=history, **given)


def visible(query, messages):
    return [
        {"role": "user", "content": query},
        {"role": "assistant", "content": text(messages), "tool_calls": []},
    ]


def requests(agent):
    return [request["prompt_messages"] for request in agent.dify.model_requests]


def test_the_next_turn_begins_with_the_whole_of_the_one_before(agent):
    say(agent, "Red.", "Still red.", "Red, I say.")
    history = []
    for query in ("Which colour?", "Sure?", "Really?"):
        history += visible(query, ask(agent, query, history=history))

    sent = requests(agent)
    assert len(sent) == 6
    for before, after in itertools.pairwise(sent):
        assert after[: len(before)] == before
    assert [message["role"] for message in sent[2]] == [
        *("system", "user", "assistant", "tool", "assistant", "user")
    ]
    assert sent[2][2]["content"][0]["opaque_body"] == BODY
    assert sent[2][3]["content"] == "a red door"


def reads(tokens):
    """A model that reads so many tokens, as Dify describes it."""
    return {"model_properties": {"mode": "chat", "context_size": tokens}}


def roles(messages):
    return [message["role"] for message in messages]


def why(messages):
    return logs(messages).get(REMEMBERED, {}).get("why", [])


TURN = ["user", "assistant", "tool", "assistant"]


def test_turns_are_found_in_the_window_of_the_nodes_memory(agent):
    say(agent, *map(str, range(12)))
    history = []
    for number in range(12):
        answered = ask(agent, f"Question {number}", history=history[-6:])
        history += visible(f"Question {number}", answered)

    assert roles(requests(agent)[-2]) == ["system", *TURN * 3, "user"]
    assert why(answered) == []


def test_messages_that_are_all_alike_are_found_in_their_order(agent):
    history = []
    for number in range(4):
        agent.dify.tools["look"] = [text_message(f"page {number}")]
        say(agent, "Done.")
        history += visible("Next", ask(agent, "Next", history=history))

    results = [m["content"] for m in requests(agent)[-1] if m["role"] == "tool"]
    assert results == ["page 0", "page 1", "page 2", "page 3"]


@pytest.mark.parametrize("place", [0, 1])
def test_an_edited_message_finds_nothing_and_the_log_says_so(agent, place):
    say(agent, "Red.", "Blue.")
    history = visible("Which colour?", ask(agent, "Which colour?"))
    history[place]["content"] += " Or not?"

    answered = ask(agent, "Sure?", history=history)

    assert roles(requests(agent)[2]) == ["system", "user", "assistant", "user"]
    assert why(answered) == [
        "2 of 2 messages of the history are texts: no remembered turn fits them"
    ]


def test_a_regenerated_answer_goes_on_from_the_turns_before_it(agent):
    say(agent, "Red.", "Light red.", "Dark red.", "Good.")
    first = visible("Which colour?", ask(agent, "Which colour?"))
    ask(agent, "Which red?", history=first)
    again = visible("Which red?", ask(agent, "Which red?", history=first))

    ask(agent, "Thanks", history=first + again)

    assert roles(requests(agent)[6]) == ["system", *TURN * 2, "user"]
    assert requests(agent)[6][8]["content"][0]["data"] == "Dark red."


def test_two_nodes_of_one_kind_find_their_own_turns(agent):
    say(agent, "Mine.", "Yours.", "Mine again.", "Yours again.")
    mine = visible("Whose?", ask(agent, "Whose?"))
    yours = visible("Whose?", ask(agent, "Whose?"))
    ask(agent, "And now?", history=mine)
    ask(agent, "And now?", history=yours)

    found = [requests(agent)[index][4]["content"][0]["data"] for index in (4, 6)]
    assert found == ["Mine.", "Yours."]


def test_an_answer_is_found_with_its_thoughts_and_without_and_as_the_output_of_that_name(agent):
    say(agent, "<think>\nhm\n</think>\n\nRed.", "Sure.", "Yes.")
    shown = visible("Which colour?", ask(agent, "Which colour?"))
    assert "hm" in shown[1]["content"]
    for content in (shown[1]["content"], "Red."):
        assert why(ask(agent, "Sure?", history=[shown[0], {**shown[1], "content": content}])) == []


def test_a_question_for_approval_and_its_answer_are_part_of_the_turn(agent):
    agent.dify.tools["pay"] = [text_message("paid")]
    given = {"tools": [LOOK, tool("pay", parameter("to"))], "approval_rules": '{"pay": "always"}'}
    agent.dify.model = [
        [chunk("I pay Ann.", calls=[call("pay", '{"to": "Ann"}', id_="p1")], opaque=BODY)],
        [chunk("And Bob.", calls=[call("pay", '{"to": "Bob"}', id_="p2")], opaque=BODY)],
        [chunk("Both are paid.", opaque=BODY)],
        [chunk("You are welcome.")],
    ]
    history = []
    for query in ("Pay both.", "yes", "yes", "Thanks"):
        answered = ask(agent, query, history=history, **given)
        assert why(answered) == []
        history += visible(query, answered)

    sent = requests(agent)
    assert sent[3][: len(sent[2])] == sent[2]
    assert roles(sent[3]) == ["system", *TURN[:3], "assistant", "tool", "assistant", "user"]


def test_what_the_run_says_to_the_model_by_itself_is_not_remembered(agent):
    schema = '{"type": "object", "required": ["colour"]}'
    looks = [call("look", "{}")]
    agent.dify.model = [
        [chunk("", calls=looks, usage=usage(prompt=850))],
        [chunk("red", usage=usage())],
        [chunk('{"colour": "red"}', usage=usage())],
        [chunk('{"colour": "red"}', usage=usage())],
    ]
    given = {"answer_schema": schema, "max_total_tokens": 1000}
    answered = ask(agent, "Which colour?", **given)
    assert roles(requests(agent)[2])[1:] == [
        "user",
        "user",
        *TURN[1:3],
        "user",
        "assistant",
        "user",
    ]

    ask(agent, "Sure?", history=visible("Which colour?", answered), **given)

    assert roles(requests(agent)[3]) == ["system", *TURN, "user", "user"]
    assert requests(agent)[3][4]["content"] == '{"colour": "red"}'


def test_another_models_answer_is_remembered_without_what_its_client_wants_back(agent):
    limited = DifyError("[models] Rate Limit Error, too many requests")
    say(agent, "Red.", "Yes.")
    agent.dify.model[1:1] = [[limited]]
    given = {"fallback_model": "gpt-5-mini"}
    history = visible("Which colour?", ask(agent, "Which colour?", **given))

    ask(agent, "Sure?", history=history, **given)

    assert roles(requests(agent)[3]) == ["system", *TURN, "user"]
    assert "rs_1" in str(requests(agent)[1])
    assert "rs_1" not in str(requests(agent)[3])


def test_a_turn_that_does_not_fit_is_not_kept_and_the_log_says_so(agent, storage):
    agent.dify.model = [[chunk("Red.", opaque={**BODY, "encrypted": RANDOM_LETTERS})]]
    assert why(ask(agent, "Which colour?")) == [
        "this turn does not fit in 200,000 bytes; the model's prompt cache begins anew"
    ]
    assert storage.values == {}


def test_the_oldest_turns_make_room_for_new_ones(agent, storage):
    agent.dify.tools["look"] = [text_message(RANDOM_LETTERS[:100_000])]
    say(agent, *"abcd")
    history = []
    for query in "abcd":
        answered = ask(agent, query, history=history, model={"entity": reads(400_000)})
        history += visible(query, answered)

    assert any("do not fit in 200,000 bytes" in line for line in why(answered))
    assert roles(requests(agent)[-2]) == ["system", *TURN[::3] * 1, *TURN * 2, "user"]
    assert all(len(value) <= 2 * 200_000 for value in storage.values.values())


@pytest.mark.parametrize("entity", [reads(32_000), {}], ids=["known", "unknown"])
def test_a_conversation_that_outgrows_its_model_begins_anew_with_the_newest_turns(agent, entity):
    agent.dify.tools["look"] = [text_message("word " * 2_200)]
    say(agent, *"abcdefgh")
    history, whys = [], []
    for query in "abcdefgh":
        answered = ask(agent, query, history=history, model={"entity": entity})
        history += visible(query, answered)
        whys.append("".join(why(answered)))

    sent = requests(agent)
    assert len(sent) == 16
    assert max(len(json.dumps(request)) for request in sent) < 70_000
    [anew, *_] = [number for number, line in enumerate(whys) if "forgotten" in line]
    assert "3 of 5 remembered turns are forgotten: together they take more than half" in whys[anew]
    assert roles(sent[2 * anew])[-9:] == [*TURN * 2, "user"]
    # What is kept has room again for turns that begin as the last one has ended.
    after = sent[2 * anew + 2]
    assert after[: len(sent[2 * anew + 1])] == sent[2 * anew + 1]


def test_a_file_of_a_remembered_turn_keeps_its_name_and_a_tool_gets_it_by_that(agent, server):
    png = {"mime_type": "image/png", "filename": "chart.png"}
    drawn = {"type": "blob", "message": {"blob": base64.b64encode(PNG).decode()}, "meta": png}
    agent.dify.tools |= {"draw": [drawn], "send": [text_message("sent")]}
    agent.dify.uploads = f"{server.url}/upload"
    agent.dify.model = [
        [chunk(calls=[call("draw", "{}", id_="d1")])],
        [chunk("Drawn.")],
        [chunk(calls=[call("send", '{"file": "chart.png"}', id_="d2")])],
        [chunk("Sent.")],
    ]
    given = {"tools": [tool("draw"), tool("send", parameter("file", "file"))], "model": SEES}

    ask(agent, "Send it.", history=visible("Draw.", ask(agent, "Draw.", **given)), **given)

    sent = requests(agent)
    assert sent[2][: len(sent[1])] == sent[1]
    assert str(sent[2]).count("chart.png") == 2  # in the line before it, and as its name
    assert agent.dify.tool_requests[-1]["tool_parameters"]["file"]["filename"] == "chart.png"
    [uploaded] = server.uploads
    assert PNG in uploaded


def test_many_conversations_share_a_bounded_number_of_slots(agent, storage):
    for number in range(12):
        agent.dify.model = [[chunk("Red.")]]
        ask(agent, "Which colour?", conversation=f"c{number}")
    slots = {int(name.removeprefix("turns-")) for name in storage.values}
    assert 1 < len(slots) <= 12
    assert max(slots) < 100


def test_a_storage_that_fails_costs_the_memory_and_not_the_turn(agent, storage):
    say(agent, "Red.", "Yes.")
    history = visible("Which colour?", ask(agent, "Which colour?"))
    storage.problem = "the daemon is away"

    answered = ask(agent, "Sure?", history=history)

    assert text(answered).endswith("Yes.")
    [line] = why(answered)
    assert line.startswith("Dify's storage has failed, so turns may not be remembered: ")
    assert "the daemon is away" in line


def test_a_full_storage_keeps_what_it_complains_about(agent, storage):
    storage.is_full = True
    say(agent, "Red.", "Yes.")
    first = ask(agent, "Which colour?")
    assert "allocated size" in why(first)[0]

    ask(agent, "Sure?", history=visible("Which colour?", first))

    assert roles(requests(agent)[2]) == ["system", *TURN, "user"]


@pytest.mark.parametrize("left", [90, -2])
def test_an_entry_that_was_changed_is_left_out_and_told_once(agent, storage, left):
    say(agent, "Red.", "Yes.")
    history = visible("Which colour?", ask(agent, "Which colour?"))
    [slot] = storage.values
    storage.values[slot] = storage.values[slot][:left]

    answered = ask(agent, "Sure?", history=history)

    assert why(answered)[0] == "what lay in Dify's storage was changed since, and is left out"
    assert roles(requests(agent)[2]) == ["system", "user", "assistant", "user"]
    label = [m for m in answered if m["type"] == "log" and m["message"]["label"] == REMEMBERED]
    assert str(label).count("was changed since") == 1


def test_a_question_that_is_further_back_than_the_window_costs_nothing(agent):
    agent.dify.tools["pay"] = [text_message("paid")]
    given = {"tools": [tool("pay", parameter("to"))], "approval_rules": '{"pay": "always"}'}
    agent.dify.model = [
        [chunk("", calls=[call("pay", '{"to": "Ann"}', id_="p1")])],
        [chunk("", calls=[call("pay", '{"to": "Bob"}', id_="p2")])],
        [chunk("Both are paid.")],
        [chunk("You are welcome.")],
    ]
    history = []
    for query in ("Pay both.", "yes", "yes"):
        history += visible(query, ask(agent, query, history=history[-3:], **given))
    ask(agent, "Thanks", history=history[-5:], **given)

    assert roles(requests(agent)[3]) == [
        "system",
        *TURN[:3],
        "assistant",
        "tool",
        "assistant",
        "user",
    ]


@pytest.mark.parametrize("given", [{"conversation": None}, {"user": ""}])
def test_without_a_conversation_of_a_user_nothing_is_remembered(agent, storage, given):
    say(agent, "Red.")
    assert why(ask(agent, "Which colour?", **given)) == [
        "this run belongs to no conversation of a user, so nothing is remembered"
    ]
    assert storage.done == ["called look"]


def test_without_the_parameter_the_storage_is_not_touched(agent, storage):
    say(agent, "Red.", "Yes.")
    history = visible("Which colour?", ask(agent, "Which colour?", remember_turns=False))
    ask(agent, "Sure?", history=history, remember_turns=False)
    assert storage.done == ["called look"] * 2


def test_a_turn_without_an_answer_is_not_remembered(agent, storage):
    say(agent, "Never said.")
    answered = ask(agent, "Which colour?", maximum_iterations=1)
    assert why(answered)[0].startswith(
        "this turn is not remembered: it was compacted, or has no answer"
    )
    assert storage.values == {}
