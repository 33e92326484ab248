"""The spans of one run."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from opentelemetry import context, trace
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer

from run_log import Record, from_plain

from . import _names as names
from ._messages import definitions, input_messages, output_messages, to_json


_NANOSECONDS = 1_000_000_000
_FAILED = ("failed", "refused", "unfinished")


class RunSpans:
    """One run as spans, which begin and end as its records come.

    Args:
        tracer: The tracer that makes spans.
        start: The run's first record.
        parent: The context that the run is below; the current one if None.
        content: Whether texts are sent.
    """

    def __init__(
        self, tracer: Tracer, start: Record, parent: context.Context | None, *, content: bool
    ) -> None:
        self._tracer = tracer
        self._content = content
        self._texts: dict[str, str] = {}
        # A record has only seconds since the run began, and spans want the time of day.
        began = datetime.fromisoformat(start["time"]).timestamp() - start["t"]
        self._began = int(began * _NANOSECONDS)
        about: Mapping[str, Any] = start["about"]
        self._model = self._text(about.get("model"))
        self._provider = _provider(about)
        self._prefix = f"{about.get('provider')}/"
        name = self._text(about.get("agent") or about.get("program") or about.get("plugin"))
        self._messages: list[object] = []
        self._settings: dict[str, Any] = {}
        self._answer: list[str] = []
        self._calls: dict[str, Record] = {}
        self._open: dict[str, Span] = {}
        self._left: dict[str, str] = {}  # the calls of the last answer that have not begun
        self._chat: Span | None = None
        self._asked = 0.0
        self._root = self._begin(
            names.AGENT,
            name,
            start["t"],
            parent,
            {
                names.PROVIDER: self._provider,
                names.AGENT_NAME: name,
                names.CONVERSATION: self._text(about.get("conversation")),
                names.MODEL: self._model,
                names.RUN: start["run"],
                **{key: self._text(about.get(told)) for told, key in names.SERVER.items()},
                names.RESUMES: self._text(start.get("resumes")),
            },
        )

    def context_of(self, call_id: str) -> context.Context:
        """Return the context for spans below a tool call, or below the agent if that call does not run."""
        return trace.set_span_in_context(self._open.get(call_id, self._root))

    def take(self, record: Record) -> None:
        """Take the next record."""
        match record["type"]:
            case "long_text" if self._content and "text" in record:
                self._texts[record["digest"]] = record["text"]
            case "request":
                self._take_request(record)
            case "delta" if self._content:
                self._answer.append(self._text(record["text"]))
            case "answer":
                self._take_answer(record)
            case "call" | "bound" | "started" | "retry" | "result":
                self._take_call(record)
            case "compaction":
                self._take_compaction(record)
            case "error":
                self._fail(self._root, self._text(record["kind"]) or "error", record["message"])
            case "end":
                self._take_end(record)
            case _:
                pass

    def _take_request(self, record: Record) -> None:
        settings = {**self._settings, **record.get("set", {})}
        self._settings = {k: v for k, v in settings.items() if k not in record.get("unset", ())}
        self._asked = record["t"]
        self._answer.clear()
        model = self._text(self._settings.get("model")) or self._model
        model = model.removeprefix(self._prefix)  # it stands in an attribute of its own
        tools = definitions(self._expand(self._settings.get("tools")), whole=self._content)
        more: dict[str, Any] = {names.PROVIDER: self._provider, names.MODEL: model}
        if tools:
            more[names.TOOL_DEFINITIONS] = to_json(tools)
            self._root.set_attribute(names.TOOL_DEFINITIONS, to_json(tools))
        if self._content:
            self._messages = [*self._messages[: record["kept"]], *self._expand(record["added"])]
            more[names.INPUT] = to_json(input_messages(self._messages))
        self._chat = self._begin(names.CHAT, model, record["t"], self._below(), more)

    def _take_answer(self, record: Record) -> None:
        span, self._chat = self._chat, None
        if span is None:
            return
        _set_usage(span, record.get("usage"))
        calls: list[Record] = [call for call in record.get("calls", []) if isinstance(call, dict)]
        self._left = {_key(call): self._text(call.get("name")) for call in calls}
        if "first" in record:
            span.set_attribute(names.FIRST_CHUNK, round(record["first"] - self._asked, 6))
        if "finish_reason" in record:
            span.set_attribute(names.FINISH_REASONS, [self._text(record["finish_reason"])])
        if self._content:
            calls = self._expand(record.get("calls", []))
            said = output_messages("".join(self._answer), calls, record.get("finish_reason"))
            span.set_attribute(names.OUTPUT, to_json(said))
        if "error" in record:
            self._fail(span, "model_call_failed", record["error"])
        span.end(self._at(record["t"]))

    def _take_call(self, record: Record) -> None:
        call_id = _key(record)
        match record["type"]:
            case "call":
                self._calls[call_id] = dict(record)
                self._left.pop(call_id, None)
            case "bound" if "tool" in record and call_id in self._calls:
                self._calls[call_id] |= {"name": record["tool"]}
            case "started":
                self._begin_tool(call_id, record["t"])
            case "retry" if call_id in self._open:
                self._take_outcome(self._open.pop(call_id), record)
            case "result":
                self._take_result(record)
            case _:
                pass

    def _begin_tool(self, call_id: str, at: float) -> Span:
        call = self._calls.get(call_id, {})
        name = self._text(call.get("name"))
        more: dict[str, Any] = {
            names.TOOL_NAME: name,
            names.TOOL_TYPE: "function",
            names.CALL_ID: call_id,
        }
        if self._content and call:
            more[names.ARGUMENTS] = self._text(call["arguments"])
        span = self._begin(names.TOOL, name, at, self._below(), more)
        self._open[call_id] = span
        return span

    def _take_result(self, record: Record) -> None:
        call_id = _key(record)
        # A call that was refused or recalled has never started: its span begins where it was written.
        begun = self._calls.get(call_id, record)["t"]
        span = self._open.get(call_id) or self._begin_tool(call_id, begun)
        del self._open[call_id]
        self._calls.pop(call_id, None)
        if self._content:
            content = self._expand(record.get("content"))
            text = content if isinstance(content, str) else to_json(content)
            span.set_attribute(names.RESULT, text)
        self._take_outcome(span, record)

    def _take_outcome(self, span: Span, record: Record) -> None:
        """End the span of a tool, which may be called again by another."""
        outcome = record["outcome"]
        span.set_attribute(names.OUTCOME, outcome)
        if outcome in _FAILED:
            cause: Mapping[str, Any] = record.get("cause", {})
            self._fail(span, self._text(cause.get("kind")) or outcome, record.get("error"))
        span.end(self._at(record["t"]))

    def _take_compaction(self, record: Record) -> None:
        """Note that the run was compacted; the model call for a summary is a span like any other."""
        fields = ("kind", "replaced", "tokens_before", "tokens_after")
        attributes = {f"{names.COMPACTION}.{field}": record[field] for field in fields}
        self._root.add_event(names.COMPACTION, attributes, self._at(record["t"]))

    def _take_end(self, record: Record) -> None:
        reason = self._text(record["reason"])
        self._root.set_attribute(names.REASON, reason)
        _set_usage(self._root, record.get("usage"))
        if reason == "approval":
            self._root.set_attribute(names.WAITING, list(self._left.values()))
        if "error" in record:
            self._fail(self._root, reason, record["error"])
        # The run was broken off while they ran. A span that nobody ends is never sent.
        for span in (*self._open.values(), self._chat):
            if span is not None:
                self._fail(span, "unfinished", None)
                span.end(self._at(record["t"]))
        self._root.end(self._at(record["t"]))

    def _begin(
        self,
        operation: str,
        name: str,
        at: float,
        below: context.Context | None,
        more: Mapping[str, Any],
    ) -> Span:
        given = {key: value for key, value in more.items() if value}  # an attribute may not be None
        return self._tracer.start_span(
            f"{operation} {name}".strip(),
            context=below,
            kind=SpanKind.CLIENT if operation == names.CHAT else SpanKind.INTERNAL,
            attributes={names.OPERATION: operation, **given},
            start_time=self._at(at),
        )

    def _below(self) -> context.Context:
        return trace.set_span_in_context(self._root)

    def _fail(self, span: Span, kind: str, message: object) -> None:
        """Mark a span as failed. The message may quote a text, so it is sent only where texts are."""
        span.set_attribute(names.ERROR_TYPE, kind)
        description = self._text(message) if self._content else None
        span.set_status(StatusCode.ERROR, description or None)

    def _at(self, seconds: float) -> int:
        return self._began + int(seconds * _NANOSECONDS)

    def _expand(self, value: Any) -> Any:
        """Return a value with its long texts in their places."""
        return from_plain(value, lambda digest: self._texts.get(digest, ""))

    def _text(self, value: Any) -> str:
        found = self._expand(value)
        return "" if found is None else str(found)


def _set_usage(span: Span, usage: Mapping[str, Any] | None) -> None:
    found = usage or {}
    for field, name in names.USAGE.items():
        if found.get(field):
            span.set_attribute(name, found[field])
    if found.get("total_price"):
        span.set_attribute(names.PRICE, float(found["total_price"]))
        span.set_attribute(names.CURRENCY, str(found.get("currency", "")))


def _provider(about: Mapping[str, Any]) -> str:
    """Return the provider of the model, by the name in the conventions if they have one."""
    provider = str(about.get("provider") or "").lower()
    words = {"azure": "azure.ai.openai", "bedrock": "aws.bedrock", "anthropic": "anthropic"}
    for word, name in words.items():
        if word in provider:
            return name
    return "openai" if not provider or "openai" in provider else provider.rpartition("/")[2]


def _key(record: Record) -> str:
    """Return a call's id; a very long one is known by its digest."""
    call_id = record.get("call_id")
    return call_id if isinstance(call_id, str) else to_json(call_id)
