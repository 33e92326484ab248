"""Requests are written by what they add, and read whole."""

import copy

from hypothesis import given
from hypothesis import strategies as st
from written import JSON, find, read_lines, temporary_log

from run_log import Difference, RunFile, to_plain


LONG = "x" * 5_000
CONTENTS = st.one_of(
    st.text(alphabet="ab \n{[$", max_size=8),
    st.just(LONG),
    st.just("\ud800 half"),
    st.dictionaries(
        st.sampled_from(["$long_text", "$literal", "$bytes", "a"]), st.just("y"), max_size=2
    ),
    JSON,
)
MESSAGES = st.lists(st.fixed_dictionaries({"content": CONTENTS}), max_size=6)
SETTINGS = st.dictionaries(st.sampled_from(["model", "tools", "tool_choice"]), CONTENTS)


@st.composite
def conversations(draw):
    """Return requests that mostly add to the one before, and now and then rewrite it."""
    requests = []
    messages = []
    for _ in range(draw(st.integers(1, 5))):
        kept = draw(st.integers(0, len(messages))) if draw(st.booleans()) else len(messages)
        messages = [*messages[:kept], *draw(MESSAGES)]
        requests.append((copy.deepcopy(messages), draw(SETTINGS)))
    return requests


def normal(value):
    """Return what is meant by what is written: nothing is redacted in these tests."""
    return {name: member for name, member in value.items() if member is not None}


@given(conversations())
def test_every_request_is_read_as_it_was_written(requests):
    with temporary_log() as log:
        with log.begin() as run:
            for number, (messages, chosen) in enumerate(requests, start=1):
                run.request(number, messages, chosen)
        read_lines(run)
        file = RunFile(run.path)
        read = list(file.iter_requests())
        assert [problem.kind for problem in file.problems] == []
        before = []
        for request, (messages, chosen) in zip(read, requests, strict=True):
            assert request.messages == messages
            assert request.settings == normal(chosen)
            assert request.messages[: request.kept] == before[: request.kept]
            assert request.added == messages[request.kept :]
            assert (request.difference is None) == (before == messages[: len(before)])
            before = messages


def test_a_message_is_written_once():
    with temporary_log() as log:
        with log.begin() as run:
            messages = []
            for number in range(1, 30):
                messages.append({"role": "user", "content": f"Question {number}, {LONG}"})
                run.request(number, messages, {"tools": [{"name": "a" * 500}]})
        assert [len(record["added"]) for record in find(run, "request")] == [1] * 29
        assert run.path.stat().st_size < 29 * 6_000
        assert len(list(RunFile(run.path).iter_requests())[-1].messages) == 29


def test_a_rewritten_prefix_is_told_with_its_first_difference():
    first = [{"role": "user", "content": [{"text": f"{LONG}abc"}]}, {"role": "assistant"}]
    second = [{"role": "user", "content": [{"text": f"{LONG}abd"}]}, {"role": "assistant"}]
    with temporary_log() as log:
        with log.begin() as run:
            run.request(1, first, {"model": "a", "tool_choice": "auto"})
            run.request(2, second, {"model": "b"})
            run.request(3, second[:1], {"model": "b"})
            run.request(4, [], {"model": "b"})
        begun, told, shorter, none = RunFile(run.path).iter_requests()
        assert begun.difference is None
        assert [record.get("dropped") for record in find(run, "request")] == [None, 2, 1, 1]
        assert told.difference == Difference(
            path="messages[0].content[0].text",
            before=f"{LONG}abc",
            now=f"{LONG}abd",
            position=5_002,
        )
        assert (told.kept, told.dropped, told.changed) == (0, 2, ("model", "tool_choice"))
        gone = Difference(path="messages[1]", before={"role": "assistant"}, now=None)
        assert (shorter.difference, none.messages) == (gone, [])


def test_values_of_another_type_differ():
    pairs = [
        ({"a": 1}, {"a": True}),
        ({"a": None}, {"a": "x"}),
        ({"a": [1]}, {"a": [1, None]}),
        ({"a": None}, {}),
        ({"a": 0.0, "b": 1}, {"b": 1, "a": 0.0}),
    ]
    paths = []
    for before, now in pairs:
        with temporary_log() as log:
            with log.begin() as run:
                run.request(1, [before], {})
                run.request(2, [now], {})
            *_, request = RunFile(run.path).iter_requests()
            paths.append(request.difference.path)
    places = ["messages[0].a", "messages[0].a", "messages[0].a[1]", "messages[0].a", "messages[0]"]
    assert paths == places


def test_what_a_caller_has_changed_in_place_is_seen():
    message = {"role": "user", "content": "a"}
    with temporary_log() as log:
        with log.begin() as run:
            run.request(1, [message], {})
            message["content"] = "b"
            run.request(2, [message, {"role": "user"}], {})
        *_, request = RunFile(run.path).iter_requests()
    assert request.difference.path == "messages[0].content"


def test_bytes_are_read_as_their_base64():
    picture = {"role": "user", "content": [{"data": b"\x00" * 6_000}]}
    with temporary_log() as log:
        with log.begin() as run:
            run.request(1, [picture], {})
        [request] = RunFile(run.path).iter_requests()
        assert request.messages == [to_plain(picture)]
        [long] = find(run, "long_text")
    assert long["size"] == 8_000


def test_half_of_a_pair_of_surrogates_is_read_as_it_was_written():
    messages = [{"content": "\ud800 and \U0001f600"}, {"content": "\udc00" * 5_000}]
    with temporary_log() as log:
        with log.begin() as run:
            run.request(1, messages, {})
        [request] = RunFile(run.path).iter_requests()
        assert request.messages == messages


def test_what_only_looks_like_bytes_stays():
    messages = [{"content": [{"$bytes": "y"}, "A" * 501]}]
    with temporary_log() as log:
        with log.begin() as run:
            run.request(1, messages, {})
        [request] = RunFile(run.path).iter_requests()
        assert request.messages == [{"content": [{"$bytes": "y"}, "A" * 501]}]
