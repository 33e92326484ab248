import pytest

from gpt5_messages import build_input, drop_orphan_outputs, replayable_items, without_reasoning


REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"}
MESSAGE = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "phase": "commentary",
    "content": [],
}


def call(call_id: str) -> dict[str, object]:
    return {"type": "function_call", "id": "fc", "call_id": call_id, "name": "f", "arguments": "{}"}


def test_items_go_back_verbatim_and_in_order() -> None:
    items = [REASONING, MESSAGE, REASONING, call("a")]

    assert replayable_items(items, answered={"a"}) == items


def test_reasoning_that_cannot_be_decrypted_is_left_out() -> None:
    assert replayable_items([{"type": "reasoning", "id": "rs_1", "summary": []}, MESSAGE]) == [
        MESSAGE
    ]


def test_an_unanswered_call_goes_and_takes_its_reasoning_with_it() -> None:
    items = [REASONING, MESSAGE, REASONING, call("a")]

    assert replayable_items(items, answered=()) == [REASONING, MESSAGE]


def test_reasoning_at_the_end_has_nothing_to_stand_before() -> None:
    assert replayable_items([MESSAGE, REASONING]) == [MESSAGE]


def test_a_reasoning_item_without_summary_gets_an_empty_one() -> None:
    bare = {"type": "reasoning", "encrypted_content": "e"}

    assert replayable_items([bare, MESSAGE])[0] == {**bare, "summary": []}


def test_replayed_items_are_copies() -> None:
    replayable_items([MESSAGE])[0]["phase"] = "changed"

    assert MESSAGE["phase"] == "commentary"


def test_without_reasoning_the_ids_that_point_at_it_go_too() -> None:
    user = {"role": "user", "content": "hi"}

    assert without_reasoning([user, REASONING, MESSAGE, call("a")]) == [
        user,
        {key: value for key, value in MESSAGE.items() if key != "id"},
        {key: value for key, value in call("a").items() if key != "id"},
    ]


def test_an_output_whose_call_was_cut_off_is_dropped() -> None:
    lost = {"type": "function_call_output", "call_id": "lost", "output": "x"}
    kept = {"type": "function_call_output", "call_id": "a", "output": "x"}

    assert drop_orphan_outputs([lost, call("a"), kept]) == [call("a"), kept]


def test_in_a_whole_conversation_reasoning_stands_only_before_the_models_own_items() -> None:
    question = {"role": "user", "content": "hi"}
    output = {"type": "function_call_output", "call_id": "a", "output": "x"}
    conversation = [question, REASONING, call("a"), output, REASONING, question]

    assert replayable_items(conversation, answered={"a"}) == [
        question,
        REASONING,
        call("a"),
        output,
        question,
    ]


@pytest.mark.parametrize("call_id", [{"a": 1}, ["a"], 7, None])
def test_an_id_that_is_no_text_pairs_nothing(call_id: object) -> None:
    made = {**call("a"), "call_id": call_id}
    output = {"type": "function_call_output", "call_id": call_id, "output": "4"}

    assert replayable_items([REASONING, made], answered={"a"}) == []
    assert drop_orphan_outputs([made, output, MESSAGE]) == [made, MESSAGE]
    carried = {"role": "assistant", "opaque_body": {"responses_output": [made, MESSAGE]}}
    assert build_input([carried]) == [MESSAGE]
