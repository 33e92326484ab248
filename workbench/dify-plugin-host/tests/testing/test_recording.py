"""A model's answers that are recorded once and given from then on."""

import json

import pytest

from dify_plugin_host.testing import DifyPlugin, Recording, ScriptError


KEY = "let-me-in, please"
QUESTION = f'call add {{"a": 1, "b": 2}}\ncall add {{"a": 3, "b": 4}}\n{KEY}'


def add(a: float, b: float) -> float:
    return a + b


def ask(plugin, model, query=QUESTION):
    strategy = plugin.strategy("steps")
    return strategy.invoke(query=query, model=model, tools=[add], instruction="Be brief.")


@pytest.fixture
def recording(tmp_path):
    """Return the recording of a test, new or not."""
    path = tmp_path / "__recordings__" / "test_it"
    return lambda *, is_new: Recording(
        path, is_new=is_new, redact=lambda text: text.replace(KEY, "[redacted]")
    )


def test_a_run_is_repeated_without_the_model(agent, shared_plugins, recording):
    new = recording(is_new=True).model("echo-1", completion_params={"temperature": 1})
    first = ask(agent, new)
    assert first.text == "<think>\nwhich tool?\n</think>results: 3.0 | 7.0"
    with DifyPlugin(shared_plugins / "small_agent") as alone:
        old = recording(is_new=False).model("echo-1")
        again = ask(alone, old)
    assert again.text == first.text
    assert [call.type for call in again.calls_back] == ["llm", "tool", "tool", "llm"]
    assert old.unused == ()
    assert len(new.requests) == len(old.requests) == 2
    assert new.requests[0]["completion_params"] == {"temperature": 1}


def test_several_runs_of_a_test_are_recorded_one_after_the_other_without_secrets(
    agent, recording, tmp_path
):
    new = recording(is_new=True).model("echo-1", provider="echo")
    ask(agent, new)
    ask(agent, new, query="hello")
    [path] = (tmp_path / "__recordings__").iterdir()
    assert path.name == "test_it-echo-1.json"
    assert len(json.loads(path.read_text())["answers"]) == 3
    assert KEY not in path.read_text()
    old = recording(is_new=False).model("echo-1")
    assert ask(agent, old).text.startswith("<think>")
    assert ask(agent, old, query="hello").text == "hello"
    with pytest.raises(
        ScriptError, match="'echo-1' was asked 4 times, but its script has 3 answers"
    ):
        ask(agent, old)


def test_a_call_that_never_asks_the_model_leaves_a_recording_as_it_is(agent, recording, tmp_path):
    ask(agent, recording(is_new=True).model("echo-1"), query="params")
    assert not (tmp_path / "__recordings__").exists()


def test_a_model_that_was_not_recorded_says_how_to(recording):
    with pytest.raises(
        ScriptError, match=r"no recording .*/test_it-m_1\.json; expected it from `pytest --dify"
    ):
        recording(is_new=False).model("m/1")
