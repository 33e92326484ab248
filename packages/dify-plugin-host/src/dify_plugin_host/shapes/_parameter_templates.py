"""What the daemon fills into a model's parameter rule that names a template: values that stand on the wire.

Source: `PARAMETER_RULE_TEMPLATE` in `pkg/entities/plugin_entities/model_declaration.go` of langgenius/dify-plugin-daemon at bdb5642a, read
2026-11.
"""

from collections.abc import Mapping
from typing import Any


def _share(default: float) -> Mapping[str, Any]:
    return {"type": "float", "default": default, "min": 0.0, "max": 1.0, "precision": 2}


PARAMETER_TEMPLATES: Mapping[str, Mapping[str, Any]] = {
    "temperature": _share(0.0),
    "top_p": _share(1.0),
    "top_k": {"type": "int", "default": 50, "min": 1.0, "max": 100.0, "precision": 0},
    "presence_penalty": _share(0.0),
    "frequency_penalty": _share(0.0),
    "max_tokens": {"type": "int", "default": 64, "min": 1.0, "max": 2048.0, "precision": 0},
    "response_format": {"type": "string", "options": ["JSON", "XML"]},
    "json_schema": {"type": "string"},
}
"""The values of each template, by its name."""
