"""Answers of a model and tools from a logged run, which are repeated before the model and the tools are asked anew."""

import json
from collections import defaultdict, deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from dify_plugin_host._errors import BackwardsError
from dify_plugin_packager.json_access import JsonObject, objects_at
from run_log import Record, RunFile

from .llm_chunks import build_chunk, build_tool_call, build_usage


class RecordedAnswers:
    """The answers of the first rounds of a run, each of which is given once.

    Args:
        path: The run's file.
        rounds: The number of model calls that are answered from it.

    Raises:
        RunLogError: If the file cannot be read.
    """

    def __init__(self, path: Path, *, rounds: int) -> None:
        self._file = RunFile(path)
        self._answers: deque[list[JsonObject]] = deque()
        self._results: dict[str, deque[Record]] = defaultdict(deque)
        self._texts: list[str] = []
        index = 0
        names: dict[str, str] = {}
        for record in self._file.iter_records():
            index += record["type"] == "request"
            if index > rounds:
                break
            self._take(record, names)

    @property
    def is_over(self) -> bool:
        """Whether all recorded model calls have been answered."""
        return not self._answers

    def next_answer(self, model: str) -> list[JsonObject] | None:
        """Return the chunks of the next model call, or None if the model has to be asked."""
        if not self._answers:
            return None
        return [{**chunk, "model": model} for chunk in self._answers.popleft()]

    def find_result(self, name: str, arguments: object) -> Iterator[JsonObject] | None:
        """Return the messages of a tool call, or None if the tool has to be called.

        Args:
            name: The tool.
            arguments: Its arguments.
        """
        found = self._results.get(_key(name, arguments))
        return self._answer(found.popleft()) if found else None

    def _take(self, record: Record, names: dict[str, str]) -> None:
        match record["type"]:
            case "request":
                self._texts = []
            case "delta":
                self._texts.append(self._file.expand(record["text"]))
            case "answer" if not record.get("error"):
                self._answers.append(list(self._chunks(self._file.expand(record))))
            case "call":
                names[record["call_id"]] = self._file.expand(record["name"])
            case "bound":
                arguments = self._file.expand(record["arguments"])
                name = self._file.expand(record.get("tool")) or names.get(record["call_id"], "")
                shown = {name: value for name, value in arguments.items() if value != "[hidden]"}
                names[record["call_id"]] = _key(name, shown)
            # With any other outcome the tool gave no answer.
            case "result" if record["outcome"] in {"done", "failed"}:
                self._results[names.get(record["call_id"], "")].append(self._file.expand(record))
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

    def _answer(self, result: Record) -> Iterator[JsonObject]:
        content = result.get("content")
        if result["outcome"] == "failed":
            cause = cast("JsonObject", result.get("cause") or {}).get("message") or content
            raise BackwardsError(str(cause))
        parts: list[Any] = cast("list[Any]", content) if isinstance(content, list) else [content]
        for part in parts:
            yield _message(part)


def _key(name: str, arguments: object) -> str:
    return json.dumps([name, arguments], sort_keys=True, default=str)


def _message(part: Any) -> JsonObject:
    """Return the tool message from which the model reads this part again; for an image with its bytes."""
    if not isinstance(part, dict):
        return {"type": "text", "message": {"text": str(part or "")}, "meta": None}
    fields = cast("JsonObject", part)
    data = fields.get("data") or fields.get("base64_data")
    if isinstance(data, dict):
        data = cast("JsonObject", data).get("$bytes")
    if fields.get("type") == "text" or not isinstance(data, str):
        text = fields.get("text") or fields.get("data") or json.dumps(fields, ensure_ascii=False)
        return {"type": "text", "message": {"text": str(text)}, "meta": None}
    kind = fields.get("mime_type") or f"image/{fields.get('format') or 'png'}"
    return {"type": "blob", "message": {"blob": data}, "meta": {"mime_type": kind}}
