import pytest

from agent_runner.server.usage import sum_usage


RESPONSES = {
    "requests": 2,
    "input_tokens": 5,
    "input_tokens_details": {"cached_tokens": 4},
    "output_tokens": 7,
    "output_tokens_details": {"reasoning_tokens": 3},
}
CHAT = {"prompt_tokens": 1, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 1}}


@pytest.mark.parametrize(
    "told", [[], [5], [None, "12"], [{}], [{"total_tokens": -3}], [{"requests": True}]]
)
def test_what_says_nothing_is_no_usage(told):
    assert sum_usage(told) is None


def test_usages_of_both_apis_are_summed():
    usage = sum_usage([RESPONSES, CHAT | {"prompt_tokens": "1", "completion_tokens": 1.0}, 5])
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens) == (6, 8, 5)
    assert (usage.reasoning_tokens, usage.model_requests, usage.cost) == (3, 2, None)


@pytest.mark.parametrize(
    ("costs", "expected"),
    [
        (
            [{"cost": "0.10", "currency": "USD"}, {"total_price": 0.2, "currency": "USD"}],
            ("0.30", "USD"),
        ),
        ([{"cost": 1}], ("1", None)),
        ([{"cost": 1, "currency": "USD"}, {"cost": 1, "currency": "EUR"}], (None, None)),
        ([{"cost": "much"}, {"cost": True}, {"cost": "NaN"}, {"cost": None}], (None, None)),
    ],
)
def test_costs_are_summed_exactly_in_one_currency(costs, expected):
    usage = sum_usage([CHAT | cost for cost in costs])
    assert (usage.cost, usage.currency) == expected
