"""What a plugin wants back with its answer, such as encrypted reasoning, kept in the message history.

A plugin attaches an `opaque_body` to a message or to a part of its content. It is kept in the `provider_details` of the
`ModelResponse`, which Pydantic AI stores with the history, and goes back to the provider of the plugin that made it and to
no other.
"""

from typing import Final

from pydantic_ai.messages import ModelResponse


OPAQUE_BODY_KEY: Final = "opaque_body"
MODEL_PROVIDER_KEY: Final = "model_provider"


def carried_opaque_body(
    response: ModelResponse, *, provider_name: str, model_provider: str
) -> object:
    """Return what goes back with a response; None if there is nothing, or another provider made it.

    Args:
        response: A response of the history.
        provider_name: Name of the Pydantic AI provider that the request goes to.
        model_provider: The provider inside the plugin.
    """
    details = response.provider_details or {}
    is_own = (response.provider_name, details.get(MODEL_PROVIDER_KEY)) == (
        provider_name,
        model_provider,
    )
    return details.get(OPAQUE_BODY_KEY) if is_own else None
