"""The types of plugins' answers."""

import json
from collections.abc import Mapping
from pathlib import Path

from .daemon_types import TYPES
from .types import Struct


_TABLE = json.loads(Path(__file__).with_name("answers.json").read_text(encoding="utf-8"))
ANSWERS: Mapping[str, Struct] = {action: TYPES[name] for action, name in _TABLE.items()}
"""The type of each action's answer, by the action's name in the protocol."""

PLUGIN_ERROR = TYPES["plugin_entities.ErrorResponse"]
"""The type of an error in place of an answer."""
