"""What each call has read from the prompt cache, in Dify's plugin log and for the strategy's: numbers, and which change broke it."""

import hashlib
import logging
from collections.abc import Mapping
from typing import Any

from gpt5_messages import Completion
from gpt5_payloads import CacheWatch
from gpt5_responses import Connection

from ._identity import safety_identifier
from ._model_call import ModelCall


_LOGGER = logging.getLogger("dify_plugin.plugin.openai_gpt5_responses")
_LOGGER.setLevel(logging.INFO)
_WATCH = CacheWatch()


def log_cache(
    call: ModelCall, connection: Connection, request: Mapping[str, Any], completion: Completion
) -> Mapping[str, int | str]:
    """Write the line of a call, and return its figures; none where the server has not said what it has used."""
    usage = completion.usage
    if usage is None:
        return {}
    report = _WATCH.report(
        _conversation(call, connection),
        request,
        input_tokens=usage.input_tokens,
        cached_tokens=usage.cached_tokens,
        diagnostics=completion.cache_diagnostics,
    )
    _LOGGER.info("%s", report)
    return report.to_figures()


def _conversation(call: ModelCall, connection: Connection) -> str:
    """Return a digest of who asks and of the first thing that was said, which a conversation keeps."""
    first = next((message for message in call.messages if message.role.value == "user"), None)
    said = first.get_text_content() if first else ""
    whose = f"{connection.fingerprint} {safety_identifier(call.user)}"
    return hashlib.sha256(f"{whose} {said}".encode(errors="replace")).hexdigest()
