"""What tests of plugins need: a plugin that runs, models that are scripted, and the answers.

In pytest the fixtures `dify_plugin`, `dify_credentials`, `dify_snapshot` and `dify_recording` bring them; see docs/dify-plugin-host/testing.md.
"""

from dify_plugin_host._errors import PluginInvokeError, ScriptError
from dify_plugin_host._files.local_file import LocalFile
from dify_plugin_host._process.session import CallBack

from ._messages import Messages, ModelAnswer
from ._model import PluginModel
from ._part import PluginPart
from ._plugin import DifyPlugin
from ._recorded_model import Recording
from ._scripted_model import ScriptedModel, ToolCall
from ._snapshot import normalize


__all__ = [
    "CallBack",
    "DifyPlugin",
    "LocalFile",
    "Messages",
    "ModelAnswer",
    "PluginInvokeError",
    "PluginModel",
    "PluginPart",
    "Recording",
    "ScriptError",
    "ScriptedModel",
    "ToolCall",
    "normalize",
]
