"""Dify's entry to the provider: checks its credentials."""

from collections.abc import Mapping
from typing import override

from dify_plugin import ModelProvider

from gpt5_responses import check_server
from model_adapter import validated_connection


class OpenAIGPT5Provider(ModelProvider):
    """Check what a user has typed into the provider's form."""

    @override
    def validate_provider_credentials(self, credentials: Mapping) -> None:
        """Find out whether the server takes the key.

        Raises:
            CredentialsValidateFailedError: It does not; the sentence may be shown to the user.
        """
        with validated_connection(credentials) as connection:
            check_server(connection)
