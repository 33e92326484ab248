"""Runs as OpenTelemetry spans, by the semantic conventions for generative AI. It needs the extra `traces`."""

from ._traces import Traces, build_provider


__all__ = ["Traces", "build_provider"]
