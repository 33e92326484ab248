from dify_plugin import Tool
from dify_plugin.entities.model.message import UserPromptMessage
from dify_plugin.entities.tool import ToolProviderType


class Ask(Tool):
    def _invoke(self, tool_parameters):
        given = tool_parameters
        model = {"provider": given["provider"], "model": given["model"], "mode": "chat"}
        question = [UserPromptMessage(content=given["question"])]
        answer = ""
        for chunk in self.session.model.llm.invoke(
            model_config={**model, "completion_params": {}}, prompt_messages=question, stream=True
        ):
            answer += chunk.delta.message.content
            yield self.create_text_message(chunk.delta.message.content)
        self.session.storage.set("answer", answer.encode())
        if tool := given.get("tool"):
            parameters = {"text": self.session.storage.get("answer").decode()}
            yield from self.session.tool.invoke(
                ToolProviderType.BUILT_IN, given["tool_provider"], tool, parameters
            )
