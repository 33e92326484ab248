import json
import re
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counting import is_linear, not_for_ever
from gpt5_messages import History, ItemStore, MessageError, build_input


QUESTION = {"role": "user", "content": "What is it?"}
THOUGHT = {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "mine"}


def made(call_id: str, name: str = "f", arguments: str = "{}") -> dict[str, object]:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}


def said(text: str) -> dict[str, object]:
    return {"type": "message", "content": [{"type": "output_text", "text": text}]}


def called(
    *call_ids: str, content: object = "", name: str = "f", arguments: object = "{}"
) -> list[dict[str, object]]:
    """Return an assistant message with these calls, and their results."""
    function = {"name": name, "arguments": arguments}
    calls = [{"id": call_id, "function": function} for call_id in call_ids]
    results = [{"role": "tool", "tool_call_id": call_id, "content": "4"} for call_id in call_ids]
    return [{"role": "assistant", "content": content, "tool_calls": calls}, *results]


def is_recalled(
    store: ItemStore, *messages: dict[str, object], scope: str = "s", mark: object = "mine"
) -> bool:
    """Return whether a request with these messages holds the reasoning with this mark."""
    items = build_input(messages, recall=partial(store.recall, scope))
    return any(item.get("encrypted_content") == mark for item in items)


def filled(*items: dict[str, object], **bounds: float) -> ItemStore:
    store = ItemStore(**bounds)
    store.remember("s", [QUESTION], [THOUGHT, *items])
    return store


def test_items_come_back_to_the_message_with_the_same_calls() -> None:
    store = filled(made("a"), made("b"))

    items = build_input([QUESTION, *called("a", "b")], recall=partial(store.recall, "s"))

    assert items[1:4] == [THOUGHT, made("a"), made("b")]


@pytest.mark.parametrize(("answer_only", "content"), [(False, "Hm.{}"), (True, "{}")])
def test_items_come_back_to_what_was_shown_of_the_answer(
    *, answer_only: bool, content: str
) -> None:
    store, items = ItemStore(), [THOUGHT, {**said("Hm."), "phase": "commentary"}, said("{}")]
    store.remember("s", [QUESTION], [*items, made("a")], answer_only=answer_only)

    assert is_recalled(store, QUESTION, *called("a", content=content))
    assert not is_recalled(store, QUESTION, *called("a", content="{}Hm."))


def test_a_conversation_that_was_read_for_the_request_need_not_be_read_again() -> None:
    store, history = ItemStore(), History()
    before = [QUESTION, *called("a"), THOUGHT, made("b"), {"role": "user", "content": "Why?"}]
    build_input(before, history=history)
    store.remember("s", history, [THOUGHT, made("c")])

    assert history.digest == History(before).digest
    assert is_recalled(store, *before, *called("c"))
    assert not is_recalled(store, QUESTION, *called("c"))


def test_items_are_never_shared_between_scopes() -> None:
    assert not is_recalled(filled(made("a")), QUESTION, *called("a"), scope="another")


@pytest.mark.parametrize(
    "messages",
    [
        [QUESTION, *called("b")],
        [QUESTION, *called("a", "b")],
        [QUESTION, *called("a", name="g")],
        [QUESTION, *called("a", arguments='{"x": 1}')],
        [QUESTION, *called("a", arguments="{broken")],
        [QUESTION, *called("a", content="Another word.")],
        [QUESTION, *called("a", content="")],
        [{"role": "user", "content": "Another question?"}, *called("a", content="Well.")],
        [{"role": "system", "content": "Be brief."}, QUESTION, *called("a", content="Well.")],
        [{"role": "system", "content": "What is it?"}, *called("a", content="Well.")],
        [QUESTION, *called("z"), *called("a", content="Well.")],
        called("a", content="Well."),
    ],
    ids=str,
)
def test_items_do_not_come_back_to_another_message_or_conversation(
    messages: list[dict[str, object]],
) -> None:
    store = filled(said("Well."), made("a"))

    assert is_recalled(store, QUESTION, *called("a", content="Well."))
    assert not is_recalled(store, *messages)


def asked(text: str) -> list[dict[str, object]]:
    part = {"type": "input_text", "text": text}
    return [{"type": "message", "role": "user", "content": [part]}]


@pytest.mark.parametrize(
    ("before", "other"),
    [
        (asked("Mine?"), asked("Theirs?")),
        (asked("Mine?"), []),
        ([made("z", arguments='{"x": 1}')], [made("z", arguments='{"x": 2}')]),
        (
            [made("z"), {"type": "function_call_output", "call_id": "z", "output": "mine"}],
            [made("z"), {"type": "function_call_output", "call_id": "z", "output": "theirs"}],
        ),
        (
            [{"type": "compaction", "encrypted_content": "mine?"}],
            [{"type": "compaction", "encrypted_content": "theirs?"}],
        ),
    ],
    ids=str,
)
def test_items_among_the_messages_tell_conversations_apart(
    before: list[dict[str, object]], other: list[dict[str, object]]
) -> None:
    store = ItemStore()
    store.remember("s", [*before, QUESTION], [THOUGHT, made("a")])

    assert is_recalled(store, *before, QUESTION, *called("a"))
    assert is_recalled(store, *before, {**THOUGHT, "id": "other"}, QUESTION, *called("a"))
    assert not is_recalled(store, *other, QUESTION, *called("a"))


@pytest.mark.parametrize(
    ("arguments", "same"),
    [("", "{}"), ("", {}), (" ", None), ('{"a":1,"b":"é"}', '{"b": "\\u00e9", "a": 1}')],
)
def test_arguments_are_the_same_however_they_are_written(arguments: str, same: object) -> None:
    store = filled(made("a", arguments=arguments))

    assert is_recalled(store, QUESTION, *called("a", arguments=same))


@pytest.mark.parametrize(
    "content",
    [
        "<think>\nPlan\n</think>One two.\n\nThree.",
        "One two.\n\nThree.",
        " One two. Three.\n",
        [{"type": "text", "data": "One two."}, {"type": "text", "data": "Three."}],
        [{"type": "text", "data": "<think>\nPlan\n</think>One two.\n\nThree.", "opaque_body": {}}],
    ],
)
def test_what_platforms_do_to_an_answer_makes_no_difference(content: object) -> None:
    summary = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Plan"}]}
    store = filled(summary, said("One two.\n\nThree."), made("a"))

    assert is_recalled(store, QUESTION, *called("a", content=content))
    later = [QUESTION, *called("a", content=content)]
    store.remember("s", later, [{**THOUGHT, "encrypted_content": "second"}, made("b")])
    again = [QUESTION, *called("a", content="One two.\n\nThree."), *called("b")]
    assert is_recalled(store, *again, mark="second")


REFUSED = {"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}


@pytest.mark.parametrize(
    "shown",
    [
        {"content": "No."},
        {"content": [{"type": "refusal", "refusal": "No."}]},
        {"content": None, "refusal": "No."},
        {"content": "", "refusal": "No."},
    ],
    ids=str,
)
@pytest.mark.parametrize("item", [REFUSED, said("No.")], ids=["refused", "said"])
def test_a_refusal_is_text_that_was_seen(shown: dict[str, object], item: dict[str, object]) -> None:
    first, result = called("a")
    second = [{**first, **shown}, result]
    store = filled(item, made("a"))
    store.remember("s", [QUESTION, *second], [{**THOUGHT, "encrypted_content": "2"}, made("b")])

    assert is_recalled(store, QUESTION, *second)
    assert is_recalled(store, QUESTION, *second, *called("b"), mark="2")
    assert not is_recalled(store, QUESTION, first, result, *called("b"), mark="2")


def test_another_refusal_is_another_conversation() -> None:
    store = ItemStore()
    store.remember("s", [QUESTION, {"role": "assistant", **REFUSED}], [THOUGHT, made("a")])
    other = {"role": "assistant", "content": [{"type": "refusal", "refusal": "Never."}]}

    assert is_recalled(store, QUESTION, {"role": "assistant", "refusal": "No."}, *called("a"))
    assert not is_recalled(store, QUESTION, other, *called("a"))


@pytest.mark.parametrize(
    "summary", ["the tag </think> ends", "a <think> begins", "x</think>y<think>z"]
)
def test_a_summary_about_tags_is_no_reason_to_forget(summary: str) -> None:
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": summary}]}
    store = filled(thought, said("Hi"), made("a"))

    assert is_recalled(store, QUESTION, *called("a", content=f"<think>\n{summary}\n</think>Hi"))


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "image", "base64_data": "QUJD"}, {"type": "text", "data": "What is it?"}],
        [
            {"type": "text", "data": "What is"},
            {"type": "document"},
            {"type": "text", "data": "it?"},
        ],
        "[image]\nWhat is it?",
        "What is it?\n[file]",
        "[image omitted: this model is given text only]\nWhat is it?",
        "What is it?",
    ],
)
def test_images_and_what_replaces_them_make_no_difference(content: object) -> None:
    assert is_recalled(filled(made("a")), {"role": "user", "content": content}, *called("a"))


@pytest.mark.parametrize("content", ["", None, "[image]", [{"type": "image"}], []])
def test_a_message_with_nothing_to_see_makes_no_difference(content: object) -> None:
    store = filled(made("a"))

    assert is_recalled(store, {"role": "user", "content": content}, QUESTION, *called("a"))


def test_an_id_with_two_lists_of_items_is_never_trusted_again() -> None:
    store = filled(made("a"), made("b"))
    other = {"role": "user", "content": "And that?"}
    store.remember("s", [other], [{**THOUGHT, "encrypted_content": "other"}, made("a")])

    assert not is_recalled(store, QUESTION, *called("a", "b"))
    assert not is_recalled(store, other, *called("a"), mark="other")
    store.remember("s", [QUESTION], [THOUGHT, made("a"), made("b")])
    assert not is_recalled(store, QUESTION, *called("a", "b"))
    store.remember("another", [QUESTION], [THOUGHT, made("a")])
    assert is_recalled(store, QUESTION, *called("a"), scope="another")


def test_the_same_items_twice_are_no_reason_for_mistrust() -> None:
    store = filled(made("a"))
    store.remember("s", [QUESTION], [THOUGHT, made("a")])

    assert (len(store), is_recalled(store, QUESTION, *called("a"))) == (1, True)


@pytest.mark.parametrize("bounds", [{"max_entries": 1}, {"max_bytes": 200}, {"max_age_seconds": 1}])
def test_an_id_is_barred_also_when_its_first_items_are_gone(bounds: dict[str, float]) -> None:
    now = [0.0]
    store = filled(made("a"), **bounds, clock=lambda: now[0])
    now[0] = 2.0
    store.remember("s", [QUESTION], [THOUGHT, made("b")])

    store.remember("s", [QUESTION], [{**THOUGHT, "encrypted_content": "theirs"}, made("a")])

    assert not is_recalled(store, QUESTION, *called("a"), mark="theirs")


def test_an_id_is_barred_also_when_one_of_its_lists_was_too_large_to_keep() -> None:
    store = ItemStore(max_bytes=200)
    store.remember("s", [QUESTION], [THOUGHT, made("a"), {"type": "new", "data": "x" * 300}])
    store.remember("s", [QUESTION], [THOUGHT, made("a")])

    assert not is_recalled(store, QUESTION, *called("a"))


def collide(store: ItemStore, scope: str, call_id: str) -> None:
    for mark in ("one", "two"):
        store.remember(scope, [QUESTION], [{**THOUGHT, "encrypted_content": mark}, made(call_id)])


def test_with_too_many_barred_ids_nothing_is_recalled_for_these_credentials() -> None:
    store = ItemStore()
    for number in range(300):
        collide(store, "s", f"call_{number}")
    store.remember("s", [QUESTION], [THOUGHT, made("new")])
    store.remember("another", [QUESTION], [THOUGHT, made("a")])

    assert not is_recalled(store, QUESTION, *called("new"))
    assert is_recalled(store, QUESTION, *called("a"), scope="another")


def test_with_too_many_credentials_with_barred_ids_nothing_is_recalled_for_further_ones() -> None:
    store = filled(made("a"))
    for number in range(1_001):
        collide(store, f"s{number}", "call_0")

    assert not is_recalled(store, QUESTION, *called("a"))


def forget_ids(store: ItemStore) -> None:
    """Let so many ids be seen that those before them are forgotten."""
    for number in range(9):
        others = [made(f"{number}-{index}") for index in range(1_000)]
        store.remember("s", [QUESTION], others)


def test_ids_that_were_seen_are_not_kept_for_ever() -> None:
    """The bound is memory's; an id comes again long before thousands of others where ids repeat at all."""
    store = filled(made("a"), max_entries=1)
    forget_ids(store)
    store.remember("s", [QUESTION], [{**THOUGHT, "encrypted_content": "late"}, made("a")])

    assert is_recalled(store, QUESTION, *called("a"), mark="late")


@pytest.mark.untraced
def test_items_never_replace_others_that_are_still_kept() -> None:
    store = filled(made("a"))
    forget_ids(store)
    store.remember("s", [QUESTION], [{**THOUGHT, "encrypted_content": "theirs"}, made("a")])

    assert not is_recalled(store, QUESTION, *called("a"), mark="theirs")


def test_changing_what_was_recalled_changes_nothing_in_the_store() -> None:
    store = filled(made("a"))
    recalled = []

    def recall(turn):
        recalled.append(store.recall("s", turn))
        return recalled[-1]

    build_input([QUESTION, *called("a")], recall=recall)
    recalled[0].clear()

    assert is_recalled(store, QUESTION, *called("a"))


@pytest.mark.parametrize(
    "content",
    [
        "Noon.",
        "<think>\nPlan\n</think>Noon.\n",
        [{"type": "text", "data": "<think>\nPlan\n</think> Noon."}],
    ],
    ids=str,
)
def test_an_answer_without_calls_is_found_by_its_text_after_the_same_messages(
    content: object,
) -> None:
    summary = {**THOUGHT, "summary": [{"type": "summary_text", "text": "Plan"}]}
    store, answer = ItemStore(), {"role": "assistant", "content": content}
    store.remember("s", [QUESTION], [summary, said("Noon.")])

    assert is_recalled(store, QUESTION, answer)
    assert is_recalled(store, QUESTION, answer, {"role": "user", "content": "And now?"})
    assert not is_recalled(store, answer)  # a history that was cut
    assert not is_recalled(store, QUESTION, {**answer, "content": "Midnight."})
    assert not is_recalled(store, {"role": "system", "content": "Lie."}, QUESTION, answer)


def test_of_two_answers_that_look_alike_neither_is_recalled() -> None:
    store, answer = filled(said("Noon.")), {"role": "assistant", "content": "Noon."}
    store.remember("s", [QUESTION], [{**THOUGHT, "encrypted_content": "2"}, said("Noon.")])

    assert not is_recalled(store, QUESTION, answer)
    assert not is_recalled(store, QUESTION, answer, mark="2")
    store.remember("s", [QUESTION], [THOUGHT, said("Noon.")])
    assert not is_recalled(store, QUESTION, answer)


@pytest.mark.parametrize(
    "thought", [[], [{"type": "reasoning", "id": "rs", "summary": []}]], ids=["none", "unencrypted"]
)
def test_a_response_that_is_as_good_as_its_text_is_not_kept(thought: list[Any]) -> None:
    store = ItemStore()
    store.remember("s", [QUESTION], [*thought, said("Hi")])

    assert len(store) == 0


def test_the_oldest_goes_when_there_are_too_many() -> None:
    store = ItemStore(max_entries=2)
    for name in "abc":
        store.remember("s", [QUESTION], [THOUGHT, made(name)])

    assert [is_recalled(store, QUESTION, *called(name)) for name in "abc"] == [False, True, True]


def test_the_oldest_goes_when_there_is_too_much() -> None:
    store = ItemStore(max_bytes=300)
    for name in "abc":
        store.remember("s", [QUESTION], [THOUGHT, made(name)])

    assert not is_recalled(store, QUESTION, *called("a"))
    assert is_recalled(store, QUESTION, *called("c"))


@pytest.mark.parametrize("character", ["a", "é", "思", "\U0001f600"])
def test_the_size_is_counted_in_bytes(character: str) -> None:
    text = character * 100
    size = len(
        json.dumps(
            [made("a"), {"type": "new", "data": text}], separators=(",", ":"), ensure_ascii=False
        ).encode()
    )

    for bound, expected in ((size, 1), (size - 1, 0)):
        store = ItemStore(max_bytes=bound)
        store.remember("s", [QUESTION], [made("a"), {"type": "new", "data": text}])
        assert len(store) == expected


def test_a_response_larger_than_the_store_displaces_nothing() -> None:
    store = filled(made("a"), max_bytes=300)
    store.remember("s", [QUESTION], [made("b"), {"type": "new", "data": "x" * 300}])

    assert is_recalled(store, QUESTION, *called("a"))


def test_half_a_character_is_kept_as_it_is() -> None:
    store = ItemStore()
    odd = {**THOUGHT, "summary": [{"text": "\ud83d"}]}
    store.remember("s", [{"role": "user", "content": "\ud83d"}], [odd, made("a")])

    assert is_recalled(store, {"role": "user", "content": "\ud83d"}, *called("a"))


def test_entries_are_forgotten_when_they_are_old() -> None:
    now = [0.0]
    store = filled(made("a"), max_age_seconds=10, clock=lambda: now[0])

    now[0] = 9.9
    assert is_recalled(store, QUESTION, *called("a"))
    now[0] = 10.0
    assert not is_recalled(store, QUESTION, *called("a"))
    assert len(store) == 0


@pytest.mark.parametrize("bound", ["max_entries", "max_bytes", "max_age_seconds"])
def test_a_bound_of_zero_is_refused_by_its_name(bound: str) -> None:
    with pytest.raises(MessageError, match=bound) as caught:
        ItemStore(**{bound: 0})

    assert caught.value.field == bound


@pytest.mark.parametrize("text", ["[image omitted: ", "[image", "<think>", "[", "x "])
def test_the_cost_of_a_message_does_not_grow_faster_than_its_text(text: str) -> None:
    store = ItemStore()

    def look(count: int) -> None:
        is_recalled(store, {"role": "assistant", "content": text * count}, *called("a"))

    assert is_linear(look, 500)
    with not_for_ever():
        look(400_000 // len(text))


def renamed(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return messages as Dify's agent apps hand them on in the next turn: each call has a new id, as has its result."""
    text = json.dumps(messages)
    for number, call_id in enumerate(sorted({*re.findall(r'"(call_\w+)"', text)})):
        text = text.replace(f'"{call_id}"', f'"new-{number}-{id(messages)}"')
    return json.loads(text)


TURN = [
    QUESTION,
    *called("call_a", content="Well."),
    *called("call_b", "call_c", name="g", arguments='{"x": 1}'),
]


def agent_app() -> ItemStore:
    store = ItemStore()
    first = [THOUGHT, said("Well."), made("call_a")]
    second = [made("call_b", "g", '{"x":1}'), made(" call_c", "g", '{"x": 1}')]
    store.remember("s", TURN[:1], first)
    store.remember("s", TURN[:3], [{**THOUGHT, "encrypted_content": "2"}, *second])
    store.remember("s", TURN, [{**THOUGHT, "encrypted_content": "3"}, said("Done.")])
    return store


def test_a_history_whose_calls_have_new_ids_finds_its_items() -> None:
    store, answer = agent_app(), {"role": "assistant", "content": "Done."}
    later = [*renamed(TURN), answer, {"role": "user", "content": "And now?"}]

    items = build_input(later, recall=partial(store.recall, "s"))
    assert [item.get("encrypted_content") for item in items if "summary" in item] == [
        "mine",
        "2",
        "3",
    ]
    # The results answer the calls by the ids that the server gave.
    ids = [item["call_id"] for item in items if "call_id" in item]
    assert ids == ["call_a", "call_a", "call_b", " call_c", "call_b", " call_c"]
    # What follows is found under the new ids as well as under newer ones.
    store.remember("s", later, [{**THOUGHT, "encrypted_content": "4"}, made("call_d")])
    for messages in (later, [*renamed(TURN), *later[-2:]]):
        assert is_recalled(store, *messages, *called("call_d"), mark="4")


@pytest.mark.parametrize(
    "messages",
    [
        [*TURN[:1], *called("new", content="Well", name="f")],
        [*TURN[:1], *called("new", content="Well.", name="g")],
        [*TURN[:1], *called("new", content="Well.", arguments='{"x": 2}')],
        [{"role": "user", "content": "Who?"}, *called("new", content="Well.")],
        [*TURN[:1], *called("new", "newer", content="Well.")],
        [*TURN[:1], *called("call_b", content="Well.")],  # an id that another call has had
        [*TURN[:1], *called("call_b"), *called("new", content="Well.")],
    ],
    ids=str,
)
def test_new_ids_find_nothing_where_anything_else_differs(messages: list[Any]) -> None:
    assert not is_recalled(agent_app(), *messages)


@pytest.mark.parametrize("bounds", [{}, {"max_entries": 1}], ids=["both", "one gone"])
def test_new_ids_find_nothing_where_two_responses_have_ever_fitted(
    bounds: dict[str, float],
) -> None:
    store = filled(made("a"), **bounds)
    store.remember("s", [QUESTION], [{**THOUGHT, "encrypted_content": "2"}, made("b")])
    for mark in ("mine", "2"):
        assert not is_recalled(store, QUESTION, *called("new"), mark=mark)
    store.remember("s", [QUESTION], [{**THOUGHT, "encrypted_content": "2"}, made("b")])
    assert not is_recalled(store, QUESTION, *called("new"), mark="2")
    assert is_recalled(store, QUESTION, *called("b"), mark="2")


def test_an_id_that_is_new_once_and_then_another_call_s_own_is_each_time_what_it_is() -> None:
    again = [{"role": "user", "content": "More."}, *called("new", name="h")]
    items = build_input(
        [QUESTION, *called("new"), *again], recall=partial(filled(made("a")).recall, "s")
    )

    assert [item["call_id"] for item in items if "call_id" in item] == ["a", "a", "new", "new"]


def test_items_of_other_calls_are_not_taken_by_new_ids() -> None:
    """`recall` may be anybody's."""
    items = build_input([QUESTION, *called("new")], recall=lambda _: [THOUGHT, made("a", "other")])

    assert [item["call_id"] for item in items if "call_id" in item] == ["new", "new"]


class Conversation:
    """One user's conversation, whose model marks every reasoning item with whose it is."""

    def __init__(self, name: str, question: str) -> None:
        self.name = name
        self.messages = [{"role": "user", "content": question}]
        self.marks: list[str] = []

    def take_round(self, store: ItemStore, call_id: str, text: str) -> set[str]:
        """Make one request, and return the marks of the reasoning that went into it."""
        items = build_input(self.messages, recall=partial(store.recall, "shared key"))
        sent = {item["encrypted_content"] for item in items if item.get("type") == "reasoning"}
        self.marks.append(f"{self.name}-{len(self.marks)}")
        thought = {**THOUGHT, "encrypted_content": self.marks[-1]}
        words = [said(text)] if text else []
        store.remember("shared key", self.messages, [thought, *words, made(call_id)])
        self.messages = [*self.messages, *called(call_id, content=text)]
        return sent


ROUNDS = st.lists(
    st.tuples(
        st.integers(0, 2), st.sampled_from(["call_0", "call_1"]), st.sampled_from(["", "Hm."])
    ),
    max_size=12,
)
QUESTIONS = st.lists(st.sampled_from(["Why?", "How?"]), min_size=3, max_size=3)


@given(rounds=ROUNDS, questions=QUESTIONS, max_entries=st.integers(1, 4))
def test_with_colliding_ids_no_item_enters_a_request_of_another_conversation(
    rounds: list[tuple[int, str, str]], questions: list[str], max_entries: int
) -> None:
    store = ItemStore(max_entries=max_entries)
    conversations = [Conversation(str(index), text) for index, text in enumerate(questions)]
    for index, call_id, text in rounds:
        conversation = conversations[index]
        before = set(conversation.marks)
        assert conversation.take_round(store, call_id, text) <= before


@given(rounds=ROUNDS, questions=QUESTIONS)
def test_with_distinct_ids_everything_is_recalled(
    rounds: list[tuple[int, str, str]], questions: list[str]
) -> None:
    store = ItemStore()
    conversations = [Conversation(str(index), text) for index, text in enumerate(questions)]
    for number, (index, _, text) in enumerate(rounds):
        conversation = conversations[index]
        before = set(conversation.marks)
        assert conversation.take_round(store, f"call_{number}", text) == before


TURNS = st.lists(
    st.tuples(
        st.integers(0, 2), st.sampled_from(["Why?", "How?"]), st.sampled_from(["Hm.", "Yes."])
    ),
    max_size=12,
)


class Chat:
    """A chat without tools, whose model marks every reasoning item with all that was said up to its answer."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    def take_turn(
        self, store: ItemStore, question: str, answer: str, number: int
    ) -> tuple[list[str], list[str]]:
        """Return the marks of the reasoning that went into the request, and those of the answers before it."""
        before = [
            repr(self.messages[: place + 1])
            for place, message in enumerate(self.messages)
            if message["role"] == "assistant"
        ]
        self.messages += [{"role": "user", "content": question}]
        items = build_input(self.messages, recall=partial(store.recall, "s"))
        sent = [item["encrypted_content"].partition("#")[0] for item in items if "summary" in item]
        reply = {"role": "assistant", "content": answer}
        mark = f"{[*self.messages, reply]!r}#{number}"
        thought = {**THOUGHT, "encrypted_content": mark}
        store.remember("s", self.messages, [thought, said(answer)])
        self.messages += [reply]
        return sent, before


@given(turns=TURNS, max_entries=st.integers(1, 4))
def test_reasoning_comes_back_only_where_all_that_was_said_is_the_same(
    turns: list[tuple[int, str, str]], max_entries: int
) -> None:
    store, chats = ItemStore(max_entries=max_entries), [Chat(), Chat(), Chat()]
    for number, (index, question, answer) in enumerate(turns):
        sent, before = chats[index].take_turn(store, question, answer, number)
        left = iter(before)
        assert all(mark in left for mark in sent)  # each at its own answer, in order


@given(turns=TURNS)
def test_where_no_two_chats_look_alike_all_reasoning_comes_back(
    turns: list[tuple[int, str, str]],
) -> None:
    store, chats = ItemStore(), [Chat(), Chat(), Chat()]
    for number, (index, question, answer) in enumerate(turns):
        sent, before = chats[index].take_turn(store, f"{question} {index}", answer, number)
        assert sent == before
