"""Runs as OpenTelemetry spans, by the semantic conventions of generative AI. It needs the extra `traces`."""

from ._traces import Traces


__all__ = ["Traces"]
