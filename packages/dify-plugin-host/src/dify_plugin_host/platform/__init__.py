"""What Dify does around plugins: models, tools, files and storage for their calls back, and the rules on the way."""

from ._agent_node import find_file_parameter, initialize_parameters
from ._model_server import (
    SERVER_VARIABLES,
    ModelServer,
    ServerAddressError,
    SimulatorStartError,
    named_server,
    open_server,
    open_simulator,
    without_server,
)
from ._models import LLMRequest
from ._plugin_host import AgentRequest, PluginHost
from ._plugin_tools import tool_entities
from ._polling import PollingClock, PollingStep, is_polled
from ._recorded import RecordedAnswers
from ._rules import answer_decoder, without_opaque_body
from ._scripted_peer import ANSWER, MODEL_VALUE, answer_scripted


__all__ = [
    "ANSWER",
    "MODEL_VALUE",
    "SERVER_VARIABLES",
    "AgentRequest",
    "LLMRequest",
    "ModelServer",
    "PluginHost",
    "PollingClock",
    "PollingStep",
    "RecordedAnswers",
    "ServerAddressError",
    "SimulatorStartError",
    "answer_decoder",
    "answer_scripted",
    "find_file_parameter",
    "initialize_parameters",
    "is_polled",
    "named_server",
    "open_server",
    "open_simulator",
    "tool_entities",
    "without_opaque_body",
    "without_server",
]
