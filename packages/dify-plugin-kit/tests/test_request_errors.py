import pytest
from pydantic import TypeAdapter

from dify_plugin_kit.request_errors import (
    MAX_CHARACTERS,
    MAX_DESCRIPTION_CHARACTERS,
    hide_request,
    send_errors,
)


class Writer:
    """The SDK's writer of answers."""

    def __init__(self):
        self.sent = []

    def stream_error_object(self, data):
        return {"type": "error", "data": data}

    def session_message(self, session_id, data):
        self.sent.append((session_id, data))


class InvokeError(Exception):
    """The SDK's error of a model call."""

    description = "Rate limit reached."


def told_of(error):
    writer = Writer()
    with send_errors(writer, "s1"):
        raise error
    [(session_id, message)] = writer.sent
    assert (session_id, message["type"]) == ("s1", "error")
    return message["data"]


def test_a_failure_is_told_by_its_name_and_sentence_and_by_no_traceback():
    told = {"error_type": "ValueError", "message": "query must be text", "args": {}}
    assert told_of(ValueError("query must be text")) == told


def test_an_error_of_a_model_call_keeps_the_description_that_dify_shows():
    told = told_of(InvokeError("Rate limit reached."))
    assert told["error_type"] == "InvokeError"
    assert told["args"] == {"description": "Rate limit reached."}


def test_a_long_sentence_is_cut_to_what_a_screen_holds():
    told = told_of(ValueError("long " * 1000))
    assert len(told["message"]) == MAX_CHARACTERS
    assert told["message"].endswith(" ...")


def test_a_description_is_bounded_too():
    error = InvokeError()
    error.description = "long " * 1000
    told = told_of(error)
    assert told["args"]["description"] == told["message"]
    assert len(told["message"]) == MAX_DESCRIPTION_CHARACTERS


def test_nothing_is_told_of_what_does_not_fail():
    writer = Writer()
    with send_errors(writer, "s1"):
        pass
    assert writer.sent == []


def test_what_ends_the_process_passes():
    with pytest.raises(KeyboardInterrupt), send_errors(Writer(), "s1"):
        raise KeyboardInterrupt


class OwnError(Exception):
    pass


def raised_for(error):
    logged = []

    def explain(error):
        logged.append(error)
        return "The log says why. s3cret"

    def act():
        if callable(error):
            error()
        raise error

    with (
        pytest.raises(Exception) as raised,  # noqa: PT011  what is raised is what is tested
        hide_request((OwnError,), redact=lambda text: text.replace("s3cret", "*"), explain=explain),
    ):
        act()
    return raised.value, logged


def test_an_error_of_the_plugin_s_own_is_raised_as_it_is():
    error = OwnError("s3cret")

    assert raised_for(error) == (error, [])


def test_a_request_of_another_shape_is_told_by_its_field_and_not_quoted():
    def read():
        TypeAdapter(dict[str, list[int]]).validate_python({"field": ["quoted-s3cret"]})

    error, logged = raised_for(read)

    assert type(error).__name__ == "ValidationError"
    assert str(error) == (
        "Dify's request cannot be read: field.0: Input should be a valid integer, unable to parse string as an integer"
    )
    assert error.__cause__ is None
    assert logged == []


def test_any_other_error_keeps_its_name_and_gets_a_sentence():
    cause = KeyError("s3cret")
    error, logged = raised_for(cause)

    assert (type(error).__name__, str(error)) == ("KeyError", "The log says why. *")
    assert logged == [cause]
