"""Dify's entry point for the provider, which checks its credentials."""

from collections.abc import Mapping
from typing import override

from dify_plugin import ModelProvider

import model_adapter
from gpt5_responses import validate_server


class OpenAIGPT5Provider(ModelProvider):
    """The provider, with the credentials that a user enters."""

    @override
    def validate_provider_credentials(self, credentials: Mapping) -> None:
        """Check that the server accepts the key.

        Raises:
            CredentialsValidateFailedError: If it does not; the sentence may be shown to the user.
        """
        with model_adapter.validated_connection(credentials) as connection:
            validate_server(connection)
