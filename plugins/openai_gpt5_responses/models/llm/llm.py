"""Dify's entry point for the models."""

from collections.abc import Generator, Mapping
from typing import Literal, override

from dify_plugin import LargeLanguageModel
from dify_plugin.entities.model.llm import LLMPollingResult, LLMResultChunk
from dify_plugin.entities.model.message import PromptMessage, PromptMessageTool
from dify_plugin.entities.model.schema import AIModelEntity
from dify_plugin.errors.model import InvokeError
from pydantic import JsonValue

import model_adapter
from gpt5_responses import validate_model


class OpenAIGPT5LargeLanguageModel(LargeLanguageModel):
    """The GPT-5 and GPT-6 models over the Responses API."""

    @override
    def _invoke(
        self,
        model: str,
        credentials: dict,
        prompt_messages: list[PromptMessage],
        model_parameters: dict,
        tools: list[PromptMessageTool] | None = None,
        stop: list[str] | None = None,
        stream: bool = True,
        user: str | None = None,
    ) -> Generator[LLMResultChunk, None, None]:
        # The SDK maps errors only while it calls this method, not while it iterates, so they are
        # mapped here.
        with model_adapter.invoke_errors(credentials):
            yield from model_adapter.iter_chunks(
                model_adapter.ModelCall(
                    model=model,
                    credentials=credentials,
                    messages=prompt_messages,
                    parameters=model_parameters,
                    tools=tools or (),
                    stop=stop or (),
                    stream=stream,
                    user=user,
                )
            )

    @override
    def _start_polling(
        self,
        model: str,
        credentials: dict,
        prompt_messages: list[PromptMessage],
        model_parameters: dict,
        tools: list[PromptMessageTool] | None = None,
        stop: list[str] | None = None,
        stream: Literal[False] = False,
        user: str | None = None,
        *,
        json_schema: dict[str, JsonValue] | None = None,
    ) -> LLMPollingResult:
        return model_adapter.start_polling(
            model_adapter.ModelCall(
                model=model,
                credentials=credentials,
                messages=prompt_messages,
                parameters=model_parameters,
                tools=tools or (),
                stop=stop or (),
                stream=stream,
                user=user,
            ),
            json_schema,
        )

    @override
    def _check_polling(
        self,
        model: str,
        credentials: dict,
        plugin_state: dict[str, JsonValue],
        user: str | None = None,
    ) -> LLMPollingResult:
        call = model_adapter.ModelCall(model=model, credentials=credentials, user=user)
        return model_adapter.check_polling(call, plugin_state)

    @override
    def _validate_and_filter_model_parameters(
        self, model: str, model_parameters: dict, credentials: dict
    ) -> dict:
        # The SDK's own check raises an error that Dify does not know. The request builder checks the
        # same, and names the field.
        rules = self.get_parameter_rules(model, credentials)
        return model_adapter.known_parameters(
            model_parameters,
            (rule.name for rule in rules),
            model=model_adapter.base_model(model, credentials),
        )

    @override
    def get_num_tokens(
        self,
        model: str,
        credentials: dict,
        prompt_messages: list[PromptMessage],
        tools: list[PromptMessageTool] | None = None,
    ) -> int:
        """Count the input tokens of a call, without network access."""
        return model_adapter.estimate_tokens(
            model_adapter.ModelCall(
                model=model, credentials=credentials, messages=prompt_messages, tools=tools or ()
            )
        )

    @override
    def validate_credentials(self, model: str, credentials: Mapping) -> None:
        """Check that the server answers with this model.

        Raises:
            CredentialsValidateFailedError: If it does not; the sentence may be shown to the user.
        """
        with model_adapter.validated_connection(credentials) as connection:
            validate_model(connection, model)

    @override
    def get_customizable_model_schema(self, model: str, credentials: Mapping) -> AIModelEntity:  # pyright: ignore[reportGeneralTypeIssues]  the SDK hides this class's type
        """Return the form of any model name, with the parameters and features of its family."""
        return model_adapter.customizable_schema(model, self.predefined_models(), credentials)

    @property
    @override
    def _invoke_error_mapping(self) -> dict[type[InvokeError], list[type[Exception]]]:
        return model_adapter.INVOKE_ERRORS
