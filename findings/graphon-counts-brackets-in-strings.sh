#!/bin/sh
# Dify's Parameter Extractor gets a model's arguments as JSON. One would expect that it parses them. graphon, which runs it,
# first looks for their end by counting brackets, those inside of strings too, although the arguments are nothing but JSON. A
# compiler's message, half of a template or an interval such as "[0, 1)" in one value empties them all. If the arguments hold an
# inner object it tries on with that, and the node's `name` becomes the name of somebody else. The node ends as `succeeded` each
# time; only `__is_success` and `__reason` in its outputs tell. Brackets that are balanced do no harm, so tests pass.
# Seen on 2026-11-28 with graphon 0.8.0.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
uv venv --quiet --python 3.12 "$dir/venv"
uv pip install --quiet --python "$dir/venv/bin/python" graphon==0.8.0
"$dir/venv/bin/python" - > "$dir/seen" <<'END'
import json
import logging

from graphon.model_runtime.entities.llm_entities import LLMResult, LLMUsage
from graphon.model_runtime.entities.message_entities import AssistantPromptMessage
from graphon.model_runtime.entities.model_entities import AIModelEntity
from graphon.nodes.parameter_extractor import ParameterExtractorNode
from graphon.nodes.parameter_extractor.entities import ParameterExtractorNodeData
from graphon.runtime import InitParams, RuntimeState, VariablePool

logging.disable()
PARAMETERS = {"name": "string", "note": "string", "friends": "array[object]"}
DATA = ParameterExtractorNodeData.model_validate(
    {
        "title": "Extract",
        "type": "parameter-extractor",
        "model": {"provider": "p", "name": "m", "mode": "chat", "completion_params": {}},
        "query": ["start", "text"],
        "parameters": [
            {"name": name, "type": kind, "description": name, "required": True} for name, kind in PARAMETERS.items()
        ],
        "reasoning_mode": "function_call",
    }
)
ANSWERS = (
    {"name": "Ann", "note": "likes [0, 1]", "friends": []},
    {"name": "Ann", "note": "likes [0, 1)", "friends": []},
    {"name": "Ann", "note": "wrote: expected '}' here", "friends": [{"name": "Bob", "note": "likes cats"}]},
)


class Model:
    provider = "p"
    model_name = "m"
    stop = None

    def __init__(self, arguments: str) -> None:
        self.parameters = {}
        self.arguments = arguments

    def get_model_schema(self) -> AIModelEntity:
        return AIModelEntity.model_validate(
            {
                "model": "m",
                "label": {"en_US": "m"},
                "model_type": "llm",
                "fetch_from": "predefined-model",
                "features": ["tool-call"],
                "model_properties": {"mode": "chat", "context_size": 1000},
            }
        )

    def get_llm_num_tokens(self, _: object) -> int:
        return 1

    def invoke_llm(self, **_: object) -> LLMResult:
        call = {"id": "call_1", "type": "function", "function": {"name": "extract_parameters", "arguments": self.arguments}}
        message = AssistantPromptMessage.model_validate({"content": "", "tool_calls": [call]})
        return LLMResult(model="m", prompt_messages=[], message=message, usage=LLMUsage.empty_usage())


class Serializer:
    def serialize(self, **_: object) -> list:
        return []


for answer in ANSWERS:
    pool = VariablePool()
    pool.add(["start", "text"], "About Ann")
    node = ParameterExtractorNode(
        "extract",
        DATA,
        init_params=InitParams(workflow_id="w", graph_config={}, run_context={}, call_depth=0),
        runtime_state=RuntimeState(variable_pool=pool, start_at=0, workflow_id="w"),
        model_instance=Model(json.dumps(answer)),
        prompt_message_serializer=Serializer(),
    )
    node.bind_execution_id("run")
    result = list(node.run())[-1].node_run_result
    print("model:", json.dumps(answer))
    outputs = {name: result.outputs[name] for name in (*PARAMETERS, "__is_success")}
    print(f"  {result.status.value}:", json.dumps(outputs, default=lambda segment: segment.value))
END
cat "$dir/seen"
diff - "$dir/seen" <<'END' || { echo "It is no longer as described." >&2; exit 1; }
model: {"name": "Ann", "note": "likes [0, 1]", "friends": []}
  succeeded: {"name": "Ann", "note": "likes [0, 1]", "friends": [], "__is_success": 1}
model: {"name": "Ann", "note": "likes [0, 1)", "friends": []}
  succeeded: {"name": "", "note": "", "friends": [], "__is_success": 0}
model: {"name": "Ann", "note": "wrote: expected '}' here", "friends": [{"name": "Bob", "note": "likes cats"}]}
  succeeded: {"name": "Bob", "note": "likes cats", "friends": [], "__is_success": 0}
END
