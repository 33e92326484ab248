"""Bodies with images and files in them, as they arrive at a server."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpt5_responses import Connection, create
from gpt5_simulator import ResponsesSimulator


LARGE = "data:image/png;base64," + "QUJD" * 10_000
PIECES = ["a", "", LARGE, LARGE + "==", LARGE + '"', LARGE + "\\", LARGE + "\n", LARGE + "é", 5]
PARTS = st.lists(st.dictionaries(st.sampled_from("abc"), st.sampled_from(PIECES)), max_size=4)


@pytest.fixture(scope="module")
def server() -> Iterator[ResponsesSimulator]:
    with ResponsesSimulator(strict=False) as running:
        yield running


def arrived(server: ResponsesSimulator, body: dict[str, Any]) -> Any:
    create(Connection(api_key="k", base_url=server.base_url), {"model": "gpt-5", **body})
    return server.requests[-1].body


@given(st.lists(st.fixed_dictionaries({"role": st.just("user"), "content": PARTS}), max_size=4))
def test_whatever_is_large_in_it_a_body_arrives_as_it_is(
    server: ResponsesSimulator, items: list[dict[str, Any]]
) -> None:
    assert arrived(server, {"input": items, "store": False})["input"] == items


@pytest.mark.parametrize(
    "told",
    [
        "a text",
        ["no item", {"role": "user", "content": LARGE}],
        [{"role": "user", "content": ["no part", {"type": "input_image", "image_url": LARGE}]}],
        [{"role": "user", "content": [{"image_url": LARGE}], "output": [{"file_data": LARGE}]}],
        [
            {
                "role": "user",
                "output": [{"file_data": LARGE}],
                "content": [{"image_url": "b" + LARGE}],
            }
        ],
    ],
)
def test_an_input_of_any_shape_arrives_as_it_is(server: ResponsesSimulator, told: object) -> None:
    assert arrived(server, {"input": told})["input"] == told
