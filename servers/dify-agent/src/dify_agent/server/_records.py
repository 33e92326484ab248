"""Records of steps, as JSON: an answer of a model, the result of a tool or its request for another try."""

from typing import Any, Literal, Self, cast

from pydantic import BaseModel, ConfigDict, Field
from pydantic_ai import ModelMessage, ModelMessagesTypeAdapter, ModelRequest, ModelResponse
from pydantic_ai.exceptions import ModelRetry, ToolFailed, ToolFailedError, ToolRetryError
from pydantic_ai.messages import ToolReturn, ToolReturnPart, UserPromptPart


TOOL_ERRORS = (ModelRetry, ToolFailed, ToolRetryError, ToolFailedError)
"""The errors by which a tool answers its model; any other error ends the run."""


def dump_response(response: ModelResponse) -> bytes:
    """Return the record of a model's answer."""
    return ModelMessagesTypeAdapter.dump_json([response])


def parse_response(recorded: bytes) -> ModelResponse:
    """Return a model's answer from its record."""
    (message,) = ModelMessagesTypeAdapter.validate_json(recorded)
    return cast("ModelResponse", message)  # `dump_response` records nothing else.


def to_tool_return(result: object) -> ToolReturn[Any]:
    """Return a tool's result as a `ToolReturn`, wrapping a plain value."""
    return cast("ToolReturn[Any]", result) if isinstance(result, ToolReturn) else ToolReturn(result)


class ToolRecord(BaseModel):
    """The record of a tool call.

    Attributes:
        outcome: Whether it returned, wants the model to try again, or has failed for good.
        error: The text for the model, if it did not return.
        is_structured: Whether it returned a `ToolReturn`.
        messages: The result, in one message: the value as a tool's part, files and texts for the model as the user's.
        tools: The names of the tools that it makes available.
    """

    model_config = ConfigDict(defer_build=True, ser_json_bytes="base64", val_json_bytes="base64")

    outcome: Literal["returned", "retry", "failed"]
    error: str = ""
    is_structured: bool = False
    messages: list[ModelMessage] = Field(default_factory=list[ModelMessage])
    tools: list[str] | None = None

    @classmethod
    def from_result(cls, result: object) -> Self:
        """Return the record of a tool's result."""
        returned = to_tool_return(result)
        # In a message, because Pydantic AI knows how to store the files in one. Name and id are not
        # read back.
        value = ToolReturnPart(
            tool_name="",
            content=returned.return_value,
            tool_call_id="",
            metadata=returned.metadata,
        )
        prompts = [] if returned.content is None else [UserPromptPart(returned.content)]
        return cls(
            outcome="returned",
            is_structured=isinstance(result, ToolReturn),
            messages=[ModelRequest([value, *prompts])],
            tools=returned.tools,
        )

    @classmethod
    def from_error(cls, error: Exception) -> Self:
        """Return the record of one of `TOOL_ERRORS`."""
        is_final = isinstance(error, ToolFailed | ToolFailedError)
        # Pydantic AI wraps a tool's error; the original has the sentence without the wrapping.
        cause = error.__cause__
        original = cause if isinstance(cause, ModelRetry | ToolFailed) else error
        return cls(outcome="failed" if is_final else "retry", error=str(original))

    def replay(self) -> object:
        """Return the recorded result.

        Raises:
            ModelRetry: If it wants the model to try again.
            ToolFailed: If it has failed for good.
        """
        if self.outcome == "retry":
            raise ModelRetry(self.error)
        if self.outcome == "failed":
            raise ToolFailed(self.error)
        value, *prompts = cast("list[Any]", self.messages[0].parts)
        if not self.is_structured:
            return value.content
        return ToolReturn(
            return_value=value.content,
            content=prompts[0].content if prompts else None,
            metadata=value.metadata,
            tools=self.tools,
        )
