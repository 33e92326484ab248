#!/bin/sh
# A model plugin for Dify says in `_invoke_error_mapping` which exceptions are rate limits, wrong keys or bad requests; Dify
# knows only those names. One would expect that the map holds for every error of a call. It holds until `_invoke` returns. What
# it returns for a stream is a generator, of which nothing has run by then, so where the request is made inside it no error
# of a streamed call is mapped: Dify gets the raw class. Map errors inside the generator, or make the request before it.
# Seen on 2026-11-28 with dify-plugin 0.10.2.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
uv venv --quiet --python 3.12 "$dir/venv"
uv pip install --quiet --python "$dir/venv/bin/python" dify-plugin==0.10.2
mkdir -p "$dir/models/llm"
cat > "$dir/models/llm/llm.py" <<'END'
from collections.abc import Iterator

from dify_plugin.entities.model.llm import LLMResultChunk
from dify_plugin.errors.model import InvokeRateLimitError
from dify_plugin.interfaces.model.large_language_model import LargeLanguageModel


class TooManyRequests(Exception):
    pass


class Model(LargeLanguageModel):
    def _invoke(
        self, model, credentials, prompt_messages, model_parameters, tools=None, stop=None, stream=True, user=None
    ) -> Iterator[LLMResultChunk]:
        if model == "request-first":
            self.request()
        return self.stream()

    def stream(self) -> Iterator[LLMResultChunk]:
        self.request()
        yield from ()

    def request(self) -> None:
        raise TooManyRequests("slow down")

    def get_num_tokens(self, *_: object) -> int:
        return 0

    def validate_credentials(self, *_: object) -> None:
        pass

    @property
    def _invoke_error_mapping(self) -> dict:
        return {InvokeRateLimitError: [TooManyRequests]}
END
cat > "$dir/main.py" <<'END'
from dify_plugin.entities.model.message import UserPromptMessage
from models.llm.llm import Model

for model in ("request-first", "request-in-generator"):
    try:
        list(Model([]).invoke(model, {}, [UserPromptMessage(content="Hi")]))
    except Exception as error:
        print(f"{model}: {type(error).__name__}")
END
"$dir/venv/bin/python" "$dir/main.py" > "$dir/seen"
cat "$dir/seen"
diff - "$dir/seen" <<'END' || { echo "It is no longer as described." >&2; exit 1; }
request-first: InvokeRateLimitError
request-in-generator: TooManyRequests
END
