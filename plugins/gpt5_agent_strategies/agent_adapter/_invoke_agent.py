"""What the strategies call: one run, from the node's parameters to the messages that Dify gets."""

import os
from collections.abc import Iterator, Mapping
from typing import Any, cast

from dify_plugin.entities.agent import AgentInvokeMessage
from dify_plugin.entities.invoke_message import InvokeMessage
from dify_plugin.interfaces.agent import AgentStrategy

from agent_loop import Finished, Usage

from ._errors import AgentRunError, ParameterError
from ._file_links import accept_file_links
from ._invocation import BROKEN, Invocation
from ._metadata import build_execution_metadata
from ._parameters import Parameters
from ._plugin_log import log_break
from ._secrets import find_secrets
from ._settings import Settings


def invoke_agent(
    strategy: AgentStrategy, raw_parameters: Mapping[str, Any]
) -> Iterator[AgentInvokeMessage]:
    """Run an agent and yield what Dify is told of it.

    Files pass as the tool messages that they came as, which have the same fields; see `read_answer` for why.

    Raises:
        ParameterError: If a parameter cannot be read.
        AgentRunError: If the run failed; everything else has been yielded before.
    """
    accept_file_links(strategy.session)
    return cast("Iterator[AgentInvokeMessage]", _run(strategy, raw_parameters))


def _run(strategy: AgentStrategy, raw_parameters: Mapping[str, Any]) -> Iterator[InvokeMessage]:
    try:
        settings = Settings.from_environment(os.environ)
        invocation = Invocation(strategy, Parameters.from_raw(raw_parameters), settings)
    except Exception as error:  # noqa: BLE001 - whatever it is, the figures are told
        failure = error if isinstance(error, ParameterError) else AgentRunError(BROKEN)
        if failure is not error:
            log_break(error, find_secrets(raw_parameters.get("tools")))
        finished = Finished(reason="error", rounds=0, usage=Usage(), error=str(failure))
        yield strategy.create_json_message(build_execution_metadata(finished))
        raise failure from None  # the SDK sends a trace with the whole chain of errors
    yield from invocation.run()
