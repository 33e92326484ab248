"""What OpenAI's own tools did, in Dify's plugin log: that they ran, and what with where the operator wants to read it."""

import logging
import os
import re
from collections.abc import Iterable, Iterator

from gpt5_messages import HostedCall
from stream_text import KnownSecrets

from ._operator_settings import is_on


_LOGGER = logging.getLogger("dify_plugin.plugin.openai_gpt5_responses")
_LOGGER.setLevel(logging.INFO)
_HAS_CONTENT = is_on(os.environ, "OPENAI_GPT5_LOG_TOOL_CONTENT")
_MOST_CALLS = 100  # of one answer
_MOST_CHARACTERS = 4_000  # of each text
_TYPE = re.compile(r"[a-z_]{1,40}", re.ASCII)
_WORDS = frozenset({"completed", "failed", "incomplete", "in_progress", "searching", "generating"})


def log_hosted_calls(calls: Iterable[HostedCall], secrets: KnownSecrets) -> None:
    """Write a line for each call, up to 100 of an answer."""
    for call, _ in zip(calls, range(_MOST_CALLS), strict=False):
        _LOGGER.info("%s", secrets.redact("\n".join(_iter_lines(call))))


def _iter_lines(call: HostedCall) -> Iterator[str]:
    # What a server calls a tool or a state may be anything.
    kind = call.type if _TYPE.fullmatch(call.type) else "another tool"
    status = call.status if call.status in _WORDS else "other"
    yield f"OpenAI ran {kind}: {status}"
    if not _HAS_CONTENT:
        return
    for name, text in (
        ("tool", call.name),
        ("input", call.input),
        ("output", call.output),
        ("error", call.error),
    ):
        if text:
            yield f"{name}: {text[:_MOST_CHARACTERS]}"
