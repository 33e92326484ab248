#!/bin/sh
# An LLM node of Dify with structured output checks the model's answer by the node's JSON Schema. One would expect the rules of a
# current draft, which pydantic and OpenAI's examples write, or those of the draft that `$schema` names. graphon reads every schema as Draft 7,
# whatever it names, and passes over words that came later: a pair of a text and a number written with `prefixItems` may be anything, a
# `dependentRequired` requires nothing, `unevaluatedProperties: false` lets everything in, and a `$ref` beside other words hides those.
# Formats are never looked at, so "soon" is a date. Nodes behind it get what nobody has checked; check it again there.
# Seen on 2026-11-28 with graphon 0.8.0.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
uv venv --quiet --python 3.12 "$dir/venv"
uv pip install --quiet --python "$dir/venv/bin/python" graphon==0.8.0 jsonschema==4.26.0
"$dir/venv/bin/python" - > "$dir/seen" <<'END'
from unittest.mock import Mock

from graphon.model_runtime.entities.llm_entities import LLMResultChunkDelta, LLMResultChunkWithStructuredOutput
from graphon.model_runtime.entities.message_entities import AssistantPromptMessage
from graphon.nodes.llm.exc import LLMNodeError
from graphon.nodes.llm.node import LLMNode
from jsonschema import Draft202012Validator

NEWEST = "https://json-schema.org/draft/2020-12/schema"
CASES = {
    "type": ({"properties": {"a": {"type": "string"}}}, {"a": 1}),
    "prefixItems": ({"properties": {"a": {"prefixItems": [{"type": "string"}, {"type": "number"}]}}}, {"a": [1, "one"]}),
    "dependentRequired": ({"dependentRequired": {"card": ["holder"]}}, {"card": "4242"}),
    "unevaluatedProperties": ({"properties": {"a": {}}, "unevaluatedProperties": False}, {"b": 1}),
    "minContains": ({"properties": {"a": {"contains": {"const": 1}, "minContains": 2}}}, {"a": [1]}),
    "beside $ref": ({"$defs": {"n": {}}, "properties": {"a": {"$ref": "#/$defs/n", "type": "string"}}}, {"a": 1}),
    "format": ({"properties": {"a": {"type": "string", "format": "date"}}}, {"a": "soon"}),
}


def refuses(schema: dict, answer: dict) -> bool:
    def chunks():
        delta = LLMResultChunkDelta(index=0, message=AssistantPromptMessage(content=""))
        yield LLMResultChunkWithStructuredOutput(model="m", delta=delta, structured_output=answer)

    events = LLMNode.handle_invoke_result(
        invoke_result=chunks(), file_saver=Mock(), file_outputs=[], node_id="llm", model_instance=Mock(), json_schema=schema
    )
    try:
        list(events)
    except LLMNodeError:
        return True
    return False


for name, (rest, answer) in CASES.items():
    schema = {"$schema": NEWEST, "type": "object", **rest}
    newest = Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER).is_valid(answer)
    print(f"{name}: refused by 2020-12 {not newest}, by graphon {refuses(schema, answer)}")
END
cat "$dir/seen"
diff - "$dir/seen" <<'END' || { echo "It is no longer as described." >&2; exit 1; }
type: refused by 2020-12 True, by graphon True
prefixItems: refused by 2020-12 True, by graphon False
dependentRequired: refused by 2020-12 True, by graphon False
unevaluatedProperties: refused by 2020-12 True, by graphon False
minContains: refused by 2020-12 True, by graphon False
beside $ref: refused by 2020-12 True, by graphon False
format: refused by 2020-12 True, by graphon False
END
