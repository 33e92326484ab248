"""What must not stand in any text that leaves the plugin."""

from collections.abc import Mapping

from stream_text import KnownSecrets


def known_secrets(credentials: Mapping[str, object]) -> KnownSecrets:
    """Return the key, as it was typed and as it is used."""
    key = str(credentials.get("openai_api_key") or "")
    return KnownSecrets((key, key.strip()))
