#!/bin/sh
# Dify's plugin SDK gives an assistant's message an `opaque_body`, where a model plugin keeps what it needs again in the next
# round, such as encrypted reasoning. The message's class in graphon, through which Dify reads every chunk of a plugin, has the
# same name and the same fields but this one. One would expect that it refuses or keeps the field: it takes the chunk and the
# field is gone, for messages and for parts of them. So a plugin cannot rely on it, tests that use the SDK alone do not
# show it, and a plugin that replays reasoning has to remember it in its own process or storage.
# Seen on 2026-11-28 with dify-plugin 0.10.2 and graphon 0.8.0.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for package in dify-plugin==0.10.2 graphon==0.8.0; do
  uv venv --quiet --python 3.12 "$dir/$package"
  uv pip install --quiet --python "$dir/$package/bin/python" "$package"
done
"$dir/dify-plugin==0.10.2/bin/python" - > "$dir/chunk" <<'END'
from dify_plugin.entities.model.llm import LLMResultChunk, LLMResultChunkDelta
from dify_plugin.entities.model.message import AssistantPromptMessage, TextPromptMessageContent

part = TextPromptMessageContent(data="Sunny.", opaque_body={"id": "msg_1"})
message = AssistantPromptMessage(content=[part], tool_calls=[], opaque_body={"encrypted_content": "gAAA"})
print(LLMResultChunk(model="m", delta=LLMResultChunkDelta(index=0, message=message)).model_dump_json())
END
"$dir/graphon==0.8.0/bin/python" - "$dir/chunk" > "$dir/seen" <<'END'
import json
import sys
from pathlib import Path

from graphon.model_runtime.entities.llm_entities import LLMResultChunk

sent = Path(sys.argv[1]).read_text(encoding="utf-8")
read = LLMResultChunk.model_validate_json(sent).model_dump_json()
for name, text in (("sent", sent), ("read", read)):
    message = json.loads(text)["delta"]["message"]
    print(name, "message", message.get("opaque_body"), "part", message["content"][0].get("opaque_body"))
END
cat "$dir/seen"
diff - "$dir/seen" <<'END' || { echo "It is no longer as described." >&2; exit 1; }
sent message {'encrypted_content': 'gAAA'} part {'id': 'msg_1'}
read message None part None
END
