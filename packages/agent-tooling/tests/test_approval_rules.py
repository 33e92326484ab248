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
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
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
        ({"order": {}}, True),
        ({"order": 5}, True),
        ({"order": {"total": None}}, True),
        ({"order": []}, True),
        ({}, True),
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
        (["ls", "date"], False),
        ({"cmd": "ls"}, False),
        ({"cmd": ["ls", "rm -rf"]}, True),
        (5, False),
        (None, True),
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
    assert ask(rules, "mail", {"to": ["x"], "n": 2}) == "always"
    assert ask(rules, "mail", {"to": {"1": "a@b"}, "n": 2}) == "always"
    deep = [{"tool": "mail", "when": {"to.0.name": {"equals": "a"}}, "ask": "once"}]
    assert ask(deep, "mail", {"to": [{"name": "a"}]}) == "once"


def test_of_several_readings_of_the_arguments_the_strictest_counts():
    assert ask(ABOVE_100, "pay", {"order.total": 5}, {"order": {"total": 500}}) == "always"
    assert ask(ABOVE_100, "pay", None, {"order": {"total": 5}}) == "always"


@pytest.mark.parametrize("written", [{}, {"order": {"total": None}}])
def test_a_default_stands_in_for_what_a_model_leaves_out_or_calls_null(written):
    assert ask(ABOVE_100, "pay", written, {"order": {"total": 5}}) == "never"
    assert ask(ABOVE_100, "pay", written, written) == "always"


@pytest.mark.parametrize(
    "arguments",
    [
        {"sum.total": 1, "sum": {"total": 500}},
        {"sum": {"total": 500}, "sum.total": 1},
        {"sum": [{"total": 1}, {"total": 500}]},
        {"sum": [[{"total": 1}], {"total": [2, 500]}]},
        {"sum": '{"total": 500}', "sum.total": 1},
        {"sum": '[{"total": "500"}]'},
        {"sum.total": 1, "sum": {}},
        {"sum.total": 1, "sum": {"total": {"euros": 500}}},
        {"sum.total": 1, "sum": "{broken"},
        {"sum.total": 1, "sum": '{"total": 500, "total": 1}'},
        {"sum.total": 1, "sum": {"total": [[{"a": [1, {"b": 500}]}]]}},
    ],
)
def test_a_rule_looks_everywhere_its_path_can_lead_and_the_strictest_finding_counts(arguments):
    above = {"sum.total": {"above": 100}}
    below = {"sum.total": {"equals": 1}}

    assert ask([{"tool": "pay", "when": above, "ask": "always"}], "pay", arguments) == "always"
    rules = [{"tool": "pay", "when": below, "ask": "never"}, {"tool": "*", "ask": "once"}]
    assert ask(rules, "pay", arguments) == "once"
    assert ask(rules, "pay", {"sum.total": 1, "sum": {"total": "1", "x": 2}}) == "once"
    assert ask(rules, "pay", {"sum.total": 1, "sum": [{"total": 1}, {"total": [1, 1]}]}) == "never"


@pytest.mark.parametrize(
    "rows",
    [
        [{"n": 1} for _ in range(10_100)],
        [1] * 10_100,
        {"n": [[1]] * 10_100},
        {"n": dict.fromkeys(map(str, range(10_100)), 1)},
    ],
    ids=range(4),
)
def test_what_has_more_places_than_can_be_looked_at_is_asked_for(rows):
    many = {"rows": rows}
    for path in ("rows", "rows.n"):
        never = {"tool": "pay", "when": {path: {"equals": 1}}, "ask": "never"}
        assert ask([never, {"tool": "pay", "ask": "once"}], "pay", many) == "once"
        above = {"tool": "pay", "when": {path: {"above": 5}}, "ask": "always"}
        assert ask([above], "pay", many) == "always"


def test_where_a_rule_fits_one_place_of_several_the_next_ones_count_too():
    rules = [
        {"tool": "pay", "when": {"n": {"above": 100}}, "ask": "once"},
        {"tool": "pay", "when": {"n": {"above": 10}}, "ask": "always"},
    ]

    assert ask(rules, "pay", {"n": [500]}) == "once"
    assert ask(rules, "pay", {"n": [500, 50]}) == "always"
    assert ask(rules, "pay", {"n": [500, 5]}) == "always"
    assert ask(rules, "pay", {}) == "always"


def test_an_approval_of_a_call_that_two_rules_may_be_for_is_good_for_no_other_call():
    rules = ApprovalRules.parse(
        [
            {"tool": "pay", "when": {"n": {"above": 100}}, "ask": "once"},
            {"tool": "pay", "ask": "once"},
        ]
    )

    grants = {rules.find("pay", {"n": n}).grant for n in (500, 5, [500, 5])}

    assert len(grants) == 3


def test_what_never_asks_holds_its_expression_against_the_whole_text():
    when = {"to": {"matches": r"[\w.]+@example\.com|boss"}}
    rules = [{"tool": "mail", "when": when, "ask": "never"}, {"tool": "mail", "ask": "always"}]

    for fits in ("x@example.com", "boss", ["x@example.com", "boss"]):
        assert ask(rules, "mail", {"to": fits}) == "never"
    for fits_not in (
        "mallory@evil.example, x@example.com",
        "x@example.com\n",
        "bossy",
        ["x@example.com", "m@evil.example"],
        {"x": "boss"},
        [],
        None,
    ):
        assert ask(rules, "mail", {"to": fits_not}) == "always"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\u2028", "\x85", "\v"])
@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("mal.*ory", "mal|ory"),
        ("mal.{0,9}ory", "mal||ory"),
        ("^rm -rf", "cd /|rm -rf ."),
        (r"\.sh$", "x.sh|"),
        (r"(?i)^SUDO\b.*\bINSTALL$", "true|sudo apt|install|true"),
        ("(?x) mal .* ory # a name", "mal|ory"),
    ],
)
def test_what_asks_sees_over_line_ends_and_what_never_asks_does_not(end, pattern, text):
    when, call = {"cmd": {"matches": pattern}}, {"cmd": text.replace("|", end)}
    asks = [{"tool": "sh", "when": when, "ask": "always"}]
    for one in (call, {"cmd": [call["cmd"]]}, {"cmd": json.dumps([call["cmd"]])}):
        assert ask(asks, "sh", one) == "always"
    assert ask(asks, "sh", {"cmd": "ls"}) == "never"
    if end == "\n" and "#" not in pattern:
        never = [asks[0] | {"ask": "never"}, {"tool": "sh", "ask": "once"}]
        assert ask(never, "sh", call) == "once"


def test_what_a_rule_fits_over_line_ends_alone_a_stricter_one_behind_it_still_asks_for():
    rules = [
        {"tool": "sh", "when": {"cmd": {"matches": "^ls"}}, "ask": "once"},
        {"tool": "sh", "ask": "always"},
    ]
    assert ask(rules, "sh", {"cmd": "ls"}) == "once"
    assert ask(rules, "sh", {"cmd": "rm -rf /\nls"}) == "always"
    assert ask(rules[:1], "sh", {"cmd": "rm -rf /\nls"}) == "once"


@pytest.mark.parametrize("pattern", ["a)(b", "(?x) a # b"])
def test_an_expression_for_a_whole_text_is_refused_where_it_is_none_alone_or_ends_in_a_remark(
    pattern,
):
    rules = [{"tool": "mail", "when": {"to": {"matches": pattern}}, "ask": "never"}]

    with pytest.raises(DeclarationError, match="matches must be a regular expression without"):
        ApprovalRules.parse(rules)


def test_json_that_is_written_as_a_text_equals_the_same_json():
    rules = [{"tool": "pay", "when": {"to": {"equals": {"name": "Ann"}}}, "ask": "always"}]

    assert ask(rules, "pay", {"to": '{"name": "Ann"}'}) == "always"
    assert ask(rules, "pay", {"to": ' [{"name": "Ann"}]'}) == "always"
    assert ask(rules, "pay", {"to": '{"name": "Bob", "name": "Ann"}'}) == "always"
    for other in ("Ann", "[Ann](x)", '{"name": "Bob"}', '[{"name": "Bob"}]'):
        assert ask(rules, "pay", {"to": other}) == "never"
    assert ask([rules[0] | {"ask": "never"}, *rules], "pay", {"to": '{"name": "Ann"}'}) == "always"


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


def schema(*required, **properties):
    closed = {"type": "object", "properties": properties, "additionalProperties": False}
    return closed | {"required": list(required)}


NUMBER = {"type": "number"}
LISTED = {"type": "object", "properties": {"total": NUMBER}}
SCHEMA = {
    "type": "object",
    "properties": {
        "order": LISTED,
        "shut": schema(total=NUMBER),
        "open": {"type": "object"},
        "any": {},
        "rows": {"type": "array", "items": schema(total=NUMBER)},
        "pair": {"type": "array", "prefixItems": [schema(a=NUMBER)], "items": False},
        "old": {"items": [schema(a=NUMBER)], "additionalItems": schema(b=NUMBER)},
        "maybe": {"anyOf": [schema(total=NUMBER), {"type": "null"}]},
        "both": {"type": ["object", "string"], "additionalProperties": NUMBER},
        "tree": {"$ref": "#/$defs/tree"},
        "lost": {"$ref": "#/$defs/nothing"},
        "like": {"patternProperties": {"^x": schema(a=NUMBER)}, "additionalProperties": False},
        "none": schema(),
        "if": {"if": schema(a=NUMBER), "dependentSchemas": {"a": schema(b=NUMBER)}},
        "x.y": NUMBER,
        "odd": {"type": "object", "properties": None},
    },
    "$defs": {"tree": schema(total=NUMBER, below={"$ref": "#/$defs/tree"})},
}


@pytest.mark.parametrize(
    "path",
    [
        "order",
        "order.total",
        "shut.total",
        "open.total",
        "any.total.0",
        "rows.total",
        "rows.3.total",
        "pair.0.a",
        "pair.a",
        "old.0.a",
        "old.7.b",
        "maybe.total",
        "both.total",
        "tree.below.below.total",
        "lost.total",
        "like.x1.a",
        "if.a",
        "if.b",
        "x.y",
        "odd.total",
    ],
)
def test_a_rule_may_ask_about_every_path_that_a_tool_can_have(path):
    rules = ApprovalRules.parse([{"tool": "pay", "when": {path: {"above": 1}}, "ask": "once"}])

    assert rules.for_tools({"pay": ()}, {"pay": SCHEMA}).rules


@pytest.mark.parametrize(
    "path",
    [
        "totl",
        "order.totl",
        "order.total.x",
        "shut.totl",
        "rows.totl",
        "rows.0.totl",
        "pair.1",
        "old.0.b",
        "maybe.totl",
        "tree.below.note",
        "none.x",
        "if.c",
        "x",
        "",
    ],
)
def test_a_path_that_a_tool_cannot_have_is_refused_by_its_place(path):
    rules = ApprovalRules.parse([{"tool": "pay", "when": {path: {"above": 1}}, "ask": "once"}])

    with pytest.raises(DeclarationError) as caught:
        rules.for_tools({"other": ["pay"]}, {"other": SCHEMA})

    place = f"approval_rules[0].when[{json.dumps(path)}]"
    assert str(caught.value).startswith(
        f"{place} must be a path into the arguments of other (order, "
    )


def test_a_schema_may_name_what_else_an_object_takes_in_another_place():
    rules = ApprovalRules.parse([{"tool": "pay", "when": {"b": {"above": 1}}, "ask": "once"}])
    open_ = {"type": "object", "properties": {"a": NUMBER}, "unevaluatedProperties": NUMBER}

    assert rules.for_tools({"pay": ()}, {"pay": open_}).rules


@pytest.mark.parametrize(
    "text",
    [
        '{"sum": 5, "sum": 500}',
        '{"sum": 500, "x": NaN}',
        '{"sum": 500,}',
        '\ufeff{"sum": 500}',
        '[{"sum": 500}',
    ],
)
def test_a_rule_for_every_tool_asks_about_a_text_that_readers_of_json_read_in_different_ways(text):
    when = {"note.sum": {"above": 100}}
    rules = ApprovalRules.parse([{"tool": "*", "when": when, "ask": "always"}])
    told = schema(note={"type": "string"})

    assert rules.find("pay", {"note": text}, schema=told).ask == "always"
    assert rules.find("pay", {"note": "500"}, schema=told).ask == "never"


def test_a_rule_for_every_tool_is_left_out_where_a_tool_cannot_have_its_path():
    rules = ApprovalRules.parse(
        [
            {"tool": "*", "when": {"order.total": {"above": 100}}, "ask": "always"},
            {"tool": "*", "ask": "once"},
        ]
    )

    def find(known, **arguments):
        return rules.for_tools({"a": ()}, {"a": known}).find("a", arguments, schema=known).ask

    assert find(schema(order=schema(total=NUMBER))) == "always"
    assert find(schema(order=schema(total=NUMBER)), order={"total": 5}) == "once"
    assert find(schema(order=schema(note=NUMBER))) == find(schema()) == "once"
    assert find({"type": "object", "properties": {}}) == "once"
    listed = {"type": "object", "properties": {"note": NUMBER}}
    assert find(schema(order=listed), order={"note": 5}) == "once"
    assert find(schema(order=listed), order={"total": 500}) == "always"
    assert find({"anyOf": [listed]}, order={"total": 500}) == "always"
    assert rules.find("a", {}).ask == "always"


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


STRICTNESS = ["never", "once", "always"]
conditions = st.one_of(
    st.integers(0, 3).map(lambda n: {"above": n}),
    json_values.map(lambda value: {"equals": value}),
    st.sampled_from(["1", "[12]", ".*"]).map(lambda pattern: {"matches": pattern}),
)
some_rules = st.lists(
    st.fixed_dictionaries(
        {
            "tool": st.just("pay"),
            "when": st.dictionaries(st.just("a.b"), conditions, max_size=1),
            "ask": st.sampled_from(STRICTNESS),
        }
    ),
    max_size=3,
).map(ApprovalRules.parse)
small_values = st.integers(0, 3) | st.sampled_from(["1", "12"]) | json_values


def strictness(rules, arguments):
    return STRICTNESS.index(rules.find("pay", arguments).ask)


@given(some_rules, small_values, small_values)
def test_nothing_that_is_put_beside_or_around_a_value_makes_a_rule_less_strict(rules, one, other):
    plain = strictness(rules, {"a": {"b": one}})
    both = max(plain, strictness(rules, {"a": {"b": other}}))

    assert strictness(rules, {"a.b": other, "a": {"b": one}}) >= plain
    assert strictness(rules, {"a": [{"b": one}, {"b": other}]}) >= both
    assert strictness(rules, {"a": json.dumps({"b": one})}) == plain


@st.composite
def schemas_and_paths(draw, depth=3):
    """Draw a schema and a path to a value that fits it, with that value."""
    kind = draw(st.sampled_from(["object", "array", "text"] if depth else ["text"]))
    if kind == "text":
        return {"type": "string"}, [], "x"
    inner, path, value = draw(schemas_and_paths(depth=depth - 1))
    if kind == "array":
        by_index = draw(st.booleans())
        return {"type": "array", "items": inner}, [*(["0"] if by_index else []), *path], [value]
    name = draw(st.sampled_from(["a", "b", "a.b", "0"]))
    return schema(**{name: inner}), [name, *path], {name: value}


@given(schemas_and_paths())
def test_no_path_is_refused_that_an_accepted_call_can_have(drawn):
    inner, path, value = drawn
    path = ".".join(["x", *path])
    rules = ApprovalRules.parse([{"tool": "f", "when": {path: {"equals": "x"}}, "ask": "always"}])
    tool = Tool.from_schema("f", "", schema(x=inner), print)

    bound = tool.bind(json.dumps({"x": value}))

    called = rules.for_tools({"f": ()}, {"f": tool.parameters})
    assert called.find("f", bound.args, schema=tool.parameters).ask == "always"
    assert called.find("f", {}, schema=tool.parameters).ask == "always"


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
