"""The apps of examples/dify run in graphon, Dify's workflow runtime, on both plugins."""

import json
from pathlib import Path

import graphon.dsl
import pytest
import yaml
from graphon.dsl.entities import LoadStatus

from agent_node import AgentNode, offer_agent_node
from client import DaemonClient
from dify import KEY, PROVIDER, credentials
from gpt5_simulator import FunctionCall, Reasoning, ResponsesSimulator, ScriptedModel, Text


ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples/dify"
THOUGHT = Reasoning(summary=("Let me see.",))


@pytest.fixture
def run_app(served, use_relay, monkeypatch):
    """Import and run an app; return the outputs of its nodes by their ids, and what the model's server was sent."""
    offer_agent_node(monkeypatch)

    def run(name, inputs, *turns):
        with ResponsesSimulator(model=ScriptedModel(list(turns)), api_keys=[KEY]) as simulator:
            values = credentials(simulator.base_url)
            AgentNode.client = DaemonClient(served["base_url"], served["api_key"])
            AgentNode.credentials = values
            slim = {"mode": "remote", "daemon_addr": served["base_url"]}
            engine = graphon.dsl.loads(
                (EXAMPLES / name).read_text(encoding="utf-8"),
                credentials={
                    "slim": {**slim, "daemon_key": served["api_key"]},
                    "model_credentials": [{"provider": PROVIDER, "values": values}],
                },
                start_inputs=inputs,
            )
            results = {
                event.node_id: event.node_run_result
                for event in engine.run()
                if hasattr(event, "node_run_result")
            }
            return results, [request.body for request in simulator.requests]

    use_relay()
    return run


def test_the_agent_of_the_chatflow_calls_its_three_tools_and_answers(run_app):
    calls = (
        FunctionCall(name="current_time", arguments={}),
        FunctionCall(name="weekday", arguments={"year": 2026, "month": 11, "day": 22}),
        FunctionCall(name="simple_code", arguments={"language": "python3", "code": "print(6 * 7)"}),
    )
    question = "What weekday is it, and what is 6 * 7?"
    results, [first, second] = run_app(
        "agent-chatflow.yml",
        {"query": question},
        [THOUGHT, *calls],
        [Text(text="It is Sunday, and 6 * 7 is 42.")],
    )

    assert results["answer"].outputs["answer"].endswith("It is Sunday, and 6 * 7 is 42.")
    assert results["agent"].outputs["text"].startswith("<think>")
    assert results["agent"].outputs["final_answer"] == "It is Sunday, and 6 * 7 is 42."
    assert (first["model"], first["reasoning"]["effort"]) == ("gpt-6-luna", "low")
    assert first["input"][0]["content"][0]["text"].startswith("You answer questions about dates")
    assert first["input"][1]["content"][0]["text"] == question
    offered = {tool["name"]: set(tool["parameters"]["properties"]) for tool in first["tools"]}
    # What the app has set is not for the model.
    assert offered == {
        "current_time": set(),
        "weekday": {"year", "month", "day"},
        "simple_code": {"language", "code"},
        "read_result": {
            "id",
            "offset",
            "pattern",
        },  # for results that are too long to be shown whole
    }
    time, weekday, code = [item["output"] for item in second["input"] if "output" in item]
    assert time.endswith(" UTC")
    assert (weekday, code) == ("Sunday", "python3: print(6 * 7)")
    assert [item["type"] for item in second["input"] if item.get("type") == "reasoning"]


def test_the_workflow_answers_with_json_of_its_schema(run_app):
    answer = {"topic": "delivery", "urgency": "today", "summary": "The parcel is late."}
    results, [sent] = run_app(
        "structured-workflow.yml",
        {"message": "Where is my parcel? I need it today!"},
        [THOUGHT, Text(text=json.dumps(answer))],
    )

    assert results["end"].outputs == {"result": answer}
    assert sent["text"]["format"]["strict"]
    assert sent["input"][-1]["content"][0]["text"] == "Where is my parcel? I need it today!"


def test_the_agent_of_the_chatflow_has_the_outputs_that_its_strategy_declares():
    app = yaml.safe_load((EXAMPLES / "agent-chatflow.yml").read_text(encoding="utf-8"))
    [agent] = [node for node in app["workflow"]["graph"]["nodes"] if node["id"] == "agent"]
    strategies = ROOT / "plugins/gpt5_agent_strategies/strategies"
    for strategy in ("gpt5_function_calling", "gpt5_react"):
        declared = yaml.safe_load((strategies / f"{strategy}.yaml").read_text(encoding="utf-8"))
        assert agent["data"]["output_schema"] == declared["output_schema"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [("agent-chatflow.yml", "Unsupported node types: agent"), ("structured-workflow.yml", None)],
)
def test_graphon_itself_finds_nothing_wrong_but_what_it_lacks(name, reason):
    plan = graphon.dsl.inspect((EXAMPLES / name).read_text(encoding="utf-8"))

    assert plan.load_reason == reason
    assert plan.load_status is (LoadStatus.UNSUPPORTED if reason else LoadStatus.LOADABLE)
    named = [one.plugin_unique_identifier for one in plan.dependencies]
    told = yaml.safe_load((EXAMPLES / name).read_text(encoding="utf-8"))["dependencies"]
    assert named == [one["value"]["plugin_unique_identifier"] for one in told]
