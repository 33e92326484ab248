"""agent-runner as an executor of `gpt5-agent-server`. Needs the extra `server`."""

from .executor import ScriptExecutor
from .settings import ScriptServerSettings


__all__ = ["ScriptExecutor", "ScriptServerSettings"]
