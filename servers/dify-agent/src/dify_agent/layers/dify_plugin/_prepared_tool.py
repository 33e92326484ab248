"""The parts that any prepared tool consists of: its offer to the model, and what is shown of its results.

Source: docs/contracts/dify-agent.md, C24, C35 and C45.
"""

import copy
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from pydantic import JsonValue
from pydantic_ai import RunContext, Tool, ToolReturn
from pydantic_ai.tools import ToolDefinition

from agent_tooling import ResultBudget
from stream_text import is_object

from ._secrets import ConfigSecrets


TOOL_FAILURE_KEY: Final = "dify_tool_failure"
"""The key of a failure in the metadata of a tool's result: `{"error_type", "message", "status_code"}`, and `"is_transient": true` where it may pass
whatever the status. The model gets a sentence."""


def find_failure(metadata: object) -> Mapping[str, Any] | None:
    """Return the failure of a tool call from the metadata of its result; None if it did not fail."""
    return metadata.get(TOOL_FAILURE_KEY) if is_object(metadata) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownResults:
    """What is shown of a tool's results: to the model as much as fits, to nobody a secret.

    Attributes:
        budget: The budget that the tools of a layer share.
        secrets: The secrets of the tool's configuration.
    """

    budget: ResultBudget
    secrets: ConfigSecrets

    def fit(self, text: str) -> str:
        """Return the part of a text that fits the budget, without declared secrets."""
        return self.budget.fit(self.secrets.declared.redact(text))

    def build_failure(
        self,
        text: str,
        error_type: str | None,
        message: str,
        status_code: int | None = None,
        *,
        is_transient: bool = False,
    ) -> ToolReturn[str]:
        """Build the result of a call that failed.

        Args:
            text: The sentence for the model.
            error_type: The type of the error.
            message: Its message.
            status_code: The HTTP status, if there was one.
            is_transient: Whether the call may go well another time, whatever the status.
        """
        failure: dict[str, Any] = {
            "error_type": error_type,
            "message": self.secrets.known.redact(message),
            "status_code": status_code,
        }
        if is_transient:
            failure["is_transient"] = True
        text = self.fit(self.secrets.known.redact(text))
        return ToolReturn(text, metadata={TOOL_FAILURE_KEY: failure})


def build_tool(
    invoke: Callable[[Mapping[str, Any]], Awaitable[ToolReturn[str]]],
    *,
    name: str,
    description: str | None,
    schema: Mapping[str, JsonValue],
    strict: bool | None = None,
) -> Tool[object]:
    """Build a tool of Pydantic AI.

    Args:
        invoke: What calls it with the model's arguments, and raises only what ends the run.
        name: Its name.
        description: Its description; the name if there is none.
        schema: The schema of its arguments, which is taken as it is now.
        strict: Whether to ask the provider to enforce the schema.
    """
    parameters = copy.deepcopy(dict(schema))

    # Positional only, because a tool may have a parameter of any name, `_ctx` included.
    async def invoke_tool(_ctx: RunContext[object], /, **arguments: Any) -> ToolReturn[str]:
        return await invoke(arguments)

    async def prepare(_ctx: RunContext[object], definition: ToolDefinition) -> ToolDefinition:
        # Pydantic AI would derive a schema from the signature above.
        return replace(definition, parameters_json_schema=parameters, strict=strict)

    return Tool(
        invoke_tool,
        takes_ctx=True,
        name=name,
        description=description or name,
        prepare=prepare,
    )
