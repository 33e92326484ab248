"""How a model's arguments reach the daemon: every row of the contract's table, through an agent run."""

import json

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai import Agent, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

from dify_agent.layers.dify_plugin import (
    DifyPluginLayerConfig,
    DifyPluginToolConfig,
    DifyPluginToolParameterType,
    DifyPluginToolsLayerConfig,
)
from dify_agent.layers.dify_plugin.plugin_layer import DifyPluginLayer
from dify_agent.layers.dify_plugin.tools_layer import DifyPluginToolsDeps, DifyPluginToolsLayer


def parameter(name, kind="string", form="llm", **fields):
    return {"name": name, "type": kind, "form": form, **fields}


async def call(parameters, arguments, runtime_parameters=None, properties=None):
    """Have an agent call a tool; return what the daemon was sent, None if nothing, and what the model read."""
    sent, read = [], []
    config = DifyPluginToolConfig.model_validate(
        {
            "plugin_id": "p",
            "provider": "p",
            "tool_name": "demo",
            "credential_type": "unauthorized",
            "parameters": parameters,
            "runtime_parameters": runtime_parameters or {},
            "parameters_json_schema": {"type": "object", "properties": properties or {}},
        }
    )
    plugin = DifyPluginLayer.from_config_with_settings(
        DifyPluginLayerConfig(tenant_id="t"), daemon_url="http://daemon", daemon_api_key="k"
    )
    layer = DifyPluginToolsLayer.from_config(DifyPluginToolsLayerConfig(tools=[config]))
    layer.bind(deps=DifyPluginToolsDeps(plugin=plugin))

    def serve(request):
        sent.append(json.loads(request.content)["data"]["tool_parameters"])
        return httpx.Response(200)

    def model(messages, _):
        read.extend(part.content for part in messages[-1].parts if isinstance(part, ToolReturnPart))
        return ModelResponse(
            parts=[TextPart("done") if len(messages) > 1 else ToolCallPart("demo", arguments)]
        )

    async with httpx.AsyncClient(transport=httpx.MockTransport(serve)) as http_client:
        tools = await layer.get_tools(http_client=http_client)
        await Agent(FunctionModel(model), tools=tools).run("go")
    return (sent[0] if sent else None), read[0]


async def cast(kind, value):
    sent, _ = await call([parameter("value", kind)], {"value": value})
    return sent["value"]


async def refusal(kind, value):
    sent, read = await call([parameter("value", kind)], {"value": value})
    assert sent is None
    return read


def same(actual, expected):
    """Whether two JSON values are equal, with 1, 1.0 and true told apart."""
    return json.dumps(actual) == json.dumps(expected)


TEXT_ROWS = [
    (None, ""),
    ("", ""),
    ("text", "text"),
    (" spaced ", " spaced "),
    (True, "True"),
    (7, "7"),
    (1.0, "1.0"),
    ([1, "a"], "[1, 'a']"),
    ({"a": None}, "{'a': None}"),
]
BOOLEAN_ROWS = [
    *[(text, True) for text in ("true", "TRUE", "yes", "Y", "1")],
    *[(text, False) for text in ("false", "False", "no", "N", "0", "")],
    *[(text, True) for text in ("something", "off", "f", " false ", "null")],
    (None, False),
    (True, True),
    (False, False),
    (2, True),
    (0, False),
    (0.0, False),
    ([], False),
    ([0], True),
    ({}, False),
]
NUMBER_ROWS = [
    (7, 7),
    (1.5, 1.5),
    (True, True),
    ("7", 7),
    (" 7 ", 7),
    ("-3", -3),
    ("1_000", 1000),
    ("７", 7),  # noqa: RUF001 - a full-width digit is the case in question
    ("1.", 1.0),
    ("1.50", 1.5),
    ("1.5e3", 1500.0),
    ("", ""),
    (None, None),
    ([1], [1]),
    ({"a": 1}, {"a": 1}),
]
FILES_ROWS = [(["a", "b"], ["a", "b"]), ([], []), ("a", ["a"]), ({"id": 1}, [{"id": 1}]), (None, [None])]  # fmt: skip
FILE_ROWS = [(["a"], "a"), ("a", "a"), ({"id": 1}, {"id": 1}), (None, None)]
ANY_ROWS = [(value, value) for value in (None, "x", 1, 1.5, True, [1, {"a": None}], {"a": [1]})]
ARRAY_ROWS = [
    ([1, "a"], [1, "a"]),
    ('[1, "a"]', [1, "a"]),
    ("[]", []),
    ('{"a": 1}', ['{"a": 1}']),
    ("not json", ["not json"]),
    ("", [""]),
    ("7", ["7"]),
    (7, [7]),
    ({"a": 1}, [{"a": 1}]),
    (None, [None]),
]
OBJECT_ROWS = [
    ({"a": 1}, {"a": 1}),
    ('{"a": 1}', {"a": 1}),
    ("[1]", {}),
    ("not json", {}),
    ("", {}),
    ("null", {}),
    ([1], {}),
    (7, {}),
    (None, {}),
]
SELECTOR_ROWS = [({"provider": "p", "model": "m"}, {"provider": "p", "model": "m"}), ({}, {})]
TABLE = {
    "string": TEXT_ROWS,
    "secret-input": TEXT_ROWS,
    "select": TEXT_ROWS,
    "checkbox": TEXT_ROWS,
    "dynamic-select": TEXT_ROWS,
    "boolean": BOOLEAN_ROWS,
    "number": NUMBER_ROWS,
    "files": FILES_ROWS,
    "system-files": FILES_ROWS,
    "file": FILE_ROWS,
    "model-selector": SELECTOR_ROWS,
    "app-selector": SELECTOR_ROWS,
    "any": ANY_ROWS,
    "array": ARRAY_ROWS,
    "object": OBJECT_ROWS,
    "date": [("2026-11-22", "2026-11-22"), ("", ""), (None, "")],
    "date-range": [
        ({"start": "2026-11-22", "end": "2026-11-23"},) * 2,
        ('{"end": "2026-11-23"}', {"end": "2026-11-23"}),
        ("2026-11-22", {"start": "2026-11-22"}),
        (None, {}),
    ],
}


def test_the_table_has_every_type_of_parameter():
    assert sorted(TABLE) == sorted(DifyPluginToolParameterType)


@pytest.mark.parametrize("kind", TABLE)
async def test_a_value_is_cast_for_the_daemon(kind):
    names = [f"value_{number}" for number in range(len(TABLE[kind]))]
    given, expected = (
        dict(zip(names, values, strict=True)) for values in zip(*TABLE[kind], strict=True)
    )

    sent, _ = await call([parameter(name, kind) for name in names], given)

    assert {name for name in names if not same(sent[name], expected[name])} == set(), sent


@pytest.mark.parametrize(
    ("kind", "value", "reason"),
    [
        *[
            ("number", text, f"invalid literal for int() with base 10: {text!r}")
            for text in ("1e5", "nan", "0x10", "1,5", "seven", " ")
        ],
        *[
            (kind, value, "The date must be a day of the calendar, written as YYYY-MM-DD.")
            for kind in ("date", "date-range")
            for value in ("tomorrow", "2026-02-29", 20261122)
        ],
        ("date-range", {"start": "2026-11-23", "end": "2026-11-22"}, "The date range must not end before it starts."),
        ("number", "1.2.3", "could not convert string to float: '1.2.3'"),
        *[
            ("file", files, "This parameter only accepts one file but got multiple files while invoking.")
            for files in ([], ["a", "b"])
        ],
        *[
            (kind, value, "The selector must be a dictionary.")
            for kind in ("model-selector", "app-selector")
            for value in (None, "openai", ["m"], '{"provider": "p"}')
        ],
    ],
)  # fmt: skip
async def test_a_value_without_a_cast_is_refused_before_any_request(kind, value, reason):
    assert await refusal(kind, value) == (
        f"tool parameters validation error: {reason}, please check your tool parameters"
    )


@pytest.mark.parametrize("kind", ["select", "dynamic-select"])
@pytest.mark.parametrize(
    ("given", "sent"), [(["a", "b"], ["a", "b"]), ('["a"]', ["a"]), ("a", ["a"]), (None, [])]
)
async def test_several_choices_reach_the_daemon_as_a_list(kind, given, sent):
    declared = [parameter("value", kind, multiple=True, options=None)]
    arguments, _ = await call(declared, {"value": given})
    assert arguments == {"value": sent}


SHOWN = {"value": {"type": "array", "items": {"type": "string"}}}


@pytest.mark.parametrize("kind", ["select", "dynamic-select"])
@pytest.mark.parametrize(
    ("declared", "more", "sent"),
    [
        ({}, {"arguments": {"value": ["a"]}, "properties": SHOWN}, ["a"]),
        ({"default": ["a"]}, {"arguments": {}}, ["a"]),
        ({"form": "form"}, {"arguments": {}, "runtime_parameters": {"value": ["a"]}}, ["a"]),
        ({}, {"arguments": {"value": "a"}, "properties": {"value": {"type": "string"}}}, "a"),
    ],
)
async def test_a_selection_takes_a_list_where_dify_shows_it_without_saying_so(
    kind, declared, more, sent
):
    arguments, _ = await call([parameter("value", kind, **declared)], **more)
    assert arguments == {"value": sent}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text('ab1.[]{}"', max_size=4),
    lambda children: (
        st.lists(children, max_size=2)
        | st.dictionaries(st.sampled_from("ab"), children, max_size=2)
    ),
    max_leaves=4,
)


@pytest.mark.untraced
@given(st.sampled_from(["string", "boolean", "files", "any", "array", "object"]), JSON)
async def test_casting_what_was_cast_changes_nothing(kind, value):
    once = await cast(kind, value)

    assert same(await cast(kind, once), once)


DECLARED = [
    parameter("query", required=True),
    parameter("limit", "number", default="10"),
    parameter("site", form="form", required=True),
    parameter("note", form="schema"),
]


async def test_configured_values_and_cast_defaults_complete_a_call():
    sent, _ = await call(DECLARED, {"query": "q"}, {"site": 7})

    assert sent == {"query": "q", "limit": 10, "site": "7"}


async def test_the_models_arguments_replace_configured_ones_hidden_ones_too():
    sent, _ = await call(
        DECLARED, {"query": "q", "site": "evil", "limit": 1}, {"site": "good", "limit": 5}
    )

    assert sent == {"query": "q", "limit": 1, "site": "evil"}


async def test_what_is_not_declared_passes_unchanged_after_what_is():
    sent, _ = await call(DECLARED, {"extra": 1.0, "query": "q"}, {"site": "s", "more": [None]})

    assert sent == {"query": "q", "limit": 10, "site": "s", "more": [None], "extra": 1.0}
    assert list(sent)[:3] == ["query", "limit", "site"]


async def test_a_null_that_is_given_is_a_value():
    sent, _ = await call(DECLARED, {"query": None, "limit": None}, {"site": None})

    assert sent == {"query": "", "limit": None, "site": ""}


@pytest.mark.parametrize("default", ["", 0, False])
async def test_a_default_that_is_no_null_is_a_value(default):
    sent, _ = await call([parameter("value", "any", required=True, default=default)], {})

    assert same(sent, {"value": default})


async def test_a_required_value_that_is_missing_is_refused_before_any_request():
    sent, read = await call(DECLARED, {"limit": 1}, {"site": "s"})

    assert sent is None
    assert read == (
        "tool parameters validation error: tool parameter query not found in tool config,"
        " please check your tool parameters"
    )


async def test_the_options_of_a_selection_are_not_enforced_here():
    declared = [parameter("region", "select", options=[{"value": "eu"}])]

    assert (await call(declared, {"region": "us"}))[0] == {"region": "us"}
