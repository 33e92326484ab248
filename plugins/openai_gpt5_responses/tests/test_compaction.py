"""Long conversations that the server makes shorter on its way, through the plugin."""

from typing import Any

import pytest

from gpt5_simulator import FunctionCall, ResponsesSimulator, ScriptedModel, Text
from model_plugin import Answer, ModelPlugin


LONG = "Tell me more about it. " * 60  # some 350 tokens for the simulator
SETTINGS: dict[str, Any] = {"model_parameters": {"compact_threshold": 2_000}}
SYSTEM = {"role": "system", "content": "You are a guide."}
ROUNDS = 40


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def told(answer: Answer, *, carries: bool) -> dict[str, Any]:
    """Return what a platform sends back of an answer."""
    message = answer.last["message"]
    opaque = message.get("opaque_body") if carries else None
    return {"role": "assistant", "content": answer.text, "opaque_body": opaque}


def talk(
    plugin: ModelPlugin, server: ResponsesSimulator, *, carries: bool, rounds: int = ROUNDS
) -> list[dict[str, Any]]:
    """Hold a conversation, and return the messages of the last request with its answer."""
    messages: list[dict[str, Any]] = [SYSTEM]
    for number in range(rounds):
        messages.append(user(f"{number}: {LONG}"))
        answer = plugin.invoke(server, messages, **SETTINGS)
        messages.append(told(answer, carries=carries))
    return messages


def inputs(server: ResponsesSimulator) -> list[list[dict[str, Any]]]:
    return [request.body["input"] for request in server.requests]


def compactions(items: list[dict[str, Any]]) -> list[str]:
    return [item["id"] for item in items if item.get("type") == "compaction"]


def answers(count: int = ROUNDS + 10) -> ScriptedModel:
    return ScriptedModel([[Text(text=f"Answer {number}.")] for number in range(count)])


@pytest.mark.parametrize("carries", [True, False])
def test_the_requests_of_a_long_conversation_stay_bounded(
    plugin: ModelPlugin, *, carries: bool
) -> None:
    """With opaque bodies, and as on every platform that drops them."""
    with ResponsesSimulator(model=answers()) as server:
        talk(plugin, server, carries=carries)

    sent = inputs(server)
    assert len(sent) == ROUNDS
    assert max(map(len, sent)) < 15
    assert max(len(str(items)) for items in sent) < 15_000 < len(LONG) * ROUNDS
    seen = {name for items in sent for name in compactions(items)}
    assert len(seen) > 5
    assert all(len(compactions(items)) <= 1 for items in sent)
    assert all(items[0]["content"][0]["text"] == SYSTEM["content"] for items in sent)
    assert all(
        request.body["context_management"] == [{"type": "compaction", "compact_threshold": 2_000}]
        for request in server.requests
    )


def test_calls_of_tools_survive_a_compaction(plugin: ModelPlugin) -> None:
    turns = [[FunctionCall(name="look", arguments={"n": n})] for n in range(12)]
    tools = [{"name": "look", "description": "Look", "parameters": {"type": "object"}}]
    messages: list[dict[str, Any]] = [SYSTEM, user(LONG)]
    with ResponsesSimulator(model=ScriptedModel([*turns, [Text(text="Done.")]])) as server:
        for _ in turns:
            answer = plugin.invoke(server, messages, tools=tools, **SETTINGS)
            (call,) = answer.last["message"]["tool_calls"]
            messages += [
                {"role": "assistant", "content": "", "tool_calls": [call]},
                {"role": "tool", "tool_call_id": call["id"], "content": LONG},
            ]
        assert plugin.invoke(server, messages, tools=tools, **SETTINGS).text == "Done."

    sent = inputs(server)
    assert max(map(len, sent)) < 20
    assert len(compactions(sent[-1])) == 1


@pytest.mark.parametrize(
    "other", [{"user_id": "another"}, {"model": "gpt-5.1"}, {"key": "sk-another"}], ids=str
)
@pytest.mark.parametrize("carries", [True, False])
def test_a_compaction_of_somebody_else_is_never_used(
    plugin: ModelPlugin, other: dict[str, str], *, carries: bool
) -> None:
    with ResponsesSimulator(model=answers()) as server:
        messages = talk(plugin, server, carries=carries, rounds=8)
        plugin.invoke(server, [*messages, user("Whose?")], **SETTINGS, **other)
        plugin.invoke(server, [*messages, user("Mine?")], **SETTINGS)

    theirs, mine = inputs(server)[-2:]
    assert compactions(mine)
    assert not compactions(theirs)
    assert str(theirs).count("Tell me more") == str(messages).count("Tell me more")


def test_a_conversation_goes_out_whole_where_its_compaction_is_refused(
    plugin: ModelPlugin,
) -> None:
    with ResponsesSimulator(model=answers()) as server:
        messages = talk(plugin, server, carries=True, rounds=8)
        for message in messages:
            for item in (message.get("opaque_body") or {}).get("responses_output", ()):
                if item["type"] == "compaction":
                    item["encrypted_content"] = "of-an-older-key"
        assert plugin.invoke(server, [*messages, user("And now?")], **SETTINGS).text

    refused, whole = inputs(server)[-2:]
    assert compactions(refused)
    assert not compactions(whole)
    assert str(whole).count("Tell me more") == str(messages).count("Tell me more")


def test_without_a_threshold_nothing_is_compacted(plugin: ModelPlugin) -> None:
    with ResponsesSimulator(model=answers()) as server:
        plugin.invoke(
            server, user(LONG * 30)["content"], model_parameters={"compact_threshold": ""}
        )
        refused = plugin.invoke(server, "Hi", model_parameters={"compact_threshold": 10})

    assert "context_management" not in server.requests[-1].body
    assert "compact_threshold" in str(refused.error)


def test_the_log_says_what_was_read_from_the_cache_and_what_broke_it(plugin: ModelPlugin) -> None:
    plugin.notices.clear()
    first = user("Remember this. " * 400)
    messages = [first, {"role": "assistant", "content": "Yes."}, user("And?")]
    with ResponsesSimulator(model=answers()) as server:
        plugin.invoke(server, [first])
        plugin.invoke(server, messages)
        last = plugin.invoke(server, messages, model="gpt-5.1").last

    told = last["message"]["opaque_body"]["prompt_cache"]
    assert told["reason"] == "model_changed"
    assert told["cached_tokens"] < told["expected_tokens"] <= told["input_tokens"]
    lines = [notice.text for notice in plugin.notices if "prompt cache" in notice.text]
    assert "0 of" in lines[0]
    assert "broke" not in lines[0] + lines[1]
    assert "by comparison with the request before: another model" in lines[2]
    assert "Remember" not in "".join(lines)
