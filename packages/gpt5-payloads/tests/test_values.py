import pytest

from gpt5_payloads import PayloadError, coerce_bool


@pytest.mark.parametrize("value", [True, 1, "true", "1", "True", " TRUE "], ids=repr)
def test_what_plainly_means_true_is_true(value):
    assert coerce_bool(value, field="enable_stream") is True


@pytest.mark.parametrize("value", [False, 0, "false", "0", "False", " FALSE "], ids=repr)
def test_what_plainly_means_false_is_false(value):
    assert coerce_bool(value, field="enable_stream") is False


@pytest.mark.parametrize(
    "value", [None, "", "  ", "yes", "on", "2", 2, -1, 0.0, 1.0, [], [True], {}, b"1"], ids=repr
)
def test_nothing_else_is_guessed(value):
    with pytest.raises(PayloadError) as caught:
        coerce_bool(value, field="enable_stream")

    assert str(caught.value) == "enable_stream must be a boolean-like value"
    assert caught.value.field == "enable_stream"
