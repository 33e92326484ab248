"""The spans of a server's requests and runs. It needs the extra `traces`."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Final

from opentelemetry import trace
from opentelemetry.instrumentation.asgi import (  # pyright: ignore[reportMissingTypeStubs] - it ships none
    OpenTelemetryMiddleware,
)
from starlette.applications import Starlette
from starlette.routing import Match
from starlette.types import Scope

from run_log.traces import Traces, build_provider


_UNTOLD: Final = "/health$,/ready$,/metrics$"
_LAST_SECONDS: Final = 5.0


@asynccontextmanager
async def tracing(*, service: str) -> AsyncGenerator[None]:
    """Send the spans that this process makes until the end of the context.

    Args:
        service: The service's name, unless `OTEL_SERVICE_NAME` gives another.
    """
    provider = build_provider(service, shutdown_on_exit=False)
    trace.set_tracer_provider(provider)
    try:
        yield
    finally:
        await asyncio.to_thread(Traces(provider).flush, _LAST_SECONDS)


def trace_requests(app: Starlette) -> None:
    """Have the requests of an application told as spans."""

    def describe(scope: Scope) -> tuple[str, dict[str, Any]]:
        matches = (route for route in app.routes if route.matches(scope)[0] is not Match.NONE)
        # Not the path, of which there are as many as runs.
        path = getattr(next(matches, None), "path", "")
        return f"{scope['method']} {path}".strip(), {"http.route": path} if path else {}

    app.add_middleware(
        OpenTelemetryMiddleware,
        excluded_urls=_UNTOLD,
        default_span_details=describe,
        exclude_spans=["receive", "send"],
    )
