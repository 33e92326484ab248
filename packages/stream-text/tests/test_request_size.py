"""Which files of a conversation stay where its requests would be too large."""

import json
from dataclasses import dataclass
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_text import RequestSize


LIMIT = 20_000


@dataclass(frozen=True)
class Said:
    content: object
    role: str = "user"


KEPT = ["reasoning", "function_call"]


def image(number, size=5_000):
    return {"type": "image", "data": f"{number}:".ljust(size, "x")}


def omitted(part, reason):
    return {"type": "text", "text": f"{str(part['data'])[:9].rstrip('x')} {reason}"}


def text(said):
    return {"type": "text", "text": said}


def user(*parts):
    return {"role": "user", "content": list(parts)}


def files_of(messages):
    contents = [message["content"] for message in messages]
    parts = [part for content in contents if isinstance(content, list) for part in content]
    return [part for part in parts if part["type"] != "text"]


class Conversation:
    """A conversation whose requests are made as its messages come, each of those that the last one has sent."""

    def __init__(self, limit=LIMIT, **settings):
        self.size = RequestSize(limit, omit=omitted, **settings)
        self.messages = []

    def add(self, *messages):
        self.messages, left_out = self.size.fit([*self.messages, *messages])
        return left_out


def test_what_fits_stays_as_it_is():
    talk = Conversation()
    said = [user(text("One"), image(1)), {"role": "assistant", "content": "Seen."}]

    assert talk.add(*said) == 0
    assert talk.messages == said


def test_over_the_bound_earlier_messages_are_brought_to_half_of_it():
    talk = Conversation()

    assert talk.add(user(image(0)), user(image(1)), user(image(2))) == 0
    assert talk.add(user(image(3))) == 3
    assert files_of(talk.messages) == [image(3)]
    assert talk.messages[0] == user(text("0: no room for it beside the newer ones in one request"))


def test_so_the_next_files_leave_the_beginning_as_it_is():
    talk = Conversation()
    breaks = [talk.add(user(image(number))) for number in range(20)]

    assert sum(count > 0 for count in breaks) == 6
    assert len(files_of(talk.messages)) == 20 - sum(breaks)


def test_of_one_message_s_files_only_those_go_that_must():
    talk = Conversation()

    assert talk.add(user(image(0)), user(*map(image, range(1, 6)))) == 3
    assert files_of(talk.messages) == [image(3), image(4), image(5)]


def test_the_newest_file_stays_whatever_its_size_and_whatever_follows_it():
    talk = Conversation()

    assert talk.add(user(image(0)), user(image(1, 30_000)), {"content": "x" * LIMIT}) == 1
    assert files_of(talk.messages) == [image(1, 30_000)]


def test_a_file_over_its_own_bound_goes_and_no_other_because_of_it():
    talk = Conversation(max_file_bytes=10_000)

    assert talk.add(user(image(0), image(1, 11_000), image(2)), user(image(3))) == 1
    assert files_of(talk.messages) == [image(0), image(2), image(3)]
    assert talk.messages[0]["content"][1]["text"].startswith("1: it has 11,0")


def test_where_no_file_is_left_the_oldest_thoughts_go_and_no_call():
    def answer(number):
        thought = {"type": "reasoning", "made_by": "0a", "content": f"{number}".ljust(8_000, ".")}
        sealed = {"type": "reasoning", "encrypted_content": "x" * 100}
        call = {"type": "function_call", "call_id": f"{number}"}
        items = [thought, sealed, call]
        return {"role": "assistant", "content": "", "opaque_body": {"responses_output": items}}

    def thoughts():
        bodies = [message["opaque_body"]["responses_output"] for message in talk.messages]
        assert all([item["type"] for item in body][-2:] == KEPT for body in bodies)
        return [body[0]["content"][0] for body in bodies if len(body) == 3]

    talk = Conversation()
    asked = [answer(number) for number in range(5)]
    lost = []
    for message in asked:
        assert talk.add(message) == 0
        lost.append((talk.size.has_lost_reasoning, "".join(thoughts())))
    assert lost == [(False, "0"), (False, "01"), (True, "2"), (False, "23"), (True, "4")]
    assert "0...." in str(asked[0])


def test_what_carries_no_thoughts_stays_whatever_its_size():
    talk = Conversation()
    odd = [None, "x", {"responses_output": "x"}, {"responses_output": ["x"]}]
    said = [{"role": "assistant", "content": "x" * 6_000, "opaque_body": body} for body in odd]

    assert talk.add(*said, user("x")) == 0
    assert talk.messages[:-1] == said


def test_a_message_of_a_dataclass_stays_one():
    large = (image(0, 15_000), image(1, 15_000))
    size = RequestSize(LIMIT, omit=omitted)

    [said], left_out = size.fit([Said(large, role="tool")])
    assert left_out == 1
    assert (said.role, said.content[1]) == ("tool", large[1])


@pytest.mark.parametrize(
    "other",
    [
        SimpleNamespace(content=[image(9, 15_000)]),
        Said("x" * 15_000),
        Said([SimpleNamespace(type=SimpleNamespace(value="text"), data="x" * 15_000)]),
        user("x" * 15_000),
        user({"type": "input_text", "text": "é" * 7_500}),
        user({"type": "image", "url": "https://example.com/" + "a" * 900}, text("x" * 15_000)),
    ],
)
def test_what_is_no_file_of_a_known_message_counts_and_stays(other):
    talk = Conversation()

    assert talk.add(user(image(0)), other, user(image(1))) == 1
    assert talk.messages[1] == other


def test_the_caller_s_messages_stay_as_they_are():
    given_in = [user(image(number)) for number in range(6)]
    before = json.dumps(given_in)
    Conversation().add(*given_in)

    assert json.dumps(given_in) == before


@given(
    st.lists(
        st.lists(
            st.sampled_from([1_200, 4_000, 9_000, 19_000]) | st.text(max_size=2_000), max_size=3
        ),
        max_size=9,
    )
)
def test_the_laws_of_what_is_left_out(contents):
    talk = Conversation()
    sent = []
    for content in contents:
        parts = [
            image(number, each) if isinstance(each, int) else text(each)
            for number, each in enumerate(content, len(sent))
        ]
        sent += parts
        before = talk.messages
        left_out = talk.add(user(*parts))
        now = [part for message in talk.messages for part in message["content"]]
        files, whole = files_of([user(*sent)]), files_of(talk.messages)
        # The newest stay, in order; texts too; and the request begins with the one before unless something went.
        assert whole == files[len(files) - len(whole) :]
        assert bool(whole) == bool(files)
        assert all(a == b for a, b in zip(now, sent, strict=True) if b["type"] == "text")
        assert left_out or talk.messages[: len(before)] == before
        assert (
            len(whole) <= 1 or len(json.dumps(talk.messages, ensure_ascii=False).encode()) <= LIMIT
        )


@given(st.lists(st.sampled_from([1_200, 4_000, 9_000]), max_size=12))
def test_a_conversation_that_is_gone_through_anew_comes_to_the_same(sizes):
    said = [user(image(number, size)) for number, size in enumerate(sizes)]
    one_by_one, at_once = Conversation(), Conversation()
    for message in said:
        one_by_one.add(message)
    at_once.add(*said)

    assert at_once.messages == one_by_one.messages
