"""Dify's plugin log.

The audit log, the use of the prompt cache, the calls of OpenAI's tools, what a request had to leave out, and models
that end or have no price.
"""

import hashlib
import logging
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from threading import Lock
from typing import Any

from gpt5_audit import AuditLog
from gpt5_messages import Completion, HostedCall
from gpt5_payloads import profile_for
from gpt5_prices import price_of
from gpt5_responses import CacheWatch, Connection, find_secrets, find_shutdown_date
from stream_text import KnownSecrets, redact_text

from ._model_call import ModelCall


# Below the SDK's own logger, whose handler writes the plugin log.
_LOGGER = logging.getLogger("dify_plugin.plugin.openai_gpt5_responses")
_LOGGER.setLevel(logging.INFO)
_AUDIT_LOGGER = logging.getLogger("dify_plugin.plugin.audit.openai_gpt5_responses")
_AUDIT_LOGGER.setLevel(logging.INFO)

_AUDIT = AuditLog.from_env(_AUDIT_LOGGER.info)
_CONTENT = os.environ.get("OPENAI_GPT5_LOG_TOOL_CONTENT", "").strip().lower()
_HAS_CONTENT = _CONTENT in ("1", "true", "yes", "on")
_CACHE_WATCH = CacheWatch()
_MOST_CALLS = 100  # Of one answer.
_MOST_CHARACTERS = 4_000  # Of each text.
_TYPE = re.compile(r"[a-z_]{1,40}", re.ASCII)
_STATES = frozenset({"completed", "failed", "incomplete", "in_progress", "searching", "generating"})
_MOST_NOTICES = 1_000  # Model names can be made up, so not all are remembered.
_MOST_NAME_CHARACTERS = 100

_noticed: set[str] = set()
_lock = Lock()


def audit_without(secrets: KnownSecrets) -> AuditLog:
    """Return the audit log for calls with these secrets; it is off unless `OPENAI_GPT5_AUDIT_LOG` turns it on."""
    return AuditLog(
        lambda line: _AUDIT_LOGGER.info(secrets.redact(line)),
        _AUDIT.enabled,
        plain_json=_AUDIT.plain_json,
    )


def log_cache(
    call: ModelCall, request: Mapping[str, Any], completion: Completion
) -> Mapping[str, int | str]:
    """Log what a call read from the prompt cache, and which change broke it; return the figures, empty if the server reports no usage."""
    usage = completion.usage
    if usage is None:
        return {}
    report = _CACHE_WATCH.report(
        _conversation(call),
        request,
        input_tokens=usage.input_tokens,
        cached_tokens=usage.cached_tokens,
        diagnostics=completion.cache_diagnostics,
    )
    _LOGGER.info("%s", report)
    return report.to_figures()


def _conversation(call: ModelCall) -> str:
    """Return a digest of the caller and of the first user message, which stay the same within a conversation."""
    first = next((message for message in call.messages if message.role.value == "user"), None)
    text = first.get_text_content() if first else ""
    whose = f"{call.connection.fingerprint} {call.safety_identifier}"
    return hashlib.sha256(f"{whose} {text}".encode(errors="replace")).hexdigest()


def log_hosted_calls(calls: Iterable[HostedCall], secrets: KnownSecrets) -> None:
    """Log the calls of OpenAI's own tools, one entry each, up to 100 per answer; their content only if the operator wants it."""
    for call, _ in zip(calls, range(_MOST_CALLS), strict=False):
        _LOGGER.info("%s", secrets.redact("\n".join(_iter_lines(call))))


def _iter_lines(call: HostedCall) -> Iterator[str]:
    # The server may call a tool or a state anything.
    kind = call.type if _TYPE.fullmatch(call.type) else "another tool"
    status = call.status if call.status in _STATES else "other"
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


def note_tools_left_out(call: ModelCall, left_out: Mapping[str, str]) -> None:
    """Log the tools that cannot be sent, each once in the life of the process."""
    for name, reason in left_out.items():
        line = find_secrets(call.credentials).redact(f"The tool {name!r} is left out: {reason}")
        _warn_once(redact_text(line))


def note_model(call: ModelCall) -> None:
    """Log that a model ends or has ended, and that its price is unknown, once per model in the life of the process."""
    for line in (_shutdown_line(call.model, call.connection), _price_line(call)):
        if line:
            _warn_once(redact_text(find_secrets(call.credentials).redact(line)))


def _shutdown_line(model: str, connection: Connection) -> str:
    day = find_shutdown_date(connection, model)
    if day is None:
        return ""
    is_over = date.fromisoformat(day) <= datetime.now(UTC).date()
    successor = profile_for(model).replacement
    use = f" Use {successor!r} instead." if successor else ""
    ends = "was to end" if is_over else "ends"
    return f"The model {model[:_MOST_NAME_CHARACTERS]!r} {ends} on {day}.{use}"


def _price_line(call: ModelCall) -> str:
    if price_of(call.base_model) is not None:
        return ""
    return (
        f"The price of the model {call.model[:_MOST_NAME_CHARACTERS]!r} is not known: it counts as 0, "
        "so that max_cost of an agent cannot hold. Choose its Base Model."
    )


def note_unheard(call: ModelCall, left_out: Sequence[str], ignored: Sequence[str] = ()) -> None:
    """Log which parts of a request the server did not get, or has silently ignored.

    Once per server and parts in the life of the process.
    """
    host = call.connection.host
    if left_out:
        parts = ", ".join(name.removeprefix("without_").replace("_", " ") for name in left_out)
        _warn_once(
            f"Left out of a request to {host}, which refused it or is set to be compatible: {parts}."
        )
    if ignored:
        _warn_once(f"{host} does not do what a request asks for: {', '.join(ignored)}.")


def _warn_once(line: str) -> None:
    with _lock:
        if line in _noticed or len(_noticed) >= _MOST_NOTICES:
            return
        _noticed.add(line)
    _LOGGER.warning(line)
