"""A token finds an answer again in the conversation that it was written for, and nowhere else."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpt5_messages import (
    MessageError,
    ResumePoint,
    ResumeTokens,
    build_input,
    find_resume_token,
    render_addendum,
)


type Message = dict[str, Any]

POINT = ResumePoint(response_id="resp_68af4030592c81938ec0a5fbab4a3e9f", shown_characters=120)
TOKENS = ResumeTokens("sk-ann")


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def answer(text: str) -> Message:
    return {"role": "assistant", "content": text}


SYSTEM: Message = {"role": "system", "content": "It is Monday."}
ASKED = [SYSTEM, user("Hi"), answer("Hello."), user("Prove it.")]


def later(token: str, asked: list[Message] | None = None, said: str = "go on") -> list[Message]:
    told = "First," + render_addendum(f"Not done. `{token}`")
    return [*(ASKED if asked is None else asked), answer(told), user(said)]


def taken(messages: list[Message], tokens: ResumeTokens = TOKENS) -> ResumePoint | None:
    found = find_resume_token(messages)
    assert found is not None
    return tokens.read(found)


def test_the_next_turn_finds_the_answer() -> None:
    token = TOKENS.write(POINT, ASKED)
    assert taken(later(token)) == POINT
    assert re.fullmatch(r"resume:resp_[0-9a-f]+/120/[A-Za-z0-9_-]{22}", token)


def test_the_model_does_not_see_the_token() -> None:
    sent = str(build_input(later(TOKENS.write(POINT, ASKED))))
    assert "resume:" not in sent
    assert "First," in sent


@pytest.mark.parametrize(
    "other",
    [
        [SYSTEM, user("Ho"), answer("Hello."), user("Prove it.")],
        [SYSTEM, user("Hi"), answer("Bye."), user("Prove it.")],
        [SYSTEM, user("Hi"), answer("Hello."), user("Prove the other.")],
        [SYSTEM, user("Prove it.")],
        [SYSTEM, *ASKED[1:], answer("Done."), user("Thanks.")],
        [],
    ],
)
def test_another_conversation_is_refused(other: list[Message]) -> None:
    assert taken(later(TOKENS.write(POINT, ASKED), other)) is None


def test_another_secret_is_refused() -> None:
    token = TOKENS.write(POINT, ASKED)
    assert taken(later(token), ResumeTokens("sk-bob")) is None


def test_what_dify_changes_from_turn_to_turn_makes_no_difference() -> None:
    calls = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    rounds: list[Message] = [
        {"role": "assistant", "content": "Let me see.", "tool_calls": [calls]},
        {"role": "tool", "tool_call_id": "call_1", "content": "7"},
    ]
    token = TOKENS.write(POINT, [*ASKED, *rounds])
    picture = {"type": "image", "format": "png", "mime_type": "image/png", "url": "https://x/y"}
    question = user("")
    question["content"] = [picture, {"type": "text", "data": " Prove  it. \n"}]
    changed = [
        {"role": "system", "content": "It is Tuesday."},
        user("Hi"),
        answer("<think>\nHm.\n</think>Hello." + render_addendum("[A](https://a)")),
        question,
    ]
    assert taken(later(token, changed)) == POINT


def test_the_oldest_turns_may_fall_out_of_the_window() -> None:
    turns = [turn for n in range(9) for turn in (user(f"question {n}"), answer(f"answer {n}"))]
    asked = [*turns, user("Prove it.")]
    token = TOKENS.write(POINT, asked)
    assert taken(later(token, asked[-7:])) == POINT
    assert taken(later(token, asked[-6:])) is None


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [user("Prove it.")],
        [*ASKED, answer("Done."), user("Thanks.")],
        later("resume:resp_1/120/short"),
        [answer("resume:resp_1/1/AAAAAAAAAAAAAAAAAAAAAA")],
        [answer("resume:resp_1/1/AAAAAAAAAAAAAAAAAAAAAA"), SYSTEM],
        # In a later round of the same turn the answer has been taken up already.
        [*later("resume:resp_1/1/AAAAAAAAAAAAAAAAAAAAAA"), {"role": "tool", "content": "7"}],
        [
            user("resume:resp_1/1/AAAAAAAAAAAAAAAAAAAAAA"),
            user("resume:resp_1/1/AAAAAAAAAAAAAAAAAAAAAA"),
        ],
    ],
)
def test_other_conversations_have_none(messages: list[Message]) -> None:
    assert find_resume_token(messages) is None


def test_several_messages_of_the_user_are_one_turn() -> None:
    assert taken([*later(TOKENS.write(POINT, ASKED)), user("[a file]")]) == POINT


def test_a_token_can_stand_alone() -> None:
    token = TOKENS.write(POINT)
    assert TOKENS.read(token) == POINT
    assert ResumeTokens("sk-bob").read(token) is None
    assert TOKENS.read(f"{token} ") is None
    assert TOKENS.read("") is None
    assert TOKENS.read(TOKENS.write(POINT, ASKED)) is None


@given(st.data())
def test_a_token_that_was_changed_is_none(data: st.DataObject) -> None:
    token = TOKENS.write(POINT)
    place = data.draw(st.integers(0, len(token) - 1))
    other = data.draw(st.characters(codec="utf-8").filter(lambda text: text != token[place]))
    assert TOKENS.read(token[:place] + other + token[place + 1 :]) is None


@pytest.mark.parametrize(
    "point",
    [
        ResumePoint(response_id="resp/../1"),
        ResumePoint(response_id=""),
        ResumePoint(response_id="r" * 257),
        ResumePoint(response_id="resp_1", shown_characters=-1),
        ResumePoint(response_id="resp_1", shown_characters=1_000_000_000),
    ],
)
def test_what_fits_into_no_token_is_refused(point: ResumePoint) -> None:
    with pytest.raises(ValueError, match="expected a response id and a number"):
        TOKENS.write(point)


def test_messages_that_cannot_be_read_are_named() -> None:
    with pytest.raises(MessageError, match="messages"):
        find_resume_token([3])
