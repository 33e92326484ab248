"""What becomes of the images of a run whose requests would be too large."""

import json
from itertools import pairwise
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_loop import (
    AgentRun,
    CallModel,
    InvalidSettingError,
    Message,
    MessageError,
    ModelDelta,
    ModelDone,
    ShowFile,
    ToolCallFragment,
    ToolResult,
)


LIMIT = 20_000


def image(number, size=5_000):
    data = f"{number}:".ljust(size, "x")
    return {"type": "image", "filename": f"{number}.png", "base64_data": data}


def play(messages, *results, limit=LIMIT, body=None):
    """Run an agent whose tools give these results, one a round, and whose model gives such a body with each call; return the requests."""
    run = AgentRun(messages, maximum_iterations=len(results) + 2, max_request_bytes=limit)
    calls = [event for event in run.start() if isinstance(event, CallModel)]
    for number, content in enumerate(results):
        run.feed(ModelDelta(tool_calls=(ToolCallFragment(call_id=f"c{number}", name="look"),)))
        run.feed(ModelDelta(opaque_body=body))
        run.feed(ModelDone())
        events = run.feed(ToolResult(call_id=f"c{number}", content=content))
        calls += [event for event in events if isinstance(event, CallModel)]
    return calls


def parts_of(messages):
    contents = [
        message["content"] if isinstance(message, dict) else message.content for message in messages
    ]
    return [part for content in contents if not isinstance(content, str) for part in content]


def images_of(call):
    return [part for part in parts_of(call.messages) if part["type"] != "text"]


def user(*parts):
    return Message(role="user", content=parts)


def test_the_oldest_images_become_sentences_and_the_newest_stay():
    given_ = [image(number) for number in range(6)]
    [call] = play([user(*given_[:2]), {"role": "user", "content": given_[2:]}])
    assert images_of(call) == given_[3:]
    assert call.left_out == 3
    assert parts_of(call.messages)[0] == {
        "type": "text",
        "text": '[image "0.png" omitted: no room for it beside the newer ones in one request]',
    }


def test_where_no_image_is_left_the_oldest_thoughts_go_and_the_request_says_that_it_is_another():
    thought = {"type": "reasoning", "made_by": "0a", "content": "x" * 8_000}
    body = {"responses_output": [thought, {"type": "function_call", "call_id": "c"}]}
    calls = play([user({"type": "text", "text": "Which?"})], *"abcd", body=body)

    kept = [
        [
            len(message.opaque_body["responses_output"])
            for message in call.messages
            if message.role == "assistant"
        ]
        for call in calls
    ]
    assert kept == [[], [2], [2, 2], [1, 1, 2], [1, 1, 2, 2]]
    assert [call.is_rewritten for call in calls] == [False, False, False, True, False]
    assert {call.left_out for call in calls} == {0}


def test_what_was_replaced_stays_so_and_what_fits_is_left_alone():
    first, second, third, last = play(
        [user(image(0), {"type": "text", "text": "Which?"})],
        (image(1), image(2)),
        (image(3),),
        "none",
    )
    assert [call.left_out for call in (first, second, third, last)] == [0, 0, 3, 0]
    assert images_of(third) == [image(3)]
    assert second.messages[: len(first.messages)] == first.messages
    assert last.messages[: len(third.messages)] == third.messages


def test_most_rounds_with_an_image_extend_the_request_before():
    calls = play([user(image(0))], *((image(number),) for number in range(1, 20)))
    extended = [
        after.messages[: len(before.messages)] == before.messages
        for before, after in pairwise(calls)
    ]
    assert extended.count(False) == sum(call.left_out > 0 for call in calls) == 7


def test_an_image_that_no_request_could_hold_goes_alone():
    [call] = play([user(image(0), image(1, 30_000), image(2))])
    assert images_of(call) == [image(0), image(2)]
    assert "it has 30,0" in parts_of(call.messages)[1]["text"]


def test_the_newest_image_stays_also_where_texts_take_the_room():
    [call] = play([user(image(0), image(1)), Message(role="user", content="x" * LIMIT)])
    assert (images_of(call), call.left_out) == ([image(1)], 1)


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        ({"type": "input_image", "image_url": "data:" + "x" * 9_000}, ("input_text", "[image ")),
        ({"type": "input_file", "filename": "a.pdf", "file_data": "x" * 9_000}, ("input_text", "")),
        ({"type": "video", "data": "x" * 9_000}, ("text", "[video omitted")),
        (SimpleNamespace(kind="document", name="a.pdf", data="x" * 9_000), ("text", '[file "a')),
    ],
)
def test_a_sentence_is_in_the_words_of_the_part_s_own_kind(part, sentence):
    [call] = play([user(part, image(1), image(2), image(3))])
    told = call.messages[0].content[0]
    assert told["type"] == sentence[0]
    assert told["text"].startswith(sentence[1])


def test_links_texts_and_what_is_not_understood_are_left_alone():
    link = {"type": "image", "url": "https://example.com/a.png"}
    strange = SimpleNamespace(role="user", content=[image(9)])
    messages = [user(link, "text", {"type": "text", "text": "y" * 9_000}), strange, user(image(1))]
    [call] = play([*messages, user(image(2), image(3))])
    assert call.messages[:2] == tuple(messages[:2])
    assert call.left_out == 2


def test_without_a_limit_nothing_is_looked_at():
    run = AgentRun([user(image(0, 10**7))], maximum_iterations=1)
    assert run.max_request_bytes is None
    [_, call] = run.start()
    assert call.messages[0].content == (image(0, 10**7),)


def test_a_limit_is_at_least_one_byte():
    with pytest.raises(InvalidSettingError):
        AgentRun([], maximum_iterations=1, max_request_bytes=0)


sizes = st.sampled_from([1_200, 4_000, 9_000, 19_000, 21_000])
contents = st.lists(sizes | st.text(max_size=2_000), max_size=3)


@given(history=st.lists(contents, max_size=5), results=st.lists(contents, max_size=6))
def test_the_laws_of_what_is_left_out(history, results):
    count = iter(range(99))

    def parts(content):
        return tuple(
            image(next(count), item) if isinstance(item, int) else {"type": "text", "text": item}
            for item in content
        )

    before = [parts(content) for content in history]
    after = [parts(content) for content in results]
    calls = play([user(*content) for content in before], *after)
    sent = [part for content in before + after for part in content]
    for call in calls:
        told = parts_of(call.messages)
        kept = images_of(call)
        able = [
            part
            for part in sent[: len(told)]
            if part["type"] == "image" and len(json.dumps(part)) <= LIMIT
        ]
        # The newest are kept, byte for byte and in order; texts are never touched.
        assert kept == able[len(able) - len(kept) :]
        assert not able or kept
        assert all(
            mine == theirs
            for mine, theirs in zip(told, sent, strict=False)
            if theirs["type"] == "text"
        )
        assert len(kept) <= 1 or sum(len(json.dumps(part)) for part in told) <= LIMIT
    for one, following in pairwise(calls):
        is_extended = following.messages[: len(one.messages)] == one.messages
        assert is_extended or following.left_out
        assert len(images_of(following)) >= len(images_of(one)) or following.left_out


def test_a_file_of_the_model_is_shown_and_counts_as_an_answer():
    run = AgentRun([], maximum_iterations=2)
    run.start()
    assert run.feed({"files": ["a picture"]}) == (ShowFile(file="a picture"),)
    assert not ModelDelta(files=("a picture",)).is_empty
    *_, finished = run.feed(ModelDone())
    assert (finished.reason, finished.answer) == ("answered", "")


def test_files_that_are_no_list_are_refused_by_their_name():
    run = AgentRun([], maximum_iterations=2)
    run.start()
    with pytest.raises(MessageError, match="files: expected a list"):
        run.feed({"files": 7})
