from gpt5_messages import ResponseFailure, StreamDecoder


def delta(text: str, number: int | None = None) -> dict[str, object]:
    event = {"type": "response.output_text.delta", "output_index": 0, "delta": text}
    return event if number is None else {**event, "sequence_number": number}


def completed(text: str, number: int) -> dict[str, object]:
    item = {"type": "message", "content": [{"type": "output_text", "text": text}]}
    response = {"status": "completed", "output": [item]}
    return {"type": "response.completed", "response": response, "sequence_number": number}


def decode(*events: dict[str, object]) -> tuple[str, list[str | None]]:
    decoder = StreamDecoder()
    decoded = [found for event in events for found in decoder.feed(event)]
    text = "".join(getattr(found, "text", "") for found in decoded)
    return text, [found.code for found in decoded if isinstance(found, ResponseFailure)]


def test_an_event_that_comes_twice_counts_once() -> None:
    assert decode(
        delta("a", 1), delta("b", 2), delta("b", 2), delta("a", 1), completed("ab", 3)
    ) == (
        "ab",
        [],
    )


def test_the_first_event_may_come_twice_too() -> None:
    created = {"type": "response.created", "response": {"id": "r"}, "sequence_number": 0}

    assert decode(created, created, created, delta("a", 1), delta("a", 1), completed("a", 2)) == (
        "a",
        [],
    )


def test_events_without_numbers_all_count() -> None:
    assert decode(delta("a"), delta("a")) == ("aa", [])


def test_one_number_on_every_event_means_nothing() -> None:
    assert decode(delta("a", 0), delta("a", 0), delta("a", 0)) == ("aaa", [])


def test_events_out_of_order_that_spoil_the_text_are_an_error() -> None:
    assert decode(delta("a", 1), delta("c", 3), delta("b", 2), completed("abc", 4)) == (
        "acb",
        ["inconsistent_stream"],
    )


def test_events_out_of_order_that_do_no_harm_are_fine() -> None:
    keepalive = {"type": "keepalive", "sequence_number": 2}

    assert decode(delta("a", 1), delta("b", 3), keepalive, completed("ab", 4)) == ("ab", [])


def test_a_huge_gap_in_the_numbers_costs_no_memory() -> None:
    assert decode(delta("a", 1), delta("b", 10**12), delta("c", 2)) == ("ab", [])
