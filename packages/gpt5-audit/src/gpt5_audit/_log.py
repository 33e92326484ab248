"""The audit log: three events of a call, written only when the log is on."""

import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Self

from ._fields import OPENAI_HOST, PREFIX, Event, build_line, host_of


ENVIRONMENT_VARIABLE = "OPENAI_GPT5_AUDIT_LOG"
JSON_VARIABLE = "OPENAI_GPT5_AUDIT_LOG_JSON"

_ON = frozenset({"1", "true", "yes", "on"})


class AuditLog:
    """An audit log of Responses API calls, one line for each event.

    The methods take what a caller has at hand, a request body or an exception, and pick the allowed facts out of it. Prompts, schemas, tool
    arguments, messages, headers and keys are never looked at. A log that is off does not touch what it is given.

    A log keeps no state, so one may serve any number of calls at once. The events of one call share the `audit_id` that
    `request` returns.

    Example:
        >>> log = AuditLog(print)
        >>> log.success("0123456789ab", model="gpt-5.2", request_id="req_0123456789")
        openai_gpt5_audit {"audit_id": "0123456789ab", "event": "responses_api_success", "model": "gpt-5.2", "request_id": "req_0123456789"}
    """

    __slots__ = ("_emit", "enabled", "plain_json")

    def __init__(
        self,
        emit: Callable[[str], object],
        enabled: bool = True,  # noqa: FBT001, FBT002  the plain switch of this class
        *,
        plain_json: bool = False,
    ) -> None:
        """Write to `emit`, which takes one line without its line break.

        Args:
            emit: Where lines go, for example a logger's `info`.
            enabled: Whether anything is written at all.
            plain_json: Whether a line is a JSON object and nothing else, without the prefix.
        """
        self._emit: Callable[[str], object] = emit
        self.enabled: bool = enabled
        self.plain_json: bool = plain_json

    @classmethod
    def from_env(
        cls, emit: Callable[[str], object], environ: Mapping[str, str] | None = None
    ) -> Self:
        """Make a log that is on if `OPENAI_GPT5_AUDIT_LOG` is `1`, `true`, `yes` or `on`, in any case; plain JSON if `OPENAI_GPT5_AUDIT_LOG_JSON` is.

        Args:
            emit: Where lines go.
            environ: The environment to read; the process's own if None.
        """
        variables = os.environ if environ is None else environ
        enabled, plain_json = (
            variables.get(name, "").strip().lower() in _ON
            for name in (ENVIRONMENT_VARIABLE, JSON_VARIABLE)
        )
        return cls(emit, enabled, plain_json=plain_json)

    def request(
        self,
        body: Mapping[str, Any],
        *,
        base_url: str | None = None,
        enable_stream: bool | None = None,
    ) -> str:
        """Log that `body` is about to be sent.

        Args:
            body: The body of `POST /v1/responses`. Its counts, settings and the model's name are logged.
            base_url: The server's base URL; None for OpenAI's. Its host is logged, unless the URL holds user information.
            enable_stream: The caller's setting, which the body's `stream` need not follow.

        Returns:
            The call's `audit_id`, 12 hexadecimal characters; empty when the log is off.
        """
        if not self.enabled:  # before anything of `body` is read
            return ""
        # Random, for a log keeps no state that could count its calls.
        audit_id = secrets.token_hex(6)
        host = host_of(base_url)
        facts = {
            "audit_id": audit_id,
            "base_url_host": host,
            "enable_stream": enable_stream,
            "use_custom_base_url": host != OPENAI_HOST,
        }
        self._write("responses_api_request", facts | _request_facts(body))
        return audit_id

    def success(  # noqa: PLR0913  one keyword for each fact
        self,
        audit_id: str,
        *,
        model: str | None = None,
        response_model: str | None = None,
        request_id: str | None = None,
        stream_event_count: int | None = None,
        service_tier: str | None = None,
        left_out: Sequence[str] = (),
        duration_seconds: float | None = None,
        usage: object = None,
        cost: float | Decimal | None = None,
        currency: str | None = None,
    ) -> None:
        """Log that a call has succeeded.

        Args:
            audit_id: The id that `request` returned.
            model: The model asked for.
            response_model: The model that answered.
            request_id: The server's id of the request (`x-request-id`).
            stream_event_count: How many events came; None if the answer was not streamed.
            service_tier: The tier that the server billed.
            left_out: The parts that the server refused and the request was sent again without, as `gpt5_responses` names them.
            duration_seconds: How long the call took.
            usage: The `usage` of the response as the API sends it, or an object with the same fields or with `cached_tokens` and
                `reasoning_tokens` of its own.
            cost: What the call cost.
            currency: The currency of `cost`, such as `USD`.
        """
        if not self.enabled:
            return
        facts = {
            "audit_id": audit_id,
            "model": model,
            "response_model": response_model,
            "request_id": request_id,
            # One text, since the shapes know no lists; an empty one is left out of the line.
            "left_out": ",".join(left_out),
            "service_tier": service_tier,
            "stream": None if stream_event_count is None else True,
            "stream_event_count": stream_event_count,
            "duration_seconds": duration_seconds,
            "cost": cost,
            "currency": currency,
        }
        self._write("responses_api_success", facts | _usage_facts(usage))

    def error(  # noqa: PLR0913  one keyword for each fact
        self,
        error: BaseException | Mapping[str, Any],
        *,
        audit_id: str = "",
        model: str | None = None,
        stream: bool | None = None,
        stream_event_type: str | None = None,
        duration_seconds: float | None = None,
    ) -> None:
        """Log that a call failed.

        Args:
            error: An exception, or an `error`, `response.failed` or `response.incomplete` event. Of an exception, the name of its
                class and the attributes `status_code`, `request_id`, `code`, `param` (or `field`) and `type` are logged where
                they have the right shape; of an event, its tokens too. Messages and bodies are not logged.
            audit_id: The id that `request` returned; empty if the call failed before, which gives the event an id of its own.
            model: The model asked for.
            stream: Whether the answer was being streamed.
            stream_event_type: The type of the last event that came.
            duration_seconds: How long the call took until then.
        """
        if not self.enabled:
            return
        facts = {
            "audit_id": audit_id or secrets.token_hex(6),
            "model": model,
            "stream": stream,
            "stream_event_type": stream_event_type,
            "duration_seconds": duration_seconds,
        }
        self._write("responses_api_error", facts | _error_facts(error))

    def _write(self, event: Event, facts: Mapping[str, object]) -> None:
        line = build_line(event, facts)
        self._emit(line if self.plain_json else f"{PREFIX} {line}")


def _request_facts(body: Mapping[str, Any]) -> dict[str, object]:
    return {
        # The API has no stop sequences; where a caller has some, the body says only this.
        # Source: docs/contracts/openai-gpt5-responses.md, A20.
        "has_stop": body.get("truncation") == "disabled",
        "has_user": bool(body.get("safety_identifier") or body.get("user")),
        "input_message_count": _length(body.get("input")),
        "max_output_tokens": body.get("max_output_tokens"),
        "model": body.get("model"),
        "response_format": _mapping(_mapping(body.get("text")).get("format")).get("type"),
        "service_tier": body.get("service_tier"),
        "stream": body.get("stream"),
        "tool_count": _length(body.get("tools")),
    }


def _length(value: Any) -> int:
    """Count items; a text is one item, nothing is none."""
    match value:
        case str():
            return 1
        case [*items]:
            return len(items)
        case _:
            return 0


def _error_facts(error: BaseException | Mapping[str, Any]) -> dict[str, object]:
    if isinstance(error, Mapping):
        return _event_facts(error)
    return {
        "api_error_type": getattr(error, "type", None),
        "code": getattr(error, "code", None),
        "error_type": type(error).__name__,
        # Errors of our own packages, such as `PayloadError`, name the parameter in `field`.
        "param": getattr(error, "param", None) or getattr(error, "field", None),
        "request_id": getattr(error, "request_id", None),
        "status_code": getattr(error, "status_code", None),
    }


def _event_facts(event: Mapping[str, Any]) -> dict[str, object]:
    response = _mapping(event.get("response"))
    # Servers put the details at the top, as documented, or under `error`, as most of them do.
    nested = _mapping(event.get("error")) or _mapping(response.get("error"))
    details = nested or event
    return {
        # Never from the top, where `type` is the event's own.
        "api_error_type": nested.get("type"),
        "code": details.get("code"),
        "event_type": event.get("type"),
        "param": details.get("param"),
        "request_id": event.get("request_id"),
        "response_status": response.get("status"),
        **_usage_facts(response.get("usage")),
    }


def _usage_facts(usage: object) -> dict[str, object]:
    """Pick the tokens out of what the API sends, or out of an object with its fields or with all of them at the top."""
    facts = {name: _member(usage, name) for name in ("input_tokens", "output_tokens")}
    for name, details in (("cached_tokens", "input"), ("reasoning_tokens", "output")):
        found = _member(usage, name)
        nested = _member(usage, f"{details}_tokens_details")
        facts[name] = _member(nested, name) if found is None else found
    return facts


def _member(value: object, name: str) -> object:
    members = _mapping(value)
    return members.get(name) if members else getattr(value, name, None)


def _mapping(value: Any) -> Mapping[str, Any]:
    match value:
        case {**members}:
            return members
        case _:
            return {}
