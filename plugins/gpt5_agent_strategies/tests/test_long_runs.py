"""Runs that outgrow what their model reads."""

import json

import pytest

from scripted_dify import DifyError, call, chunk, parameter, text_message, tool, usage


LOOK = tool("look", parameter("text"))
# As Dify describes a model: 60,000 tokens of context, of which 10,000 are for its answer.
ENTITY = {
    "model_properties": {"mode": "chat", "context_size": 60_000},
    "parameter_rules": [{"name": "max_tokens", "max": 10_000}, {"name": "tool_choice"}],
}
SUM_UP = "everything above but the instructions and the task will be replaced"


def is_summary(request):
    return SUM_UP in str(request["prompt_messages"][-1]["content"])


def script(agent, rounds, *, summarise, told=None):
    """Let the model look at 20 kB round after round, and sum up what it was shown where it is asked to."""
    numbers = iter(range(1, rounds + 1))

    def answer(request):
        if is_summary(request):
            said = summarise(request)
            return [said] if isinstance(said, Exception) else [chunk(said)]
        number = next(numbers, None)
        if number is None or request["completion_params"].get("tool_choice") == "none":
            return [chunk("Done.", usage=told)]
        return [
            chunk(
                calls=[call("look", json.dumps({"text": f"{number}"}), id_=f"c{number}")],
                usage=told,
            )
        ]

    def look(request):
        number = request["tool_parameters"]["text"]
        fact = "The code is 4711. " if number == "3" else ""
        return [text_message(f"{number}: {fact}{'word ' * 4_000}")]

    agent.dify.model = [answer] * (3 * rounds)
    agent.dify.tools["look"] = look


def find_code(request):
    seen = json.dumps(request["prompt_messages"])
    return "The code is 4711." if "The code is 4711." in seen else "Nothing yet."


def test_a_long_run_goes_on_from_summaries_and_knows_what_it_has_seen(agent):
    script(agent, 40, summarise=find_code)
    transcript = agent.run(tools=[LOOK], maximum_iterations=100, model={"entity": ENTITY})
    assert transcript.metadata["stop_reason"] == "answered"
    assert transcript.metadata["iterations"] == 41
    requests = agent.dify.model_requests
    summaries = [request for request in requests if is_summary(request)]
    assert len(summaries) > 3
    assert all(len(json.dumps(request["prompt_messages"])) < 150_000 for request in requests)
    last = requests[-1]["prompt_messages"]
    assert [message["role"] for message in last[:3]] == ["system", "user", "user"]
    assert "The code is 4711." in last[2]["content"]
    assert all(request["tools"] == requests[0]["tools"] for request in requests)
    log = transcript.logs["Conversation made shorter"]
    assert log["status"] == "success"
    assert log["data"]["by"] == "summary"
    assert log["data"]["size_after"] < log["data"]["size_before"]
    assert "The code" not in transcript.text


@pytest.mark.parametrize("said", ["", DifyError("InvokeBadRequestError: refused")])
def test_where_no_summary_can_be_had_the_run_goes_on_without_its_oldest_rounds(agent, said):
    script(agent, 20, summarise=lambda _: said)
    transcript = agent.run(tools=[LOOK], maximum_iterations=100, model={"entity": ENTITY})
    assert transcript.metadata["stop_reason"] == "answered"
    assert "earlier messages" in agent.dify.model_requests[-1]["prompt_messages"][2]["content"]
    assert transcript.logs["Conversation made shorter"]["status"] == "error"


def test_what_the_model_tells_of_its_usage_counts(agent):
    script(agent, 6, summarise=find_code, told=usage(prompt=39_000, completion=1_100))
    agent.run(tools=[LOOK], maximum_iterations=100, model={"entity": ENTITY})
    assert any(is_summary(request) for request in agent.dify.model_requests)


def test_a_run_whose_window_nobody_knows_stays_as_it_is(agent):
    script(agent, 20, summarise=find_code)
    agent.run(tools=[LOOK], maximum_iterations=100)
    assert not any(is_summary(request) for request in agent.dify.model_requests)
    assert len(agent.dify.model_requests[-1]["prompt_messages"]) == 42


def test_a_request_that_the_model_refuses_for_its_length_is_made_shorter(agent):
    script(agent, 8, summarise=find_code)
    answer = agent.dify.model[0]

    def refuse(request):
        if len(json.dumps(request["prompt_messages"])) > 90_000:
            return [
                DifyError(
                    "InvokeBadRequestError: [models] Bad Request Error, Error code: 400 - context_length_exceeded: "
                    "Your input exceeds the context window of this model."
                )
            ]
        return answer(request)

    agent.dify.model = [refuse] * 60
    transcript = agent.run(tools=[LOOK], maximum_iterations=100, model={"entity": ENTITY})
    assert transcript.metadata["stop_reason"] == "answered"
    assert transcript.logs["Conversation made shorter"]["data"]["messages_replaced"] > 1
