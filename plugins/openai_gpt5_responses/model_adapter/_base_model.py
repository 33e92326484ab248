"""Which model stands behind a name of a server's own, such as a deployment on Azure."""

from collections.abc import Mapping


BY_NAME = "by-name"


def base_model(model: str, credentials: Mapping[str, object]) -> str:
    """Return the model that the credentials name for this one, or the name itself."""
    chosen = credentials.get("base_model")
    return chosen if isinstance(chosen, str) and chosen.strip() not in ("", BY_NAME) else model
