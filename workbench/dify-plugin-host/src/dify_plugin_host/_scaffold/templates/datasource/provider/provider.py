"""The provider of the data source."""

from collections.abc import Mapping
from typing import Any

from dify_plugin.errors.model import CredentialsValidateFailedError
from dify_plugin.interfaces.datasource import DatasourceProvider

from json_feed import FeedError, read_feed


class Provider(DatasourceProvider):
    """A provider that knows the address of a feed."""

    def _validate_credentials(self, credentials: Mapping[str, Any]) -> None:
        """Read the feed, before Dify stores its address.

        Raises:
            CredentialsValidateFailedError: If there is none; Dify shows the text in the form, and of any other error the traceback as well.
        """
        try:
            read_feed(str(credentials.get("feed_url") or ""))
        except FeedError as error:
            raise CredentialsValidateFailedError(str(error)) from error
