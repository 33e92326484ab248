"""What an operator can set by environment variable."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from model_plugin import PLUGIN


READ = """
import dify_plugin, json
from model_adapter import make_pacer

def read(value):
    pacer = make_pacer({"OPENAI_GPT5_CHUNK_WINDOW_SECONDS": value, "OPENAI_GPT5_KEEP_ALIVE_SECONDS": value})
    return [pacer.window_seconds, pacer.keep_alive_seconds]

print(json.dumps([read(value) for value in ("", "0.2", "0", "-1", "1000", "soon", "nan", "inf")]))
"""
MANUAL = PLUGIN.parents[1] / "docs/plugins/openai-gpt5-responses.md"
VARIABLES = (
    "DIFY_BACKWARDS_INVOCATION_READ_TIMEOUT",
    "MAX_INVOCATION_TIMEOUT",
    "MAX_REQUEST_TIMEOUT",
    "OPENAI_GPT5_ALLOWED_BASE_URL_HOSTS",
    "OPENAI_GPT5_AUDIT_LOG",
    "OPENAI_GPT5_AUDIT_LOG_JSON",
    "OPENAI_GPT5_BACKGROUND_SECONDS",
    "OPENAI_GPT5_CHUNK_WINDOW_SECONDS",
    "OPENAI_GPT5_KEEP_ALIVE_SECONDS",
    "OPENAI_GPT5_LOG_TOOL_CONTENT",
    "OPENAI_GPT5_TOTAL_TIMEOUT_SECONDS",
    "PLUGIN_MAX_EXECUTION_TIMEOUT",
)


def test_settings_are_brought_within_their_ranges(run_inside: Callable[..., Any]) -> None:
    empty, plain, zero, negative, high, word, nan, infinite = run_inside(READ)

    assert empty == word == nan == [0.05, 15]
    assert plain == [0.2, 0.2]
    assert zero == negative == [0, 0.01]
    assert high == infinite == [1, 200]


@pytest.mark.parametrize("variable", VARIABLES)
def test_every_variable_is_explained(variable: str) -> None:
    assert f"| `{variable}` |" in MANUAL.read_text(encoding="utf-8")


def test_no_other_variable_of_ours_is_read() -> None:
    sources = [path.read_text(encoding="utf-8") for path in PLUGIN.glob("model_adapter/*.py")]
    named = set(re.findall(r"\bOPENAI_GPT5_[A-Z_]+", "".join(sources)))

    assert named <= set(VARIABLES)
