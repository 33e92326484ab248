"""A local server that speaks the OpenAI Responses API: for trying things and for tests."""

from gpt5_simulator._errors import (
    ApiError,
    FaultError,
    LikenessError,
    RecordingError,
    SimulatorError,
    StartError,
    UpstreamError,
)
from gpt5_simulator._faults.fault_text import parse_fault
from gpt5_simulator._faults.faults import (
    BrokenFrame,
    CloseSocket,
    CutStream,
    DuplicateEvents,
    EncryptedContentRefused,
    Fault,
    HtmlPage,
    HttpError,
    LateError,
    LateFailure,
    NoPongs,
    RefuseUpgrade,
    Silence,
    UnknownEvent,
    UnverifiedOrganization,
)
from gpt5_simulator._http.raw_server import RawServer
from gpt5_simulator._http.recorded import RecordedRequest
from gpt5_simulator._http.recorder import ExchangeRecorder
from gpt5_simulator._http.replay import Recording, read_recordings
from gpt5_simulator._http.server import SIMULATOR_KEY, ResponsesSimulator
from gpt5_simulator._likeness import LIKENESSES
from gpt5_simulator._model.demo_model import DemoModel
from gpt5_simulator._model.turn import (
    CustomToolCall,
    FunctionCall,
    Model,
    OutputItem,
    Reasoning,
    Refusal,
    ScriptedModel,
    Text,
    Turn,
    TurnItem,
)
from gpt5_simulator._profiles import ModelProfile, iter_profiles
from gpt5_simulator._request import ModelRequest, Tool
from gpt5_simulator._stored.store import BackgroundCounts


__all__ = [
    "LIKENESSES",
    "SIMULATOR_KEY",
    "ApiError",
    "BackgroundCounts",
    "BrokenFrame",
    "CloseSocket",
    "CustomToolCall",
    "CutStream",
    "DemoModel",
    "DuplicateEvents",
    "EncryptedContentRefused",
    "ExchangeRecorder",
    "Fault",
    "FaultError",
    "FunctionCall",
    "HtmlPage",
    "HttpError",
    "LateError",
    "LateFailure",
    "LikenessError",
    "Model",
    "ModelProfile",
    "ModelRequest",
    "NoPongs",
    "OutputItem",
    "RawServer",
    "Reasoning",
    "RecordedRequest",
    "Recording",
    "RecordingError",
    "Refusal",
    "RefuseUpgrade",
    "ResponsesSimulator",
    "ScriptedModel",
    "Silence",
    "SimulatorError",
    "StartError",
    "Text",
    "Tool",
    "Turn",
    "TurnItem",
    "UnknownEvent",
    "UnverifiedOrganization",
    "UpstreamError",
    "iter_profiles",
    "parse_fault",
    "read_recordings",
]
