"""The entry points: `strategies/` calls `invoke_agent` for each run, `main.py` the others.

Those are for requests that never become a run and for lines that are too long.
"""

import os
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

from dify_plugin.entities.agent import AgentInvokeMessage
from dify_plugin.errors.model import InvokeBadRequestError
from dify_plugin.interfaces.agent import AgentStrategy

from agent_loop import Finished, Usage
from dify_plugin_kit import stdout
from dify_plugin_kit.request_errors import hide_request, shorten_error
from stream_text import read_member

from ._errors import AgentAdapterError, AgentRunError, ParameterError, RequestTooLargeError
from ._file_links import accept_file_links
from ._invocation import BROKEN, Invocation
from ._parameters import Parameters
from ._plugin_log import log_break
from ._secrets import find_secrets
from ._settings import Settings
from ._usage import build_execution_metadata


def invoke_agent(
    strategy: AgentStrategy, raw_parameters: Mapping[str, Any]
) -> Iterator[AgentInvokeMessage]:
    """Run an agent and yield the messages for Dify.

    Files are passed on as the tool messages that they came in, which have the same fields; `read_answer` says why.

    Raises:
        ParameterError: If a parameter cannot be read.
        AgentRunError: If the run failed; everything else has been yielded before.
    """
    accept_file_links(strategy.session)
    try:
        settings = Settings.from_environment(os.environ)
        invocation = Invocation(strategy, Parameters.from_raw(raw_parameters), settings)
    except Exception as error:  # noqa: BLE001 - whatever it is, the figures are reported
        failure = error if isinstance(error, ParameterError) else AgentRunError(BROKEN)
        if failure is not error:
            log_break(error, find_secrets(raw_parameters.get("tools")))
        finished = Finished(reason="error", rounds=0, usage=Usage(), error=str(failure))
        yield strategy.create_json_message(build_execution_metadata(finished))
        raise failure from None  # The SDK would send a trace with the whole chain of errors.
    yield from cast("Iterator[AgentInvokeMessage]", invocation.run())


_UNREADABLE = "Dify's request cannot be read. The plugin's log says more."


@contextmanager
def request_errors(request: object) -> Generator[None]:
    """Raise our errors as one whose text Dify shows alone, and the SDK's with a sentence of ours instead of their text, which quotes the request.

    Source: docs/evidence/dify-platform.md, P28.
    """

    def explain(error: Exception) -> str:
        log_break(error, find_secrets(_tools(request)))
        return _UNREADABLE

    def redact(text: str) -> str:
        return find_secrets(_tools(request)).redact(text)

    try:
        with hide_request((AgentAdapterError,), redact=redact, explain=explain):
            yield
    except AgentAdapterError as error:
        raise InvokeBadRequestError(shorten_error(str(error))) from None


def shorten_line(line: bytes, limit: int) -> bytes:
    """Return a shortened line, or one that says that something was left out.

    Raises:
        RequestTooLargeError: If it is a call of a model or a tool, whose caller has to know.
    """
    return stdout.shorten_line(line, limit, RequestTooLargeError)


def _tools(request: object) -> object:
    return read_member(read_member(request, "agent_strategy_params"), "tools")
