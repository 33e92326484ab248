"""What the tests write and read."""

import json
import tempfile
from contextlib import contextmanager
from pathlib import Path

from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from run_log import RunFile, RunLog, read_schema


_TEXTS = st.text(alphabet='ab \n"\\{[$\u00e4\U0001f600\ud800', max_size=8)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXTS, inner, max_size=4),
    max_leaves=10,
)
VALIDATOR = Draft202012Validator(read_schema())


@contextmanager
def temporary_log(**settings):
    """Give a log in a folder that goes away again."""
    with tempfile.TemporaryDirectory() as folder:
        yield RunLog(Path(folder) / "runs", **settings)


def read_lines(run):
    """Return the records of a run as a stranger reads them, each of them valid."""
    records = [json.loads(line) for line in run.path.read_bytes().splitlines()]
    for record in records:
        VALIDATOR.validate(record)
    return records


def find(run, kind):
    """Return the records of a type."""
    return [record for record in RunFile(run.path).iter_records() if record["type"] == kind]


def write_everything(run, text="text"):
    """Write a run that has every type of record and every field, a text in all that takes one."""
    run.hide([])
    message = {"role": "user", "content": text, text: [text, {"deep": (text,)}]}
    settings = {"model": text, "tools": [{"name": text, "parameters": {text: {"a": text}}}]}
    run.request(1, [message, text], settings, is_closing=True, wait_seconds=1.5, left_out=2)
    for piece in (text[: len(text) // 2], text[len(text) // 2 :], f" and {text}", " etc. etc."):
        run.delta(1, piece, phase=text)
    run.answer(
        1,
        calls=[{"call_id": text, "name": text, "arguments": json.dumps({"a": text})}],
        usage={"input_tokens": 3, "currency": text},
        finish_reason=text,
        opaque_body={"responses_output": [text]},
        files=[{"data": text.encode()}, text],
        error=text,
    )
    run.call(text, text, json.dumps({"b": [text]}))
    run.bound(text, {"b": text, "key": text}, ["key", "other"], tool=text)
    run.started(text)
    run.retry(text, 1, "unfinished", error=text, cause=TimeoutError(text))
    run.started(text)
    run.result(
        text, "failed", [text, {"text": text}], error=text, cause=OSError(text), artifact=[text]
    )
    run.question(1, [{"call_id": text, "name": text, "arguments": json.dumps({"a": text})}])
    run.decision(text, is_approved=False, by=text, reason=text)
    run.guardrail(text, "stopped", checked="tool_call", reason=text, call_id=text)
    run.budgets({"max_total_tokens": (3, 10)})
    run.request(2, [message, "sum it up"], {}, is_compaction=True)
    run.delta(2, f"a summary of {text}")
    figures = {"replaced": 1, "reasoning_dropped": 1, "tokens_before": 9, "tokens_after": 3}
    run.compaction(2, "dropped", **figures, usage={"input_tokens": 3}, error=text)
    run.request(2, [message, "other"], {"tool_choice": text})
    run.answer(2)
    run.error(ValueError(text))
    run.error(text)
    run.end(text, rounds=2, usage={"input_tokens": 3}, error=text, budget=text)
