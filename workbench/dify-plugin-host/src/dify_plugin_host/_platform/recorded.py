"""Answers of a model and tools from a logged run, which are repeated before the model and the tools are asked anew."""

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dify_plugin_host._process.session import CallBack
from dify_plugin_packager.json_access import JsonObject, is_list, is_object, object_at, objects_at
from run_log import Record, RunFile

from .answers import KeptAnswers
from .llm_chunks import build_chunk, build_message, build_tool_call, build_usage


class RecordedAnswers(KeptAnswers):
    """The answers of the first rounds of a run, each of which is given once.

    Args:
        path: The run's file.
        rounds: The number of model calls that are answered from it.

    Raises:
        RunLogError: If the file cannot be read.
    """

    def __init__(self, path: Path, *, rounds: int) -> None:
        super().__init__()
        self._file = RunFile(path)
        self._texts: list[str] = []
        self._calls: dict[str, JsonObject] = defaultdict(dict)
        index = 0
        for record in self._file.iter_records():
            index += record["type"] == "request"
            if index > rounds:
                break
            self._take(record)

    def _take(self, record: Record) -> None:
        match record["type"]:
            case "request":
                self._texts = []
            case "delta":
                self._texts.append(self._file.expand(record["text"]))
            case "answer" if not record.get("error"):
                chunks = list(self._chunks(self._file.expand(record)))
                self.keep(CallBack(type="llm", request={}, answers=chunks))
            case "call":
                self._calls[record["call_id"]]["tool"] = self._file.expand(record["name"])
            case "bound":
                call = self._calls[record["call_id"]]
                call["tool"] = self._file.expand(record.get("tool")) or call.get("tool")
                arguments = self._file.expand(record["arguments"]).items()
                call["tool_parameters"] = {
                    name: value for name, value in arguments if value != "[hidden]"
                }
            # With any other outcome the tool gave no answer.
            case "result" if record["outcome"] in {"done", "failed"}:
                call = self._calls[record["call_id"]]
                # A call that was never bound was answered by the run itself.
                if "tool_parameters" in call:
                    self.keep(_answered(call, self._file.expand(record)))
            case _:
                pass

    def _chunks(self, answer: Record) -> Iterator[JsonObject]:
        yield from map(build_chunk, self._texts)
        yield build_chunk(
            "",
            calls=[
                build_tool_call(call.get("call_id"), call.get("name"), call.get("arguments"))
                for call in objects_at(answer, "calls")
            ],
            usage=build_usage(answer.get("usage") or {}),
            reason=answer.get("finish_reason"),
            opaque_body=answer.get("opaque_body"),
        )


def _answered(request: JsonObject, result: Record) -> CallBack:
    content = result.get("content")
    if result["outcome"] == "failed":
        cause = object_at(result, "cause").get("message") or content
        return CallBack(type="tool", request=request, error=str(cause))
    parts = content if is_list(content) else [content]
    return CallBack(type="tool", request=request, answers=[_message(part) for part in parts])


def _message(part: Any) -> JsonObject:
    """Return the tool message from which the model reads this part again; for an image with its bytes."""
    if not is_object(part):
        return build_message("text", {"text": str(part or "")})
    data = part.get("data") or part.get("base64_data")
    if is_object(data):
        data = data.get("$bytes")
    if part.get("type") == "text" or not isinstance(data, str):
        text = part.get("text") or part.get("data") or json.dumps(part, ensure_ascii=False)
        return build_message("text", {"text": str(text)})
    kind = part.get("mime_type") or f"image/{part.get('format') or 'png'}"
    return {**build_message("blob", {"blob": data}), "meta": {"mime_type": kind}}
