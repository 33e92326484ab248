"""One system instruction from policy blocks and their overrides, byte for byte stable."""

from ._blocks import (
    CONTEXT_GATHERING_POLICY,
    PERSISTENCE_POLICY,
    TOOL_PREAMBLE_POLICY,
    UNCERTAINTY_POLICY,
)
from ._errors import PolicyError
from ._instruction import DEFAULT_INSTRUCTION, build_system_instruction, check_overrides


__all__ = [
    "CONTEXT_GATHERING_POLICY",
    "DEFAULT_INSTRUCTION",
    "PERSISTENCE_POLICY",
    "TOOL_PREAMBLE_POLICY",
    "UNCERTAINTY_POLICY",
    "PolicyError",
    "build_system_instruction",
    "check_overrides",
]
