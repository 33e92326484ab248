"""Which tool calls a person has to approve."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tooling import (
    ApprovalRules,
    DeclarationError,
    FailureMemory,
    KeptResults,
    LinearPattern,
    ResultBudget,
    Tool,
    changed_tool_text,
    denied_call_text,
)


ABOVE_100 = [{"tool": "pay", "when": {"order.total": {"above": 100}}, "ask": "always"}]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


def ask(rules, tool="pay", *readings):
    return ApprovalRules.parse(rules).find(tool, *readings).ask


@pytest.mark.parametrize("wrap", [json.dumps, dict])
def test_an_object_names_tools_and_a_star_stands_for_all_others(wrap):
    rules = wrap({"*": "once", "pay": "always", "search": "never"})

    found = [ask(rules, tool) for tool in ("pay", "search", "mail")]

    assert found == ["always", "never", "once"]


def test_of_a_list_the_first_rule_that_fits_counts_and_where_none_does_nobody_is_asked():
    rules = [
        {"tool": "pay", "when": {"to": {"equals": "bank"}}, "ask": "never"},
        {"tool": "pay", "ask": "always"},
    ]

    assert ask(rules, "pay", {"to": "bank"}) == "never"
    assert ask(rules, "pay", {"to": "me"}) == "always"
    assert ask(rules, "mail", {"to": "me"}) == "never"
    assert ask([], "pay", {}) == "never"


@pytest.mark.parametrize(
    ("arguments", "asks"),
    [
        ({"order": {"total": 101}}, True),
        ({"order": {"total": "1e3"}}, True),
        ({"order": {"total": 100}}, False),
        ({"order": {}}, False),
        ({"order": 5}, False),
        ({"order.total": 101}, True),
        ({"order": {"total": "a lot"}}, True),
        ({"order": {"total": True}}, True),
        ({"order": {"total": 10**400}}, True),
        ({"order": {"total": "nan"}}, True),
        (None, True),
    ],
)
def test_a_number_is_held_against_a_limit_and_what_cannot_be_compared_is_asked_for(arguments, asks):
    assert ask(ABOVE_100, "pay", arguments) == ("always" if asks else "never")


def test_what_cannot_be_compared_is_no_reason_not_to_ask():
    rules = [
        {"tool": "pay", "when": {"total": {"above": -1}}, "ask": "never"},
        {"tool": "pay", "ask": "once"},
    ]

    assert ask(rules, "pay", {"total": 1}) == "never"
    assert ask(rules, "pay", {"total": "free"}) == ask(rules, "pay", None) == "once"


@pytest.mark.parametrize(
    ("wanted", "value", "is_equal"),
    [
        (1, 1.0, True),
        (1, True, False),
        (1, "1", False),
        ({"a": [1, None]}, {"a": (1.0, None)}, True),
        ("é", "é", True),
        (None, None, True),
    ],
)
def test_values_are_equal_as_they_are_in_json(wanted, value, is_equal):
    rules = [{"tool": "*", "when": {"x": {"equals": wanted}}, "ask": "once"}]
    assert (ask(rules, "pay", {"x": value}) == "once") == is_equal


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        ("rm -rf /", True),
        ("ls", False),
        (["ls", "rm -rf /"], True),
        ({"cmd": "rm -rf"}, True),
        ("\ud800 rm -rf", True),
        (None, False),
    ],
)
def test_a_pattern_is_looked_for_anywhere_in_a_text_or_in_the_json_of_what_is_none(value, fits):
    rules = [{"tool": "sh", "when": {"cmd": {"matches": r"\brm -rf"}}, "ask": "always"}]
    assert (ask(rules, "sh", {"cmd": value}) == "always") == fits


def test_all_conditions_of_a_rule_have_to_hold_and_a_path_leads_into_lists():
    when = {"to.1": {"matches": "@", "equals": "a@b"}, "n": {"above": 1}}
    rules = [{"tool": "mail", "when": when, "ask": "always"}]

    assert ask(rules, "mail", {"to": ["x", "a@b"], "n": 2}) == "always"
    assert ask(rules, "mail", {"to": ["x", "a@b"], "n": 1}) == "never"
    assert ask(rules, "mail", {"to": ["x", "a@c"], "n": 2}) == "never"
    assert ask(rules, "mail", {"to": ["x"], "n": 2}) == "never"
    assert ask(rules, "mail", {"to": {"1": "a@b"}, "n": 2}) == "always"
    deep = [{"tool": "mail", "when": {"to.0.name": {"equals": "a"}}, "ask": "once"}]
    assert ask(deep, "mail", {"to": [{"name": "a"}]}) == "once"


def test_of_several_readings_of_the_arguments_the_strictest_counts():
    assert ask(ABOVE_100, "pay", {}, {"order": {"total": 500}}) == "always"


def test_an_approval_for_a_run_is_good_for_one_tool_by_one_rule():
    rules = ApprovalRules.parse({"*": "once", "pay": "once"})
    grants = {rules.find(tool).grant for tool in ("pay", "mail", "search")}
    assert len(grants) == 3


def test_rules_may_use_every_name_of_a_tool():
    rules = ApprovalRules.parse([{"tool": "search", "ask": "once"}, {"tool": "*", "ask": "always"}])

    called = rules.for_tools({"search": (), "search_2": ["search"], "pay": ["Pay"]})

    found = [called.find(tool).ask for tool in ("search", "search_2", "pay", "Pay")]
    assert found == ["once", "once", "always", "always"]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ("{", "approval_rules must be JSON, got text that is none"),
        ('{"a": "once", "a": "never"}', "JSON with each key once, got 'a' twice"),
        ("3", "approval_rules must be an object of tools and when to ask, or a list of rules"),
        ({"pay": "sometimes"}, 'approval_rules["pay"] must be "never", "once" or "always"'),
        ({"pay": ["once"]}, 'approval_rules["pay"] must be'),
        ({"": "once"}, 'approval_rules[""] must be the name of a tool'),
        ({3: "once"}, "approval_rules[3] must be the name of a tool, got int"),
        (["pay"], "approval_rules[0] must be an object such as"),
        ([{"tool": "pay"}], "approval_rules[0].ask must be"),
        ([{"tool": 3, "ask": "once"}], "approval_rules[0].tool must be the name of a tool"),
        ([{"tool": "a", "ask": "once", "if": {}}], "approval_rules[0] must be a rule with tool"),
        ([{"tool": "a", "ask": "once", "when": 3}], "approval_rules[0].when must be an object"),
        (
            [{"tool": "a", "ask": "once", "when": {"n": {"over": 3}}}],
            "approval_rules[0].when[\"n\"] must be an object of conditions: equals, above, matches, got 'over'",
        ),
        ([{"tool": "a", "ask": "once", "when": {"n": {}}}], "got an empty one"),
        ([{"tool": "a", "ask": "once", "when": {"n": 3}}], "equals, above, matches, got int"),
        (
            [{"tool": "a", "ask": "once", "when": {"n": {"above": "3"}}}],
            'approval_rules[0].when["n"].above must be a number, got str',
        ),
        (
            [{"tool": "a", "ask": "once", "when": {"n": {"matches": "("}}}],
            'approval_rules[0].when["n"].matches must be a regular expression without',
        ),
        (
            [{"tool": "a", "ask": "once", "when": {"n": {"matches": 3}}}],
            "a regular expression, got",
        ),
        ([{"tool": "a", "ask": "once"}] * 201, "at most 200 rules, got 201"),
    ],
)
def test_what_is_no_rule_is_refused_by_its_place(raw, message):
    with pytest.raises(DeclarationError) as caught:
        ApprovalRules.parse(raw)
    assert message in str(caught.value)


def test_a_rule_for_a_tool_that_does_not_exist_is_refused_by_its_place():
    rules = ApprovalRules.parse([{"tool": "*", "ask": "never"}, {"tool": "apy", "ask": "always"}])

    with pytest.raises(DeclarationError, match=r"approval_rules\[1\]\.tool must be .*pay.*'apy'"):
        rules.for_tools({"pay": ()})


@pytest.mark.parametrize("pattern", ["(", "(?=a)", r"(a)\1", "a{1000}{1000}", "a" * 1_001])
def test_a_pattern_that_could_hang_or_is_none_is_refused(pattern):
    with pytest.raises(DeclarationError, match="matches must be a regular expression"):
        LinearPattern(pattern, field="matches")


@pytest.mark.parametrize("pattern", ["(a+)+$", "^(a|a)*$", "(.*)*b"])
def test_patterns_that_hang_elsewhere_do_not(pattern):
    assert not LinearPattern(pattern).is_in("a" * 100_000 + "!")


@pytest.mark.parametrize(("rule", "found"), [("always", "always"), ("never", "once")])
def test_a_text_too_long_for_its_pattern_is_asked_about_and_passes_no_rule_that_never_asks(
    rule, found
):
    rules = [{"tool": "pay", "when": {"to": {"matches": "[ab]*a[ab]{900}c"}}, "ask": rule}]
    rules += [{"tool": "pay", "ask": "once"}]
    assert ask(rules, "pay", {"to": "ab" * 100_000}) == found


@given(json_values, json_values)
def test_every_argument_gets_a_finding(wanted, value):
    when = {"x": {"equals": wanted}, "x.a": {"above": 3}, "x.0": {"matches": "a"}}
    for condition in when.items():
        rules = [{"tool": "pay", "when": dict([condition]), "ask": "always"}]
        assert ask(rules, "pay", {"x": value}) in {"always", "never"}
    same = [{"tool": "pay", "when": {"x": {"equals": value}}, "ask": "always"}]
    assert ask(same, "pay", {"x": json.loads(json.dumps(value))}) == "always"


def test_a_call_that_a_person_denied_is_told_with_what_they_said():
    assert denied_call_text().endswith("it was not run.")
    assert denied_call_text("Too much.").endswith("it was not run. They said: Too much.")


def test_a_call_of_a_tool_that_was_changed_is_told_by_the_name():
    assert changed_tool_text("pay").startswith("tool invoke error: pay was changed")


def test_what_a_run_remembers_of_its_calls_goes_on_from_json():
    memory, again = FailureMemory(identical_successes=1), FailureMemory(identical_successes=1)
    memory.record_failure("pay", {"n": 1})
    memory.record_success("pay", {"n": 2}, "paid")
    memory.record_success("pay", {"n": 3}, ({"type": "text", "text": "paid"},))

    again.load(json.loads(json.dumps(memory.save())))

    for n in range(5):
        assert again.recall("pay", {"n": n}) == memory.recall("pay", {"n": n})


@pytest.mark.parametrize("kept", [None, KeptResults()])
def test_what_results_have_used_and_what_was_cut_goes_on_from_json(kept):
    settings = {"per_result": 1_000, "per_run": 3_000}
    budget = ResultBudget(**settings, kept=kept)
    budget.fit("x" * 2_000)
    again = ResultBudget(**settings, kept=kept and KeptResults())

    again.load(json.loads(json.dumps(budget.save())))

    assert again.fit("y" * 2_500) == budget.fit("y" * 2_500)
    assert again.save() == budget.save()
    if kept:
        assert again.kept.size_bytes == kept.size_bytes
        assert again.read_on({"id": "r1", "offset": 10}) == budget.read_on(
            {"id": "r1", "offset": 10}
        )


def test_of_a_declared_tool_a_model_knows_no_arguments_that_the_builder_has_set():
    declared = Tool.from_declaration(
        {
            "identity": {"name": "pay", "provider": "p"},
            "description": {"llm": "Pays."},
            "parameters": [
                {"name": "to", "type": "string", "form": "llm"},
                {"name": "token", "type": "secret-input", "form": "form"},
            ],
            "runtime_parameters": {"token": "s"},
        },
        print,
    )
    bound = declared.bind('{"to": "a"}').args
    assert (bound, declared.shown_arguments(bound)) == ({"to": "a", "token": "s"}, {"to": "a"})
    function = Tool.from_function(lambda: None, name="f", description="")
    assert function.shown_arguments({"a": 1}) == {"a": 1}
