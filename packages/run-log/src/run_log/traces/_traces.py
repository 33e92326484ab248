"""The spans of runs, made from their records."""

import os
import threading
import time
from collections.abc import Mapping
from typing import Self

from opentelemetry import context, trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from run_log import Record
from stream_text import is_object

from ._run_spans import RunSpans


_PARENTS = TraceContextTextMapPropagator()
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


def build_provider(service: str, *, shutdown_on_exit: bool = True) -> TracerProvider:
    """Return a provider that sends spans over OTLP (HTTP) to where the `OTEL_EXPORTER_OTLP_…` variables say.

    The default is port 4318 of this machine.

    Args:
        service: The service's name, if `OTEL_SERVICE_NAME` gives none.
        shutdown_on_exit: Whether the process sends what is left at its end, which may take it half a minute if nobody is there.
    """
    name = os.environ.get("OTEL_SERVICE_NAME") or service
    resource = Resource.create({SERVICE_NAME: name})
    provider = TracerProvider(resource=resource, shutdown_on_exit=shutdown_on_exit)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


class Traces:
    """The spans of runs, by OpenTelemetry's conventions for generative AI.

    One for the agent, below it one for each model call and each tool call.

    It is an observer of a `RunLog`, or takes the records of a run that was logged before. Secrets are taken out and
    hidden parameters masked, as in the log. The span of an agent that is called as a tool is below that call.

    Args:
        provider: The provider that spans go to; the one that the program has set, if None.
        content: Whether messages, arguments, results and whole definitions of tools are sent. Numbers, names and kinds of errors always are.

    Example:
        >>> import tempfile
        >>> from opentelemetry.sdk.trace import TracerProvider
        >>> from run_log import RunLog
        >>> log = RunLog(tempfile.mkdtemp(), observers=[Traces(TracerProvider())])
        >>> with log.begin({"agent": "clerk"}) as run:
        ...     run.request(1, [{"role": "user", "content": "2 + 2?"}], {"model": "gpt-5.5"})
        ...     run.end("answered")

    Source: https://github.com/open-telemetry/semantic-conventions-genai, read 2026-11-23.
    """

    def __init__(
        self, provider: trace.TracerProvider | None = None, *, content: bool = False
    ) -> None:
        self._provider = provider
        self._tracer = trace.get_tracer("gpt5-run-log", tracer_provider=provider)
        self._content = content
        self._runs: dict[str, RunSpans] = {}
        self._lock = threading.Lock()
        self._sending: _Sending | None = None

    @classmethod
    def from_env(
        cls, environ: Mapping[str, str], *, service: str, content: bool = False
    ) -> Self | None:
        """Make traces that are sent over OTLP (HTTP) to the address in `OTEL_EXPORTER_OTLP_ENDPOINT`; None if there is none.

        The official exporter reads the rest of its settings, such as headers and timeouts, from the process's environment.

        Args:
            environ: The environment to look for the address in.
            service: The service's name, unless `OTEL_SERVICE_NAME` gives another.
            content: As for the traces themselves.
        """
        if not any(environ.get(name) for name in _ENDPOINTS):
            return None
        name = environ.get("OTEL_SERVICE_NAME") or service
        return cls(build_provider(name), content=content)

    def flush(self, seconds: float) -> bool:
        """Send the pending spans in a thread, wait up to so many seconds, and return whether all were sent by then.

        Call it at the end of a run if the process may not outlive it. If the last sending took longer than that, as to
        a collector that is gone or hangs, this one is not waited for: one run waits in vain, and those after it do not.
        A provider that the program has set is the program's to flush.

        Args:
            seconds: How long to wait at most, from 0.
        """
        if not isinstance(self._provider, TracerProvider):
            return True
        with self._lock:
            before = self._sending
            # One thread at a time, or a collector that hangs would pile them up. It sends once more.
            if before is not None and not before.is_over.is_set():
                before.has_more = True
                return False
            sending = self._sending = _Sending(self._provider)
        is_worth_it = before is None or before.took <= seconds
        # A daemon thread, which does not keep a process alive that wants to end.
        threading.Thread(target=sending.run, args=(self._lock,), daemon=True).start()
        return sending.is_over.wait(seconds if is_worth_it else 0)

    def take(self, run: str, record: Record) -> None:
        """Take the next record of a run.

        Args:
            run: The run's name.
            record: The record, as it is in the log.
        """
        with self._lock:
            if record["type"] == "start":
                parent = self._find_parent(record["about"])
                self._runs[run] = RunSpans(self._tracer, record, parent, content=self._content)
            spans = self._runs.get(run)
            if spans is None:
                return  # it began before anybody listened
            spans.take(record)
            if record["type"] == "end":
                del self._runs[run]

    def close(self) -> None:
        """Send the spans that have not been sent, for up to 30 seconds; a provider that the program has set is the program's to close."""
        if isinstance(self._provider, TracerProvider):
            self._provider.shutdown()

    def _find_parent(self, about: Mapping[str, object]) -> context.Context | None:
        # The agent's first record names the call. Its caller's span is known only in this process.
        found = about.get("called_by")
        if not is_object(found):
            told = about.get("traceparent")
            return None if told is None else _PARENTS.extract({"traceparent": str(told)})
        spans = self._runs.get(str(found.get("run")))
        return None if spans is None else spans.context_of(str(found.get("call_id")))


class _Sending:
    """The work of one thread, which sends until nothing is left."""

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self.has_more = True
        self.took = 0.0
        self.is_over = threading.Event()

    def run(self, lock: threading.Lock) -> None:
        """Send; once more for each run that has ended meanwhile."""
        while True:
            # Under the lock of `flush`: nobody may ask for more between the look and the end.
            with lock:
                if not self.has_more:
                    self.is_over.set()
                    return
                self.has_more = False
            began = time.monotonic()
            self._provider.force_flush()
            self.took = time.monotonic() - began
