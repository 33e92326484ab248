"""The language models of the provider."""

from collections.abc import Generator, Mapping
from typing import Any

from dify_plugin import LargeLanguageModel
from dify_plugin.entities.model.llm import LLMResultChunk, LLMResultChunkDelta, LLMUsage
from dify_plugin.entities.model.message import (
    AssistantPromptMessage,
    PromptMessage,
    PromptMessageTool,
)
from dify_plugin.errors.model import CredentialsValidateFailedError, InvokeError

from chat_api import ChatApi, Usage


class ChatModel(LargeLanguageModel):
    """A language model for text: it calls no tools and sees no pictures, so the YAML files name no features."""

    def _invoke(
        self,
        model: str,
        credentials: dict[str, Any],
        prompt_messages: list[PromptMessage],
        model_parameters: dict[str, Any],
        tools: list[PromptMessageTool] | None = None,
        stop: list[str] | None = None,
        stream: bool = True,
        user: str | None = None,
    ) -> Generator[LLMResultChunk]:
        """Yield the model's answer as it comes, or without `stream` at once; the last chunk has the usage.

        The SDK translates no error that comes out of a generator, so `chat_api` raises those that Dify knows by name.
        """
        messages = [
            {"role": message.role.value, "content": message.get_text_content()}
            for message in prompt_messages
        ]
        body = {"model": model, "messages": messages, **model_parameters}
        text, unsent, counted, reason = "", "", None, None
        for piece in ChatApi.of(credentials).stream(body | ({"stop": stop} if stop else {})):
            counted, reason = piece.usage or counted, piece.finish_reason or reason
            text += piece.text
            unsent += piece.text
            if stream and unsent:
                yield _chunk(model, unsent)
                unsent = ""
        counted = counted or Usage(
            prompt_tokens=self.get_num_tokens(model, credentials, prompt_messages),
            completion_tokens=_estimate_tokens(text),
        )
        usage = self._calc_response_usage(
            model, credentials, counted.prompt_tokens, counted.completion_tokens
        )
        yield _chunk(model, unsent, usage, reason)

    def get_num_tokens(
        self,
        model: str,
        credentials: dict[str, Any],
        prompt_messages: list[PromptMessage],
        tools: list[PromptMessageTool] | None = None,
    ) -> int:
        """Estimate the tokens of a prompt, by which Dify decides how much of a conversation is sent."""
        return sum(_estimate_tokens(message.get_text_content()) for message in prompt_messages)

    def validate_credentials(self, model: str, credentials: Mapping[str, Any]) -> None:
        """Try the credentials.

        Raises:
            CredentialsValidateFailedError: If the server does not take them.
        """
        try:
            ChatApi.of(credentials).list_models()
        except InvokeError as error:
            raise CredentialsValidateFailedError(str(error)) from error

    @property
    def _invoke_error_mapping(self) -> dict[type[InvokeError], list[type[Exception]]]:
        """Return which errors the SDK has to translate: none."""
        return {}


def _chunk(
    model: str, text: str, usage: LLMUsage | None = None, reason: str | None = None
) -> LLMResultChunk:
    message = AssistantPromptMessage(content=text)
    delta = LLMResultChunkDelta(index=0, message=message, usage=usage, finish_reason=reason)
    return LLMResultChunk(model=model, delta=delta)


def _estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text: about four bytes each."""
    return len(text.encode()) // 4 + 1
