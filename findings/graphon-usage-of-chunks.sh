#!/bin/sh
# A model plugin of Dify may send its usage with more than one chunk, say once after the prompt and again at the end, as several
# model APIs do. One would expect that the last count holds, or their sum. In a streamed call graphon's LLM node keeps the first chunk
# that counts prompt tokens, so the tokens of the answer and their price are lost; in a blocking call it keeps the last chunk's,
# even where that one counts nothing. Where usages are added, as over the rounds of an agent, one with a price and no tokens (a search, an image)
# is dropped if it stands first and counted if it stands second, and dollars and yuan are summed under the name of the last.
# So a plugin sends usage with its last chunk only, whole, and with its tokens.
# Seen on 2026-11-28 with graphon 0.8.0.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
uv venv --quiet --python 3.12 "$dir/venv"
uv pip install --quiet --python "$dir/venv/bin/python" graphon==0.8.0
"$dir/venv/bin/python" - > "$dir/seen" <<'END'
from unittest.mock import Mock

from graphon.model_runtime.entities.llm_entities import LLMResultChunk, LLMResultChunkDelta, LLMUsage
from graphon.model_runtime.entities.message_entities import AssistantPromptMessage
from graphon.model_runtime.model_providers.base.large_language_model import normalize_non_stream_runtime_result
from graphon.node_events import ModelInvokeCompletedEvent
from graphon.nodes.llm.node import LLMNode


def usage(prompt: int, completion: int, price: str, currency: str = "USD") -> LLMUsage:
    return LLMUsage.from_metadata(
        {"prompt_tokens": prompt, "completion_tokens": completion, "total_price": price, "currency": currency}
    )


def chunks(*usages: LLMUsage):
    for index, count in enumerate(usages):
        message = AssistantPromptMessage(content="Hi")
        yield LLMResultChunk(model="m", delta=LLMResultChunkDelta(index=index, message=message, usage=count))


def tell(name: str, count: LLMUsage) -> None:
    print(f"{name}: {count.prompt_tokens} + {count.completion_tokens} tokens, {count.total_price} {count.currency}")


def stream(*usages: LLMUsage) -> LLMUsage:
    events = LLMNode.handle_invoke_result(
        invoke_result=chunks(*usages),
        file_saver=Mock(),
        file_outputs=[],
        node_id="llm",
        model_instance=Mock(),
    )
    return next(event.usage for event in events if isinstance(event, ModelInvokeCompletedEvent))


begin, end, nothing = usage(100, 0, "0.01"), usage(100, 400, "0.05"), usage(0, 0, "0")
tell("streamed, counted twice", stream(begin, end))
tell("blocking, counted twice", normalize_non_stream_runtime_result("m", [], chunks(begin, end)).usage)
tell("streamed, last chunk counts nothing", stream(end, nothing))
tell("blocking, last chunk counts nothing", normalize_non_stream_runtime_result("m", [], chunks(end, nothing)).usage)
search = usage(0, 0, "0.03")
tell("a search, then an answer", search + end)
tell("an answer, then a search", end + search)
tell("dollars, then yuan", end + usage(100, 400, "0.36", "RMB"))
END
cat "$dir/seen"
diff - "$dir/seen" <<'END' || { echo "It is no longer as described." >&2; exit 1; }
streamed, counted twice: 100 + 0 tokens, 0.01 USD
blocking, counted twice: 100 + 400 tokens, 0.05 USD
streamed, last chunk counts nothing: 100 + 400 tokens, 0.05 USD
blocking, last chunk counts nothing: 0 + 0 tokens, 0 USD
a search, then an answer: 100 + 400 tokens, 0.05 USD
an answer, then a search: 100 + 400 tokens, 0.08 USD
dollars, then yuan: 200 + 800 tokens, 0.41 RMB
END
