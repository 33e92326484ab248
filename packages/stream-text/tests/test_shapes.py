from types import MappingProxyType

import pytest

from stream_text import is_list, is_object


@pytest.mark.parametrize("value", [{}, {"a": 1}, {1: 2}, MappingProxyType({"a": 1})])
def test_any_mapping_is_an_object_and_no_list(value):
    assert is_object(value)
    assert not is_list(value)


@pytest.mark.parametrize("value", [[], [1], (), (1, 2)])
def test_a_list_and_a_tuple_are_lists_and_no_objects(value):
    assert is_list(value)
    assert not is_object(value)


@pytest.mark.parametrize("value", [None, True, 1, 1.5, "text", b"bytes", {1}, range(3), iter([])])
def test_nothing_else_is_either(value):
    assert not is_object(value)
    assert not is_list(value)
