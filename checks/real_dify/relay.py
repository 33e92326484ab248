"""What graphon takes for `slim`: hands each call on to the daemon that the environment names, and its frames back.

The real `slim` is a program of the daemon's, and names a plugin by its unique identifier; this one names it by its id,
as Dify does. As Dify does, too, it reads a structured answer out of the text, which graphon leaves to whoever calls the
model.

Source: `pkg/slim` of langgenius/dify-plugin-daemon at bdb5642a, and `core/llm_generator/output_parser/structured_output.py` of
langgenius/dify at 02b5705b. It is started for every call, and so imports little.
"""

import argparse
import json
import os
import sys
import urllib.request
from collections.abc import Iterator
from typing import Any


_PATHS = {
    "invoke_llm": "llm/invoke",
    "get_llm_num_tokens": "llm/num_tokens",
    "get_ai_model_schemas": "model/schema",
}


def main() -> None:
    """Make the call that the arguments and standard input describe."""
    parser = argparse.ArgumentParser()
    parser.add_argument("-id", dest="identifier", required=True)
    parser.add_argument("-action", choices=_PATHS, required=True)
    given = parser.parse_args()
    body = json.load(sys.stdin)
    frames = list(_dispatch(given.identifier.partition(":")[0], _PATHS[given.action], body["data"]))
    for frame in frames:
        _write("chunk", frame)
    if "json_schema" in body["data"].get("model_parameters", {}):
        _write("chunk", _with_structured_output(frames))
    _write("done", None)


def _dispatch(plugin: str, path: str, data: object) -> Iterator[dict[str, Any]]:
    request = urllib.request.Request(
        f"{os.environ['SLIM_DAEMON_ADDR']}/plugin/tenant/dispatch/{path}",
        json.dumps({"user_id": "user", "data": data}).encode(),
        {
            "X-Api-Key": os.environ["SLIM_DAEMON_KEY"],
            "X-Plugin-ID": plugin,
            "Content-Type": "application/json",
        },
    )
    with urllib.request.urlopen(request) as answer:
        for line in answer:
            if line.startswith(b"data: "):
                yield json.loads(line.removeprefix(b"data: "))


def _with_structured_output(frames: list[dict[str, Any]]) -> dict[str, Any]:
    import json_repair  # it alone takes longer than the rest

    messages = [frame["data"]["delta"]["message"] for frame in frames]
    value = json_repair.loads("".join(_text(message["content"]) for message in messages))
    empty = {"role": "assistant", "content": "", "tool_calls": []}
    chunk = {**frames[-1]["data"], "delta": {"index": 0, "message": empty}}
    return {"code": 0, "data": {**chunk, "structured_output": value}}


def _text(content: str | list[dict[str, Any]]) -> str:
    return content if isinstance(content, str) else "".join(part["data"] for part in content)


def _write(event: str, data: object) -> None:
    sys.stdout.write(json.dumps({"event": event, "data": data}) + "\n")


if __name__ == "__main__":
    main()
