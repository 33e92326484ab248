"""What is told of a request that never becomes a run."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, cast

from pydantic import ValidationError

from ._errors import AgentAdapterError, AgentRunError
from ._plugin_log import log_break
from ._secrets import find_secrets


_UNREADABLE = "Dify's request cannot be read. The plugin's log says more."


@contextmanager
def request_errors(request: object) -> Generator[None]:
    """Raise ours as they are, and in place of the SDK's own one sentence: those quote what they refuse, and carry a trace along.

    Raises:
        AgentRunError: If the SDK refuses the request; the message names the field.
    """
    try:
        yield
    except AgentAdapterError:
        raise
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        field = ".".join(map(str, first["loc"]))
        told = f"Dify's request cannot be read: {field}: {first['msg']}"
        raise AgentRunError(find_secrets(_tools(request)).redact(told)) from None
    except Exception as error:  # noqa: BLE001  whatever it is, Dify is told without its text
        log_break(error, find_secrets(_tools(request)))
        raise AgentRunError(_UNREADABLE) from None


def _tools(request: object) -> object:
    for name in ("agent_strategy_params", "tools"):
        request = (
            cast("Mapping[str, Any]", request).get(name) if isinstance(request, Mapping) else None
        )
    return request
