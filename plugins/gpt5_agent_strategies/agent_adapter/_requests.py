"""What is told of a request that never becomes a run."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, cast

from pydantic import ValidationError

from ._errors import AgentAdapterError
from ._plugin_log import log_break
from ._secrets import find_secrets


_UNREADABLE = "Dify's request cannot be read. The plugin's log says more."


@contextmanager
def request_errors(request: object) -> Generator[None]:
    """Raise ours as they are, and the SDK's own under their names with one sentence: what they say quotes what they refuse."""
    try:
        yield
    except AgentAdapterError:
        raise
    except Exception as error:  # noqa: BLE001  whatever it is, Dify is told without its text
        secrets = find_secrets(_tools(request))
        if isinstance(error, ValidationError):
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            field = ".".join(map(str, first["loc"]))
            told = secrets.redact(f"Dify's request cannot be read: {field}: {first['msg']}")
        else:
            log_break(error, secrets)
            told = _UNREADABLE
        raise type(type(error).__name__, (Exception,), {})(told) from None


def _tools(request: object) -> object:
    for name in ("agent_strategy_params", "tools"):
        request = (
            cast("Mapping[str, Any]", request).get(name) if isinstance(request, Mapping) else None
        )
    return request
