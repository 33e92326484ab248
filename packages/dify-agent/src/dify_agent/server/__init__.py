"""dify-agent as an executor of `gpt5-agent-server`, and its command. Needs the extra `server`."""

import importlib
from typing import TYPE_CHECKING, Any, Final


if TYPE_CHECKING:
    from .executor import DifyAgentExecutor
    from .settings import DifyAgentSettings


__all__ = ["DifyAgentExecutor", "DifyAgentSettings"]

_MODULES: Final = {"DifyAgentExecutor": ".executor", "DifyAgentSettings": ".settings"}


def __getattr__(name: str) -> Any:
    """Import what is asked for: the command reads its settings, and listens, before it imports the executor, which takes a second."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name], __name__), name)
