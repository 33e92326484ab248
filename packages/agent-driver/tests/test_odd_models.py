"""Models and tools that are odd, and where they run."""

import threading
from contextvars import ContextVar

import pytest
from scripted import ask, use

from agent_loop import AgentRun, Message, MessageError
from agent_tooling import Tool


TRACE = ContextVar("TRACE", default="")


@pytest.mark.parametrize("settings", [{}, {"cancelled": threading.Event()}])
@pytest.mark.parametrize("is_async", [False, True])
def test_whatever_runs_sees_the_context_of_the_run(play, run, settings, is_async):
    """Such as the span of a trace, or the request that a web framework is about."""

    def look() -> str:
        """Look."""
        return f"tool {TRACE.get()}"

    async def alook() -> str:
        """Look."""
        return f"tool {TRACE.get()}"

    def model(call):
        yield f"model {TRACE.get()}. " if call.round == 2 else ask(use("look"))[0]

    tool = Tool.from_function(alook if is_async else look, name="look")
    token = TRACE.set("outer")
    try:
        [*_, finished] = play(run, model, [tool], **settings)
    finally:
        TRACE.reset(token)
    assert [message.content for message in finished.messages[2:]] == ["tool outer", "model outer. "]


class SpeechlessError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("nothing to say")


@pytest.mark.parametrize("settings", [{}, {"cancelled": threading.Event()}])
def test_an_error_that_cannot_be_told_is_one_all_the_same(play, run, settings):
    def model(_):
        yield "So"
        raise SpeechlessError

    [*_, finished] = play(run, model, **settings)
    assert (finished.reason, finished.error) == (
        "error",
        "The model call of round 1 failed: SpeechlessError",
    )


@pytest.mark.parametrize(
    "answer", [{"role": "assistant", "content": "4", "tool_calls": []}, {"content": "4"}]
)
def test_an_answer_may_be_a_message(play, run, answer):
    assert play(run, lambda _: answer)[-1].answer == "4"
    whole = AgentRun([], maximum_iterations=1)
    assert play(whole, lambda _: [Message(role="assistant", content="4")])[-1].answer == "4"


@pytest.mark.parametrize(
    ("answer", "field"),
    [(b"4", "answer[0]"), ({"content": [{"type": "text", "text": "4"}]}, "answer[0].content")],
)
def test_an_answer_of_another_kind_is_refused_as_a_whole(play, run, answer, field):
    with pytest.raises(MessageError) as caught:
        play(run, lambda _: answer)
    assert caught.value.field == field
    assert str(caught.value).endswith(f"got {'bytes' if field == 'answer[0]' else 'list'}")
