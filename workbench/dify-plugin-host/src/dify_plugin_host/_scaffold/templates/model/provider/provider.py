"""The provider of the models."""

from typing import Any

from dify_plugin import ModelProvider
from dify_plugin.errors.model import CredentialsValidateFailedError, InvokeError

from chat_api import ChatApi


class Provider(ModelProvider):
    """A provider that is asked for its models with an API key."""

    def validate_provider_credentials(self, credentials: dict[str, Any]) -> None:
        """Try the credentials, before Dify stores them.

        Raises:
            CredentialsValidateFailedError: If the server does not take them; Dify shows the text in the form.
        """
        try:
            ChatApi.of(credentials).list_models()
        except InvokeError as error:
            raise CredentialsValidateFailedError(str(error)) from error
