"""Files at hand that a model chooses for a tool, and what it sees of those that a tool makes."""

import pytest

from agent_tooling import ResultBudget, Tool, ToolError, mime_type_of, observation_content


PART = {"type": "image", "base64_data": "x" * 200}


def declare(**runtime):
    def parameter(name, kind, form="llm", *, required=False):
        return {"name": name, "type": kind, "form": form, "required": required}

    return {
        "identity": {"name": "edit"},
        "description": {"llm": "Edits."},
        "parameters": [
            parameter("picture", "file", required=True),
            parameter("others", "system-files"),
            parameter("mask", "file", "form"),
            parameter("text", "string"),
        ],
        "runtime_parameters": runtime,
    }


def make(files, **runtime):
    given = []
    tool = Tool.from_declaration(declare(**runtime), lambda **args: given.append(args), files=files)
    return tool, given


def test_a_tool_gets_what_stands_under_the_names_that_the_model_chose():
    tool, given = make({"a.png": lambda: 1, "b.png": lambda: 2}, others=[], picture=None)
    assert tool.takes_files
    assert list(tool.parameters["properties"]) == ["picture", "others", "text"]
    bound = tool.bind('{"picture": "b.png", "others": ["b.png", "a.png"], "text": "hi"}')
    assert bound.args["picture"] == "b.png"
    assert tool.invoke(bound.args).error is None
    assert tool.invoke(tool.bind('{"picture": "a.png"}').args).error is None
    assert given == [{"picture": 2, "others": [2, 1], "text": "hi"}, {"picture": 1}]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            '{"picture": "/b/a.png"}',
            "parameter 'picture': no file at hand has the name \"/b/a.png\"; at hand are: a.png",
        ),
        (
            '{"picture": "a.png", "others": ["a.png", 7]}',
            "parameter 'others': no file at hand has the name \"7\"; at hand are: a.png",
        ),
        ('{"picture": ["a.png"]}', "parameter 'picture' requires string"),
        ('{"picture": "a.png", "others": "a.png"}', "parameter 'others' requires array"),
        ('{"others": ["a.png"]}', "missing required parameter 'picture'"),
        ('{"picture": "a.png", "mask": "a.png"}', "unknown parameters ['mask']"),
    ],
)
def test_nothing_else_can_be_chosen(arguments, told):
    tool, _ = make({"a.png": lambda: 1})
    assert tool.bind(arguments).error == f"tool arguments validation error: {told}"


def test_a_file_that_comes_later_can_be_chosen_and_the_schema_stays():
    files = {}
    tool, given = make(files)
    schema = str(tool.parameters)
    assert tool.bind('{"picture": "a.png"}').error.endswith("at hand are: none")
    files |= {f"{number}.png": lambda: 1 for number in range(30)}
    told = tool.bind(f'{{"picture": "{"a" * 200}"}}').error
    assert f'"{"a" * 99}…; at hand are: ..., 10.png, ' in told
    assert told.endswith(", 29.png")
    assert tool.invoke(tool.bind('{"picture": "0.png", "others": []}').args).error is None
    assert given == [{"picture": 1, "others": []}]
    assert (str(tool.parameters), "enum" in schema) == (schema, False)
    assert tool.parameters["properties"]["others"]["items"] == {"type": "string"}


def test_what_is_set_by_hand_stays_hidden():
    tool, given = make({"a.png": lambda: 1}, picture="set")
    assert "picture" not in tool.parameters["properties"]
    tool.invoke(tool.bind("{}").args)
    assert given == [{"picture": "set"}]


def test_without_files_nothing_is_offered():
    tool, _ = make(None)
    assert list(tool.parameters["properties"]) == ["text"]
    assert not tool.takes_files
    assert not Tool.from_schema("a", "", {"type": "object"}, print).takes_files


def test_a_file_that_cannot_be_handed_over_fails_the_call():
    def fail():
        raise ToolError("the file has gone")

    tool, given = make({"a.png": fail})
    assert tool.invoke({"picture": "a.png"}).error == "the file has gone"
    assert given == []


def test_parts_stand_behind_the_texts_of_their_messages():
    def say(text):
        return {"type": "text", "message": {"text": text}}

    variable = {"type": "variable", "message": {"variable_name": "a", "variable_value": 1}}
    messages = [say("a"), {"type": "image", "message": {}}, variable, say("b"), say("c")]
    content = observation_content(
        messages, find_part=lambda message: PART if message["type"] == "image" else None
    )
    drawn = "aimage generated and sent to user. Tell user to review it now."
    texts = [{"type": "text", "text": drawn}, {"type": "text", "text": "bc"}]
    assert content == (texts[0], PART, texts[1])
    assert observation_content([variable], find_part=lambda _: None) == 'tool response: {"a": 1}.'
    assert observation_content([variable], find_part=lambda _: PART) == (PART,)


def test_images_do_not_count_where_somebody_else_bounds_them():
    budget = ResultBudget(per_run_bytes=150, counts_media=False)
    text = {"type": "text", "text": "y" * 120}
    assert budget.fit((PART, text, PART)) == (PART, text, PART)
    assert ResultBudget(per_run_bytes=150).fit((PART,)) != (PART,)


def test_bytes_are_what_they_begin_with():
    assert mime_type_of(b"\xff\xd8\xff", "a.png") == "image/jpeg"
    assert mime_type_of(b"?") == "application/octet-stream"
