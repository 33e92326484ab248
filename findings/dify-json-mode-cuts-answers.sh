#!/bin/sh
# A plugin for Dify may declare a parameter `response_format` with options of its own. One would expect that its value goes to
# `_invoke` like any other. If it is "JSON", the plugin SDK keeps it to itself, adds a system message and Markdown fences among
# the stop words, and takes for the answer what it finds in a fenced block. JSON with a fence in one of its texts, which is what
# an answer with code looks like, loses all from there to the end of the fence: valid JSON arrives broken. "json_object" passes
# untouched. So do not call an option JSON (or XML, which is treated likewise) unless this is wanted.
# Seen on 2026-11-28 with dify-plugin 0.10.2.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
uv venv --quiet --python 3.12 "$dir/venv"
uv pip install --quiet --python "$dir/venv/bin/python" dify-plugin==0.10.2
"$dir/venv/bin/python" - > "$dir/seen" <<'END'
from collections.abc import Iterator

from dify_plugin.entities import I18nObject
from dify_plugin.entities.model import AIModelEntity, FetchFrom, ModelType, ParameterRule, ParameterType
from dify_plugin.entities.model.llm import LLMResultChunk, LLMResultChunkDelta
from dify_plugin.entities.model.message import AssistantPromptMessage, UserPromptMessage
from dify_plugin.interfaces.model.large_language_model import LargeLanguageModel

LABEL = I18nObject(en_US="Format")
SCHEMA = AIModelEntity(
    model="m",
    label=LABEL,
    model_type=ModelType.LLM,
    fetch_from=FetchFrom.PREDEFINED_MODEL,
    model_properties={},
    parameter_rules=[
        ParameterRule(name="response_format", type=ParameterType.STRING, label=LABEL, options=["JSON", "json_object"])
    ],
)
ANSWER = '{"reply": "Run:\\n```\\nls\\n```", "sure": true}'


class Model(LargeLanguageModel):
    def _invoke(
        self, model, credentials, prompt_messages, model_parameters, tools=None, stop=None, stream=True, user=None
    ) -> Iterator[LLMResultChunk]:
        print("  plugin gets", model_parameters, "stop", stop, "roles", [message.role.value for message in prompt_messages])
        message = AssistantPromptMessage(content=ANSWER, tool_calls=[])
        yield LLMResultChunk(model=model, delta=LLMResultChunkDelta(index=0, message=message))

    def get_num_tokens(self, *_: object) -> int:
        return 0

    def validate_credentials(self, *_: object) -> None:
        pass

    @property
    def _invoke_error_mapping(self) -> dict:
        return {}


print("the model says", ANSWER)
for value in ("json_object", "JSON"):
    print(value)
    chunks = Model([SCHEMA]).invoke("m", {}, [UserPromptMessage(content="How?")], {"response_format": value}, stop=["END"])
    print("  Dify gets", "".join(chunk.delta.message.content for chunk in chunks))
END
cat "$dir/seen"
diff - "$dir/seen" <<'END' || { echo "It is no longer as described." >&2; exit 1; }
the model says {"reply": "Run:\n```\nls\n```", "sure": true}
json_object
  plugin gets {'response_format': 'json_object'} stop ['END'] roles ['user']
  Dify gets {"reply": "Run:\n```\nls\n```", "sure": true}
JSON
  plugin gets {} stop ['END', '\n```', '```\n'] roles ['system', 'user']
  Dify gets {"reply": "Run:\n"sure": true}
END
