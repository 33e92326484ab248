"""What must not stand in any text that leaves the plugin."""

from collections.abc import Mapping
from typing import cast

from stream_text import KnownSecrets


def known_secrets(credentials: object) -> KnownSecrets:
    """Return the key, as it was typed and as it is used; what is no mapping of credentials counts as a key itself."""
    if isinstance(credentials, Mapping):
        credentials = cast("Mapping[str, object]", credentials).get("openai_api_key")
    key = str(credentials or "")
    return KnownSecrets((key, key.strip()))
