"""What a server says of a failure is found in whatever form it comes."""

import json

import pytest

from gpt5_messages import read_error


UPSTREAM = {"error": {"message": "Unknown parameter: 'x'", "param": "x", "code": "unknown"}}
UNKNOWN = {"loc": ["body", "text", "x"], "msg": "Not permitted", "type": "extra_forbidden"}
MISSING = {"loc": ["body", "y"], "msg": "Field required", "type": "missing"}
ISSUE = {"code": "unrecognized_keys", "keys": ["x"], "path": ["tools", 0], "message": "Bad key"}

REQUIRED = {"code": "invalid_type", "path": ["input", 0, "content"], "message": "Required"}
UNION = {
    "code": "invalid_union",
    "unionErrors": [{"issues": [REQUIRED], "name": "ZodError"}],
    "path": [],
    "message": "Invalid input",
}


def nested(levels: int) -> object:
    return {"error": nested(levels - 1)} if levels else "x"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (UPSTREAM, UPSTREAM["error"]),
        (
            {"error": {"message": "m", "type": "BadRequestError", "param": None, "code": 400}},
            {"message": "m", "type": "BadRequestError", "code": "400"},
        ),
        ({"error": {"code": "c", "param": "p"}}, {"code": "c", "param": "p"}),
        ({"error": " No key "}, {"message": "No key"}),
        ({"error": "not taken: x", "code": "A bad call"}, {"message": "not taken: x", "code": "A bad call"}),
        ({"error": "invalid_token", "error_description": "Expired"}, {"message": "Expired", "code": "invalid_token"}),
        ({"error": "Not Found", "message": "No such route", "path": "/x"}, {"message": "No such route"}),
        ({"error": {"error": "deep"}}, {"message": "deep"}),
        ({"error": {"message": {"detail": "deep"}}}, {"message": "deep"}),
        ({"error": {"message": ["a", "b", "a"]}}, {"message": "a; b"}),
        ({"detail": "Not taken: x"}, {"message": "Not taken: x"}),
        ({"detail": {"error": {"message": "m", "code": "c"}}}, {"message": "m", "code": "c"}),
        (
            {"detail": [UNKNOWN, MISSING]},
            {"message": "text.x: Not permitted; y: Field required", "code": "extra_forbidden", "param": "text.x"},
        ),
        ({"error": {"message": json.dumps([MISSING])}}, {"message": "y: Field required", "code": "missing", "param": "y"}),
        ({"message": "No key", "request_id": "r"}, {"message": "No key"}),
        ({"Message": "No", "error_code": "BAD"}, {"message": "No", "code": "BAD"}),
        ({"fault": {"faultstring": "Too many"}}, {"message": "Too many"}),
        ({"success": False, "errors": [{"code": 7003, "message": "No route"}]}, {"message": "No route", "code": "7003"}),
        ({"success": False, "error": [ISSUE], "details": [ISSUE]}, {"message": "tools.0.x: Bad key", "code": "unrecognized_keys", "param": "tools.0.x"}),
        ({"success": False, "error": [UNION]}, {"message": "input.0.content: Required", "code": "invalid_type", "param": "input.0.content"}),
        ({"detail": [{"loc": ["body"], "msg": "No object"}, {"loc": [], "msg": "Empty"}]}, {"message": "No object; Empty"}),
        ({"success": False, "details": ["a"]}, {"message": "a"}),
        ({"success": False, "error": {"issues": [ISSUE], "name": "ZodError"}}, {"message": "tools.0.x: Bad key", "code": "unrecognized_keys", "param": "tools.0.x"}),
        ({"x": ["Unknown field.", "Bad."], "y": ["Odd."]}, {"message": "x: Unknown field.; Bad.; y: Odd.", "param": "x"}),
        ({"message": "Invalid", "errors": {"x": ["Not taken."]}}, {"message": "x: Not taken.", "param": "x"}),
        ({"errors": {"json": {"x": ["Unknown field."]}}, "code": 422}, {"message": "x: Unknown field.", "param": "x", "code": "422"}),
        ({"title": "Bad", "status": 400, "errors": {}}, {"message": "Bad"}),
        ({"status": {"message": "m"}, "tools": [], "names": [1]}, {"message": "m"}),
        ([{"error": {"code": 400, "message": "m", "status": "INVALID"}}], {"message": "m", "code": "400"}),
        ({"title": "Bad", "status": 400, "detail": "why"}, {"message": "why"}),
        ({"error_msg": "why", "error_code": 7}, {"message": "why", "code": "7"}),
        (
            {"error": {"message": f"Gateway [1]: {json.dumps(UPSTREAM)} (twice)", "code": "400"}},
            {**UPSTREAM["error"], "message": "Gateway [1]: Unknown parameter: 'x' (twice)"},
        ),
        (
            {"error": {"code": 502, "message": "Failed", "metadata": {"raw": json.dumps(UPSTREAM)}}},
            {**UPSTREAM["error"], "message": "Failed: Unknown parameter: 'x'"},
        ),
        ({"error": {"message": 'Not a schema: {"type": "any"}'}}, {"message": 'Not a schema: {"type": "any"}'}),
        (
            {"error": {"message": str({"errors": [UNKNOWN]})}},
            {"message": "text.x: Not permitted", "code": "extra_forbidden", "param": "text.x"},
        ),
        (
            {"detail": f"Error code: 400 - {UPSTREAM | {'none': None}}"},
            {**UPSTREAM["error"], "message": "Error code: 400 - Unknown parameter: 'x'"},
        ),
        ("{'a': " + "-" * 9_000 + "1}", {"message": "{'a': " + "-" * 9_000 + "1}"}),
        *((text, {"message": text}) for text in ("{[]: 1}", "{'a'" + " " * 20_000 + "}")),
        ("Not taken {", {"message": "Not taken {"}),
        ("Not taken: {'title': 'A', 'enum': ['b']}", {"message": "Not taken: {'title': 'A', 'enum': ['b']}"}),
        ('Refused {"error": {"code": "c"}}', {"message": 'Refused {"error": {"code": "c"}}'}),
        ("item['content'] is no array", {"message": "item['content'] is no array"}),
        ("Expected one of ['low', 'high']", {"message": "Expected one of ['low', 'high']"}),
        ("['Not taken', 'Too long']", {"message": "Not taken; Too long"}),
        ("<!DOCTYPE html><title>\n502 Bad &amp; slow </title><h1>x</h1>", {"message": "502 Bad & slow"}),
        ("<?xml version='1.0'?><Error><Message>Denied</Message></Error>", {"message": "Denied"}),
        ("<!-- x --><html><title></title><h2 id='x'>Proxy Error</h2></html>", {"message": "Proxy Error"}),
        ("<h1>Bad Gateway</h1>", {"message": "Bad Gateway"}),
        ("<html><p>Hello</p></html>", {}),
        ("<model> is not there", {"message": "<model> is not there"}),
        ("[" * 100_000, {"message": "[" * 100_000}),
        (nested(5), {"message": "x"}),
        (nested(9), {}),
        *((nothing, {}) for nothing in (None, {}, [], [{}], "", " ", 5, True, {"error": True, "code": False})),
    ],
    ids=lambda value: str(value)[:40],
)  # fmt: skip
def test_an_error_is_read_in_any_form(error: object, told: dict[str, str]) -> None:
    assert read_error(error) == told
