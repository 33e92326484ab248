import pytest

from stream_text.failures import MAX_CHARACTERS, MAX_DESCRIPTION_CHARACTERS, tell_failures


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
    with tell_failures(writer, "s1"):
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
    with tell_failures(writer, "s1"):
        pass
    assert writer.sent == []


def test_what_ends_the_process_passes():
    with pytest.raises(KeyboardInterrupt), tell_failures(Writer(), "s1"):
        raise KeyboardInterrupt
