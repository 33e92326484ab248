#!/bin/sh
# In Dify's workflows a completion parameter of a model may come from a variable. One would expect that a text variable arrives
# as its text. graphon, Dify's workflow runtime, cuts it at 1,024 characters, with no more than a line in its log: a JSON schema is
# broken in the middle. What then reads as a JSON number or boolean becomes one: a user's number 4711 an integer, 1e3 the float
# 1000.0, while 00815 stays a text. A boolean becomes the text "True". So parameters such as `json_schema`, `safety_identifier`
# and `prompt_cache_key` need a plugin that takes other types than it declared, and schemas have to be short.
# Seen on 2026-11-28 with graphon 0.8.0.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
uv venv --quiet --python 3.12 "$dir/venv"
uv pip install --quiet --python "$dir/venv/bin/python" graphon==0.8.0
"$dir/venv/bin/python" - > "$dir/seen" <<'END'
import json

from graphon.nodes.llm.llm_utils import resolve_completion_params_variables
from graphon.runtime import VariablePool

SCHEMA = json.dumps({"type": "object", "properties": {f"field_{n}": {"type": "string"} for n in range(50)}})
VALUES = {"schema": SCHEMA, "customer": "4711", "order": "1e3", "article": "00815", "answer": "true", "known": True}

pool = VariablePool()
for name, value in VALUES.items():
    pool.add(["start", name], value)
resolved = resolve_completion_params_variables({name: "{{#start." + name + "#}}" for name in VALUES}, pool)
schema = resolved.pop("schema")
print("schema:", len(SCHEMA), "characters become", len(schema))
try:
    json.loads(schema)
except ValueError:
    print("schema: no longer JSON")
for name, value in resolved.items():
    print(f"{name}: {VALUES[name]!r} becomes {value!r}")
END
cat "$dir/seen"
diff - "$dir/seen" <<'END' || { echo "It is no longer as described." >&2; exit 1; }
schema: 1624 characters become 1024
schema: no longer JSON
customer: '4711' becomes 4711
order: '1e3' becomes 1000.0
article: '00815' becomes '00815'
answer: 'true' becomes True
known: True becomes 'True'
END
