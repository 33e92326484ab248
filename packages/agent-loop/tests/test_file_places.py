"""Where the images and files of a conversation stand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_loop import Message, ToolCall, with_files_moved


def text(said, **rest):
    return {"type": "text", "text": said, **rest}


def image(name="a"):
    return {"type": "image", "base64_data": name}


def file(name="b"):
    return {"type": "document", "base64_data": name}


def said(role, *parts, **rest):
    return Message(role=role, content=parts, **rest)


OF_SYSTEM = text("This belongs to the system message above:")
OF_ASSISTANT = text("This came with the assistant's message above:")
CALL = ToolCall(call_id="c", name="look", arguments="{}")
RESULT = said("tool", image("r"), tool_call_id="c")
ASKED = Message(role="user", content="And now?")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            [said("system", text("Be kind."), image()), ASKED],
            [
                Message(role="system", content="Be kind."),
                said("user", OF_SYSTEM, image(), text("And now?")),
            ],
        ),
        ([said("system", image()), ASKED], [said("user", OF_SYSTEM, image(), text("And now?"))]),
        (
            [said("system", image()), Message(role="system", content="Be brief."), ASKED],
            [
                Message(role="system", content="Be brief."),
                said("user", OF_SYSTEM, image(), text("And now?")),
            ],
        ),
        (
            [said("assistant", text("One"), image(), text("Two"), file()), said("user", image())],
            [
                Message(role="assistant", content="One\nTwo"),
                said("user", OF_ASSISTANT, image(), file(), image()),
            ],
        ),
        (
            [said("assistant", image()), said("assistant", "Text", image("c"))],
            [
                Message(role="assistant", content="(what follows below)"),
                said("user", OF_ASSISTANT, image()),
                Message(role="assistant", content="Text"),
                said("user", OF_ASSISTANT, image("c")),
            ],
        ),
        (
            [said("assistant", image(), tool_calls=(CALL,)), RESULT, RESULT, said("assistant")],
            [
                Message(role="assistant", content="", tool_calls=(CALL,)),
                *(RESULT, RESULT),
                said("user", OF_ASSISTANT, image()),
                said("assistant"),
            ],
        ),
        (
            [said("assistant", text("One", opaque_body={}), image())],
            [said("assistant", text("One", opaque_body={})), said("user", OF_ASSISTANT, image())],
        ),
        (
            [said("assistant", image(), opaque_body={"a": 1}), Message(role="user", content="")],
            [
                Message(role="assistant", content="", opaque_body={"a": 1}),
                said("user", OF_ASSISTANT, image()),
            ],
        ),
    ],
)
def test_files_of_others_go_into_what_the_user_says_next(before, after):
    assert with_files_moved(before) == after


def test_where_files_may_stand_nothing_changes():
    messages = [
        Message(role="system", content="Be kind."),
        said("system", text("One"), text("Two")),
        said("user", image(), text("What?"), file()),
        said("assistant", text("One", opaque_body={}), text("Two"), tool_calls=(CALL,)),
        RESULT,
        Message(role="assistant", content="Seen."),
    ]
    assert with_files_moved(messages) == messages


parts = st.lists(
    st.builds(image, st.text(max_size=3)) | st.builds(text, st.text(max_size=3)), max_size=3
)
roles = st.sampled_from(["system", "user", "assistant", "tool"])


@pytest.mark.untraced
@given(st.lists(st.builds(lambda role, content: said(role, *content), roles, parts), max_size=6))
def test_no_file_is_lost_and_none_stands_where_it_must_not(messages):
    moved = with_files_moved(messages)

    def files(told):
        every = [part for message in told for part in message.content if isinstance(part, dict)]
        return [part["base64_data"] for part in every if part["type"] == "image"]

    assert sorted(files(moved)) == sorted(files(messages))
    assert files([each for each in moved if each.role in ("system", "assistant")]) == []
    assert with_files_moved(moved) == moved
