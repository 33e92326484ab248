"""The JSON schema of a line."""

import json
from pathlib import Path
from typing import Any


def read_schema() -> dict[str, Any]:
    """Return the JSON schema (2020-12) of a record, as this version writes it."""
    return json.loads(Path(__file__).with_name("run-log-1.schema.json").read_text("utf-8"))
