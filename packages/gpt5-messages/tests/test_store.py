import pytest

from gpt5_messages import ItemStore, MessageError


def call(call_id: str, name: str = "f") -> dict[str, object]:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": "{}"}


def test_items_are_found_by_every_call_in_them() -> None:
    store = ItemStore()
    items = [{"type": "reasoning", "encrypted_content": "e"}, call("a"), call("b")]

    store.remember("s", items)

    assert store.recall("s", "a") == store.recall("s", "b") == items


def test_items_are_never_shared_between_scopes() -> None:
    store = ItemStore()
    store.remember("mine", [call("a", "mine")])
    store.remember("yours", [call("a", "yours")])

    assert store.recall("mine", "a") == [call("a", "mine")]
    assert store.recall("other", "a") is None


def test_changing_what_was_recalled_changes_nothing_in_the_store() -> None:
    store = ItemStore()
    store.remember("s", [call("a")])

    store.recall("s", "a").clear()

    assert store.recall("s", "a") == [call("a")]


def test_a_response_without_calls_is_not_kept() -> None:
    store = ItemStore()

    store.remember("s", [{"type": "message"}])

    assert len(store) == 0


def test_the_latest_response_that_reuses_a_call_id_wins() -> None:
    store = ItemStore()
    store.remember("s", [call("a", "old"), call("b")])
    store.remember("s", [call("a", "new")])

    assert store.recall("s", "a") == [call("a", "new")]
    assert store.recall("s", "b") == [call("a", "old"), call("b")]


def test_remembering_the_same_calls_again_replaces_them() -> None:
    store = ItemStore()
    store.remember("s", [call("a", "old")])
    store.remember("s", [call("a", "new")])

    assert (len(store), store.recall("s", "a")) == (1, [call("a", "new")])


def test_the_oldest_goes_when_there_are_too_many() -> None:
    store = ItemStore(max_entries=2)
    for name in "abc":
        store.remember("s", [call(name)])

    assert [store.recall("s", name) is not None for name in "abc"] == [False, True, True]


def test_an_old_entry_that_goes_takes_no_reused_id_with_it() -> None:
    store = ItemStore(max_entries=2)
    store.remember("s", [call("a", "old"), call("b")])
    store.remember("s", [call("a", "new")])
    store.remember("s", [call("c")])

    assert store.recall("s", "a") == [call("a", "new")]
    assert store.recall("s", "b") is None


def test_the_oldest_goes_when_there_is_too_much() -> None:
    store = ItemStore(max_bytes=200)
    for name in "abc":
        store.remember("s", [call(name)])

    assert store.recall("s", "a") is None
    assert store.recall("s", "c") is not None


def test_a_response_larger_than_the_store_is_not_kept_and_displaces_nothing() -> None:
    store = ItemStore(max_bytes=200)
    store.remember("s", [call("a")])
    store.remember("s", [{**call("b"), "arguments": "x" * 300}])

    assert store.recall("s", "a") is not None
    assert store.recall("s", "b") is None


def test_entries_are_forgotten_when_they_are_old() -> None:
    now = [0.0]
    store = ItemStore(max_age_seconds=10, clock=lambda: now[0])
    store.remember("s", [call("a")])

    now[0] = 9.9
    assert store.recall("s", "a") is not None
    now[0] = 10.0
    assert store.recall("s", "a") is None
    assert len(store) == 0


@pytest.mark.parametrize("bound", ["max_entries", "max_bytes", "max_age_seconds"])
def test_a_bound_of_zero_is_refused_by_its_name(bound: str) -> None:
    with pytest.raises(MessageError, match=bound) as caught:
        ItemStore(**{bound: 0})

    assert caught.value.field == bound
