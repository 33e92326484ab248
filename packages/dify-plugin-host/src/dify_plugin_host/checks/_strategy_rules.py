"""What an agent strategy provider's YAML files must look like, to the plugin SDK and to the daemon at once.

Source: `entities/agent.py` of dify-plugin 0.10.2 and `pkg/entities/plugin_entities/agent_declaration.go` of
langgenius/dify-plugin-daemon at bdb5642a, read 2026-11.
"""

from typing import Literal, Self

from pydantic import Field, model_validator

from ._capability_rules import CapabilityRules, Extra, Parameter, ProviderIdentity
from ._manifest_rules import PathText, Rules, Translated


_SCOPES = {
    "model-selector": {
        "llm",
        "text-embedding",
        "rerank",
        "tts",
        "speech2text",
        "moderation",
        "vision",
        "document",
        "tool-call",
    },
    "app-selector": {"all", "chat", "workflow", "completion"},
    "any": {
        "string",
        "number",
        "object",
        "array[number]",
        "array[string]",
        "array[object]",
        "array[file]",
    },
}


class StrategyProviderRules(Rules):
    """An agent strategy provider's file."""

    identity: ProviderIdentity
    strategies: list[PathText] = Field(min_length=1)
    extra: Extra | None = None


class _Parameter(Parameter):
    help: Translated | None = None
    type: Literal[
        "string",
        "number",
        "boolean",
        "select",
        "secret-input",
        "file",
        "files",
        "app-selector",
        "model-selector",
        "array[tools]",
        "any",
    ]
    default: bool | int | float | str | None = None

    @model_validator(mode="after")
    def _validate_scope(self) -> Self:
        if self.scope is None:
            return self
        known = _SCOPES.get(self.type)
        if known is None:
            raise ValueError(f"expected no scope for the type {self.type!r}")
        if not known & {part.strip() for part in self.scope.split("&")}:
            raise ValueError(f"expected a scope of {sorted(known)}, got {self.scope!r}")
        return self


class StrategyRules(CapabilityRules):
    """An agent strategy's file."""

    description: Translated
    features: list[Literal["history-messages"]] = Field(default=[])
    parameters: list[_Parameter] = Field(default=[])
