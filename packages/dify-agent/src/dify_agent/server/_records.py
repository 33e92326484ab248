"""What is recorded of a step, as JSON: an answer of a model, the result of a tool or its wish for another try."""

from typing import Any, Literal, Self, cast

from pydantic import BaseModel, ConfigDict, Field
from pydantic_ai import ModelMessage, ModelMessagesTypeAdapter, ModelRequest, ModelResponse
from pydantic_ai.exceptions import ModelRetry, ToolFailed, ToolFailedError, ToolRetryError
from pydantic_ai.messages import ToolReturn, ToolReturnPart, UserPromptPart


TOOL_ERRORS = (ModelRetry, ToolFailed, ToolRetryError, ToolFailedError)
"""The errors by which a tool answers its model; any other ends the run."""


def dump_response(response: ModelResponse) -> bytes:
    """Return a model's answer as it is recorded."""
    return ModelMessagesTypeAdapter.dump_json([response])


def parse_response(recorded: bytes) -> ModelResponse:
    """Return the answer that was recorded.

    Raises:
        TypeError: If something else was.
    """
    (message,) = ModelMessagesTypeAdapter.validate_json(recorded)
    if not isinstance(message, ModelResponse):  # pragma: no cover - only answers are recorded
        raise TypeError(f"expected a recorded answer of a model, got a {message.kind}")
    return message


class ToolRecord(BaseModel):
    """What a tool call came to.

    Attributes:
        outcome: Whether it returned, wants the model to try again, or has failed for good.
        error: What the model is told, where it did not return.
        is_structured: Whether it returned a `ToolReturn`.
        messages: What it returned, in one message: the value as a tool's part, files and words as the user's.
        tools: The names of the tools that it makes available.
    """

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    outcome: Literal["returned", "retry", "failed"]
    error: str = ""
    is_structured: bool = False
    messages: list[ModelMessage] = Field(default_factory=list[ModelMessage])
    tools: list[str] | None = None

    @classmethod
    def from_result(cls, result: object) -> Self:
        """Return the record of what a tool returned."""
        if not isinstance(result, ToolReturn):
            value = ToolReturnPart(tool_name="", content=result, tool_call_id="")
            return cls(outcome="returned", messages=[ModelRequest([value])])
        returned = cast("ToolReturn[Any]", result)
        parts: list[Any] = [
            ToolReturnPart(
                tool_name="",
                content=returned.return_value,
                tool_call_id="",
                metadata=returned.metadata,
            )
        ]
        if returned.content is not None:
            parts.append(UserPromptPart(returned.content))
        return cls(
            outcome="returned",
            is_structured=True,
            messages=[ModelRequest(parts)],
            tools=returned.tools,
        )

    @classmethod
    def from_error(cls, error: Exception) -> Self:
        """Return the record of one of `TOOL_ERRORS`."""
        is_final = isinstance(error, ToolFailed | ToolFailedError)
        cause = error.__cause__
        told = cause if isinstance(cause, ModelRetry | ToolFailed) else error
        return cls(outcome="failed" if is_final else "retry", error=str(told))

    def replay(self) -> object:
        """Return what the tool returned.

        Raises:
            ModelRetry: If it wants the model to try again.
            ToolFailed: If it has failed for good.
        """
        if self.outcome == "retry":
            raise ModelRetry(self.error)
        if self.outcome == "failed":
            raise ToolFailed(self.error)
        returned, *told = self.messages[0].parts
        if not isinstance(returned, ToolReturnPart):  # pragma: no cover - only results are recorded
            raise TypeError(f"expected a recorded result of a tool, got a {returned.part_kind}")
        if not self.is_structured:
            return returned.content
        content = told[0].content if told and isinstance(told[0], UserPromptPart) else None
        return ToolReturn(
            return_value=returned.content,
            content=content,
            metadata=returned.metadata,
            tools=self.tools,
        )
