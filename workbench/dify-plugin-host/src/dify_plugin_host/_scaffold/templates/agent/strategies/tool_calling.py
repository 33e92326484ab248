"""The strategy `tool_calling`."""

import json
from collections.abc import Generator
from typing import Any

from dify_plugin.entities.agent import AgentInvokeMessage
from dify_plugin.entities.invoke_message import InvokeMessage
from dify_plugin.entities.model.llm import LLMModelConfig, LLMUsage
from dify_plugin.entities.model.message import (
    AssistantPromptMessage,
    PromptMessage,
    PromptMessageTool,
    SystemPromptMessage,
    ToolPromptMessage,
    UserPromptMessage,
)
from dify_plugin.interfaces.agent import AgentModelConfig, AgentStrategy, ToolEntity
from pydantic import BaseModel, Field


type ToolCall = AssistantPromptMessage.ToolCall
_Status = InvokeMessage.LogMessage.LogStatus


class Parameters(BaseModel):
    """The parameters that tool_calling.yaml declares, as Dify sends them."""

    model: AgentModelConfig
    query: str
    instruction: str
    maximum_rounds: int = Field(ge=1)
    tools: list[ToolEntity]


class ToolCalling(AgentStrategy):
    """An agent that lets its model call tools until it answers."""

    def _invoke(self, parameters: dict[str, Any]) -> Generator[AgentInvokeMessage]:
        """Run the agent: yield the model's text as it comes, a log of each tool call, and at the end the usage."""
        given = Parameters.model_validate(parameters)
        tools = {tool.identity.name: tool for tool in given.tools}
        messages: list[PromptMessage] = [
            *([SystemPromptMessage(content=given.instruction)] if given.instruction else []),
            *given.model.history_prompt_messages,
            UserPromptMessage(content=given.query),
        ]
        usage: dict[str, LLMUsage | None] = {"usage": None}
        for left in reversed(range(given.maximum_rounds)):
            # The last round has no tools, so that the model answers with what it has.
            offered = self._init_prompt_tools(given.tools) if left else []
            answer = yield from self._ask(given.model, messages, offered, usage)
            messages.append(answer)
            if not answer.tool_calls:
                break
            for call in answer.tool_calls:
                result = yield from self._call(call, tools.get(call.function.name))
                messages.append(ToolPromptMessage(content=result, tool_call_id=call.id))
        if total := usage["usage"]:
            # Dify takes this as the usage of the node.
            yield self.create_json_message({"execution_metadata": total.model_dump(mode="json")})

    def _ask(
        self,
        model: AgentModelConfig,
        messages: list[PromptMessage],
        tools: list[PromptMessageTool],
        usage: dict[str, LLMUsage | None],
    ) -> Generator[AgentInvokeMessage, None, AssistantPromptMessage]:
        """Ask the model, yield its text, add to the usage, and return the whole answer.

        It is streamed, because without that the SDK loses tool calls of all chunks but the last.
        """
        text, calls = "", list[ToolCall]()
        config = LLMModelConfig.model_validate(model.model_dump(mode="json"))
        for chunk in self.session.model.llm.invoke(config, messages, tools, [], stream=True):
            calls += chunk.delta.message.tool_calls
            if piece := chunk.delta.message.get_text_content():
                text += piece
                yield self.create_text_message(piece)
            if used := chunk.delta.usage:
                self.increase_usage(usage, used)
        return AssistantPromptMessage(content=text, tool_calls=calls)

    def _call(
        self, call: ToolCall, tool: ToolEntity | None
    ) -> Generator[AgentInvokeMessage, None, str]:
        """Call a tool, log the call, and return what the model reads of it; it also reads about a failure."""
        arguments = call.function.arguments
        data = {"arguments": arguments}
        log = self.create_log_message(f"CALL {call.function.name}", data, _Status.START)
        yield log
        try:
            result, error = self._result(tool, arguments), None
        except Exception as failure:  # the class by which the SDK tells of failures in Dify
            result, error = f"The call failed: {failure}", str(failure)
        status = _Status.ERROR if error else _Status.SUCCESS
        # It takes the place of the first one, so the arguments have to be in it as well.
        yield self.finish_log_message(log, status, error, data={**data, "result": result})
        return result

    def _result(self, tool: ToolEntity | None, arguments: str) -> str:
        """Return the messages of a tool, those that can be read, as one text.

        Raises:
            ValueError: If there is no such tool, or the arguments are not JSON.
        """
        if tool is None:
            raise ValueError("there is no such tool")
        found = self.session.tool.invoke(
            tool.provider_type,
            tool.identity.provider,
            tool.identity.name,
            # The values that somebody set by hand in the node are not the model's to change.
            {**json.loads(arguments or "{}"), **tool.runtime_parameters},
            tool.credential_id,
        )
        return "\n".join(filter(None, map(_read, found)))


def _read(message: InvokeMessage) -> str:
    """Return what a model can read of a tool's message; an empty text if it is a file or a log."""
    match message.message:
        case InvokeMessage.TextMessage(text=text):
            return text
        case InvokeMessage.JsonMessage(json_object=value):
            return json.dumps(value, ensure_ascii=False)
        case _:
            return ""
