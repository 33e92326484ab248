"""The table of a request's fields: the page, both builders and the official client's type agree."""

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from pydantic import TypeAdapter

from gpt5_messages import MessageItem
from gpt5_payloads import RequestParameters, WireRules, build_request
from gpt5_responses import Request, RequestSettings, ResponsesScheme


_PAGE = Path(__file__).parents[3] / "docs" / "responses-features.md"
_TYPE = TypeAdapter[Any](ResponseCreateParamsStreaming)
_KNOWN = (
    ResponseCreateParamsStreaming.__required_keys__
    | ResponseCreateParamsStreaming.__optional_keys__
)
_SCHEMA = {"type": "object", "properties": {}, "additionalProperties": False, "required": []}
_TOOL = {"name": "lookup", "description": "Look it up.", "parameters": _SCHEMA}
_IMAGE = {"type": "input_image", "image_url": "https://example.org/a.png", "detail": "high"}
_ASKED = [{"type": "message", "role": "user", "content": [_IMAGE]}]
# A value of each setting that is not its default; some make sense only beside another one.
_SAMPLES: dict[str, dict[str, Any]] = {
    "allowed_tools": {"allowed_tools": ["lookup"]},
    "background": {"background": True},
    "code_interpreter": {"code_interpreter": True},
    "compact_threshold": {"compact_threshold": 5_000},
    "effort": {"effort": "high"},
    "enable_stream": {"enable_stream": False},
    "extra_tools": {"extra_tools": [{"type": "custom", "name": "note"}]},
    "file_search_stores": {"file_search_stores": ["vs_1"]},
    "flex_fallback": {"service_tier": "flex", "flex_fallback": True},
    "image_detail": {"image_detail": "low"},
    "image_generation": {"image_generation": True},
    "include_encrypted_content": {"include_encrypted_content": False},
    "include_obfuscation": {"include_obfuscation": True},
    "instructions": {"instructions": "Be brief."},
    "items": {"items": [MessageItem.of_text("user", "And then?")]},
    "json_schema": {"response_format": "json_schema", "json_schema": _SCHEMA},
    "max_output_tokens": {"max_output_tokens": 100},
    "max_tool_calls": {"max_tool_calls": 3},
    "mcp_servers": {"mcp_servers": [{"server_label": "d", "server_url": "https://example.org"}]},
    "messages": {"messages": [{"role": "user", "content": "Hello"}]},
    "parallel_tool_calls": {"parallel_tool_calls": False},
    "previous_response_id": {"previous_response_id": "resp_1"},
    "prompt_cache_key": {"prompt_cache_key": "conversation-1"},
    "prompt_cache_ttl": {"prompt_cache_ttl": "12h"},
    "reasoning_context": {"reasoning_context": "all_turns"},
    "reasoning_effort": {"reasoning_effort": "high"},
    "reasoning_mode": {"reasoning_mode": "pro"},
    "reasoning_summary": {"reasoning_summary": "off"},
    "response_format": {"response_format": "json_schema", "json_schema": _SCHEMA},
    "send_max_output_tokens": {"max_output_tokens": 100, "send_max_output_tokens": False},
    "send_sampling_params": {"temperature": 0.5, "top_p": 0.5, "send_sampling_params": False},
    "service_tier": {"service_tier": "flex"},
    "store": {"store": True},
    "summary": {"effort": "high", "summary": None},
    "system_role": {"items": [MessageItem.of_text("system", "Be kind.")], "system_role": "system"},
    "temperature": {"temperature": 0.5, "reasoning_effort": "none"},
    "text": {"text": {"verbosity": "low"}},
    "tool_choice": {"tool_choice": "required"},
    "tools": {"tools": []},
    "top_p": {"top_p": 0.5, "reasoning_effort": "none"},
    "verbosity": {"verbosity": "low"},
    "web_search": {"web_search": "low"},
    "web_search_domains": {"web_search": "low", "web_search_domains": ["example.org"]},
}


def _rows() -> list[tuple[set[str], set[str], set[str]]]:
    """Return the fields, the parameters and the client's settings of each row of the page."""
    table = _PAGE.read_text(encoding="utf-8").partition("## The fields of a request")[2]
    rows = re.findall(r"^\| (`.*) \| (.*) \| (.*) \|$", table.partition("\n## ")[0], re.MULTILINE)
    # Names in brackets are no parameters.
    cells = [[re.sub(r"\(.*?\)", "", cell) for cell in row] for row in rows]
    return [
        (
            set(re.findall(r"`(\w+)`", fields)),
            set(re.findall(r"`(\w+)`", parameters)),
            set(re.findall(r"`([a-z_]+)`", client)),
        )
        for fields, parameters, client in cells
    ]


ROWS = _rows()
PARAMETERS = set(RequestParameters.__annotations__)
# What is kept of the last request decides nothing.
CLIENT = {field.name for kind in (Request, ResponsesScheme) for field in fields(kind)} - {"kept"}


def _body(**given: Any) -> dict[str, Any]:
    parameters: Any = {name: value for name, value in given.items() if name in PARAMETERS}
    return build_request(model="gpt-6-luna", input=_ASKED, tools=[_TOOL], parameters=parameters)


def _client_body(**given: Any) -> dict[str, Any]:
    of_scheme = {field.name for field in fields(ResponsesScheme)}
    scheme = {name: value for name, value in given.items() if name in of_scheme}
    asked = {"items": _ASKED, "tools": [_TOOL]}
    asked |= {name: given[name] for name in given.keys() & CLIENT - of_scheme}
    return ResponsesScheme(**scheme).build_body(Request(**asked), model="gpt-6-luna")


def _changed(body: dict[str, Any], plain: dict[str, Any]) -> set[str]:
    return {name for name in body.keys() | plain.keys() if body.get(name) != plain.get(name)}


def _fields_of(names: set[str], column: int) -> set[str]:
    return {field for row in ROWS if names & row[column] for field in row[0]}


def test_every_field_of_the_official_client_has_one_row() -> None:
    listed = [field for row in ROWS for field in row[0]]

    assert len(listed) == len(set(listed))
    assert set(listed) >= _KNOWN


def test_every_setting_stands_in_the_table_and_no_other() -> None:
    assert {name for row in ROWS for name in row[1]} == PARAMETERS
    assert {name for row in ROWS for name in row[2]} == CLIENT


@pytest.mark.parametrize("name", sorted(PARAMETERS))
def test_a_parameter_changes_its_fields_and_no_other(name: str) -> None:
    given = _SAMPLES[name]
    body = _body(**given)

    assert body.keys() <= _KNOWN
    _TYPE.validate_python(body | {"stream": True})
    changed = _changed(body, _body())
    # What a tool brings has to be included.
    also = {"include"} if "tools" in changed else set[str]()
    assert changed
    assert changed <= _fields_of(set(given), 1) | also


@pytest.mark.parametrize("name", sorted(CLIENT))
def test_a_setting_of_the_client_changes_its_fields_and_no_other(name: str) -> None:
    given = _SAMPLES[name]
    off = {"send_max_output_tokens", "send_sampling_params", "flex_fallback", "summary"} & {name}
    plain = _client_body(**{other: given[other] for other in given if off and other != name})
    body = _client_body(**given)

    assert body.keys() <= _KNOWN
    _TYPE.validate_python(body)
    changed = _changed(body, plain)
    # A response in the background is stored, and its reasoning with it.
    also = {"store", "include"} if name == "background" else set[str]()
    assert changed or name == "flex_fallback"
    assert changed <= _fields_of(set(given), 2) | also


def test_a_conversation_takes_every_setting_of_a_request_but_what_it_holds_itself() -> None:
    held = {"items", "messages", "previous_response_id", "kept"}

    assert RequestSettings.__annotations__.keys() == {one.name for one in fields(Request)} - held


def test_the_rules_are_those_of_the_plugin_unless_a_scheme_replaces_them() -> None:
    asked: Any = {"model": "gpt-6-luna", "input": "Hello", "parameters": {}}

    assert build_request(**asked, rules=WireRules()) == build_request(**asked)
