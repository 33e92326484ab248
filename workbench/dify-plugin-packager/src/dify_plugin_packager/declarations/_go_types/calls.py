"""The types of plugins' calls back into Dify, and how the daemon handles each kind.

Source: `internal/core/dify_invocation/types.go` and `internal/core/io_tunnel/backwards_invocation/task.go` of
langgenius/dify-plugin-daemon at bdb5642a, read 2026-11.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .daemon_types import TYPES
from .types import Struct


@dataclass(frozen=True, slots=True, kw_only=True)
class CallKind:
    """A kind of call back into Dify.

    Attributes:
        shape: The type that its request is decoded into.
        path: The path of Dify's inner API that answers it; empty if the daemon does.
        failure: The plugin's error message if Dify does not answer.
        is_streamed: Whether it is answered in several objects.
    """

    shape: Struct
    path: str
    failure: str
    is_streamed: bool = False


_TABLE = json.loads(Path(__file__).with_name("calls.json").read_text(encoding="utf-8"))
CALLS: Mapping[str, CallKind] = {
    kind: CallKind(
        shape=TYPES[f"dify_invocation.{row['request']}"],
        path=row["path"],
        failure=f"{row['failure']} failed",
        is_streamed="is_streamed" in row,
    )
    for kind, row in _TABLE.items()
}
"""The kinds of calls, by the protocol's `type`."""
