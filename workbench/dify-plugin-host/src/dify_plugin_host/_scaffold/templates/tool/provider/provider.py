"""The provider of the tools."""

from typing import Any

from dify_plugin import ToolProvider


class Provider(ToolProvider):
    """A provider that needs no credentials."""

    def _validate_credentials(self, credentials: dict[str, Any]) -> None:
        """Accept whatever comes.

        Once provider.yaml has `credentials_for_provider`, try them here and raise a `CredentialsValidateFailedError`, of
        `dify_plugin.errors.model`, if they do not work: Dify shows its text in the form, and of any other error the traceback as well.
        """
