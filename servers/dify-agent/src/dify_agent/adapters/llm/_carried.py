"""The data of an answer that goes back to its plugin, kept in the message history beside the answer's parts.

It consists of the text as the plugin gave it, because some plugins rebuild their model's reasoning from its `<think>` blocks, and of the
`opaque_body` that the plugin attached. Both are kept in the `provider_details` of the `ModelResponse`, which Pydantic AI stores with the
history, and go back only to the provider and plugin that made them.

Source: docs/contracts/dify-agent.md, C47 and C48.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from pydantic_ai.messages import ModelResponse, ModelResponsePart, TextPart, ThinkingPart

from stream_text import render_thinking


OPAQUE_BODY_KEY: Final = "opaque_body"
MODEL_PROVIDER_KEY: Final = "model_provider"
_TEXT_KEY: Final = "text"
_DIGEST_KEY: Final = "text_digest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """The data of an answer that goes back to its plugin.

    Attributes:
        text: Its text, including thoughts.
        opaque_body: The plugin's own data to be sent back with it; None if there is none.
    """

    text: str
    opaque_body: object


def build_text_details(text: str, parts: Iterable[ModelResponsePart]) -> dict[str, object]:
    """Build the details that keep an answer's text as it came; empty if its parts amount to the same text.

    The digest is that of the parts: once somebody has changed them, they count instead of the text.
    """
    rendered = _render_text(parts)
    return {} if rendered == text else {_TEXT_KEY: text, _DIGEST_KEY: _digest(rendered)}


def read_carried(response: ModelResponse, *, provider_name: str, model_provider: str) -> Carried:
    """Return the data of a response that goes back; for another provider's response, the text of its parts.

    Args:
        response: A response of the history.
        provider_name: Name of the Pydantic AI provider that the request goes to.
        model_provider: The provider inside the plugin.
    """
    rendered = _render_text(response.parts)
    details = response.provider_details or {}
    if (response.provider_name, details.get(MODEL_PROVIDER_KEY)) != (provider_name, model_provider):
        return Carried(text=rendered, opaque_body=None)
    is_unchanged = details.get(_DIGEST_KEY) == _digest(rendered)
    text = str(details.get(_TEXT_KEY, rendered)) if is_unchanged else rendered
    return Carried(text=text, opaque_body=details.get(OPAQUE_BODY_KEY))


def _render_text(parts: Iterable[ModelResponsePart]) -> str:
    texts: list[str] = []
    for part in parts:
        if isinstance(part, TextPart):
            texts.append(part.content)
        elif isinstance(part, ThinkingPart) and part.content:
            texts.append(render_thinking(part.content))
    return "".join(texts)


def _digest(text: str) -> str:
    # A lone half of a surrogate pair, which a model may write, has no UTF-8 otherwise.
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
