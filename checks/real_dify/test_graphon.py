"""Nodes of graphon, Dify's workflow runtime, work on the model plugin; its own classes stand between."""

import json

import graphon.dsl
import pytest
import yaml

from dify import KEY, MODEL, MODEL_PLUGIN, PROVIDER, credentials
from gpt5_simulator import FunctionCall, Reasoning, ResponsesSimulator, ScriptedModel, Text


IDENTIFIER = f"{MODEL_PLUGIN}:0.1.0@{'0' * 64}"


@pytest.fixture
def run_node(served, use_relay):
    """Run a workflow of one node after its start, and return the node's outputs."""
    use_relay()

    def run(node, *turns):
        with ResponsesSimulator(model=ScriptedModel(list(turns)), api_keys=[KEY]) as simulator:
            slim = {"mode": "remote", "daemon_addr": served["base_url"]}
            model = {"provider": PROVIDER, "values": credentials(simulator.base_url)}
            engine = graphon.dsl.loads(
                yaml.safe_dump(workflow(node)),
                credentials={
                    "slim": {**slim, "daemon_key": served["api_key"]},
                    "model_credentials": [model],
                },
                start_inputs={"query": "How many pages has the book, and is it good?"},
            )
            events = list(engine.run())
            sent = [request.body for request in simulator.requests]
        finished = [event for event in events if getattr(event, "node_id", "") == "node"]
        return finished[-1].node_run_result, sent

    return run


def workflow(node):
    model = {"provider": f"{MODEL_PLUGIN}/{PROVIDER}", "name": MODEL, "mode": "chat"}
    nodes = [
        {
            "id": "start",
            "data": {
                "type": "start",
                "title": "Start",
                "variables": [
                    {"variable": "query", "label": "query", "type": "paragraph", "required": True}
                ],
            },
        },
        {"id": "node", "data": {"title": "Node", "model": model, **node}},
    ]
    edge = {"id": "edge", "source": "start", "target": "node", "sourceHandle": "source"}
    return {
        "kind": "app",
        "version": "0.3.0",
        "app": {"mode": "workflow", "name": "test"},
        "dependencies": [
            {"type": "package", "value": {"plugin_unique_identifier": IDENTIFIER}},
        ],
        "workflow": {"graph": {"nodes": nodes, "edges": [edge]}},
    }


LLM = {
    "type": "llm",
    "context": {"enabled": False},
    "prompt_template": [
        {"role": "system", "text": "Be brief."},
        {"role": "user", "text": "{{#start.query#}}"},
    ],
}
THOUGHT = Reasoning(summary=("A set {of braces} to think about.",))


def test_an_llm_node_answers(run_node):
    result, [sent] = run_node(LLM, [THOUGHT, Text(text="300 pages.")])
    assert result.outputs["text"].endswith("300 pages.")
    assert result.outputs["usage"]["total_tokens"] > 0
    [part] = sent["input"][-1]["content"]
    assert part["text"] == "How many pages has the book, and is it good?"


def test_an_llm_node_keeps_thoughts_and_text_apart(run_node):
    node = {**LLM, "reasoning_format": "separated"}
    result, _ = run_node(node, [THOUGHT, Text(text="300 pages.")])
    assert result.outputs["text"] == "300 pages."
    assert "A set {of braces} to think about." in result.outputs["reasoning_content"]


def test_a_structured_answer_is_json_and_nothing_else(run_node):
    schema = {
        "type": "object",
        "properties": {"pages": {"type": "integer"}, "good": {"type": "boolean"}},
        "required": ["pages"],
    }
    node = {**LLM, "structured_output_switch_on": True, "structured_output": {"schema": schema}}
    result, [sent] = run_node(node, [THOUGHT, Text(text='{"pages": 300}')])
    assert result.outputs["structured_output"] == {"pages": 300}
    assert result.outputs["text"] == '{"pages": 300}'
    text_format = sent["text"]["format"]
    assert (text_format["schema"], text_format["name"]) == (schema, "llm_response")
    # OpenAI refuses a strict schema with an optional property.
    assert not text_format["strict"]


@pytest.mark.parametrize("mode", ["function_call", "prompt"])
def test_a_parameter_extractor_finds_the_parameters(run_node, mode):
    node = {
        "type": "parameter-extractor",
        "query": ["start", "query"],
        "reasoning_mode": mode,
        "parameters": [
            {"name": "what", "type": "string", "description": "Of what?", "required": True}
        ],
    }
    call = FunctionCall(name="extract_parameters", arguments={"what": "the book"})
    answer = call if mode == "function_call" else Text(text='{"what": "the book"}')
    result, _ = run_node(node, [THOUGHT, answer])
    assert result.outputs["what"] == "the book"
    assert result.outputs["__is_success"]


def test_a_question_classifier_finds_the_class(run_node):
    node = {
        "type": "question-classifier",
        "query_variable_selector": ["start", "query"],
        "classes": [{"id": "1", "name": "Books"}, {"id": "2", "name": "Music"}],
    }
    answer = json.dumps({"category_id": "1", "category_name": "Books"})
    result, _ = run_node(node, [THOUGHT, Text(text=answer)])
    assert result.outputs["class_name"] == "Books"
