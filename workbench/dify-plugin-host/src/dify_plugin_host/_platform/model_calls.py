"""Calls of models of every type, as Dify makes them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dify_plugin_host._errors import UnknownNameError
from dify_plugin_packager.json_access import JsonObject


_ACTIONS: Mapping[str, str] = {
    "llm": "invoke_llm",
    "moderation": "invoke_moderation",
    "rerank": "invoke_rerank",
    "speech2text": "invoke_speech2text",
    "text-embedding": "invoke_text_embedding",
    "tts": "invoke_tts",
}
# What Dify sends where a caller says nothing else.
_DEFAULTS: Mapping[str, JsonObject] = {
    "llm": {"model_parameters": {}, "tools": [], "stop": [], "stream": True},
    "rerank": {"score_threshold": None, "top_n": None},
    "text-embedding": {"input_type": "document"},
    "tts": {"voice": "", "tenant_id": "local"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One call of a model of any type; for an LLM `LLMRequest` says more.

    Attributes:
        model: The model's name.
        model_type: Its type, such as `"text-embedding"`.
        fields: The call's fields in the protocol, such as `{"texts": ["hello"]}`.
        provider: The provider's name, short or long; None if there is only one.
        credentials: The credentials to send; None sends those of the host.
        user_id: The user on whose behalf the call is made.
    """

    model: str
    model_type: str
    fields: Mapping[str, Any]
    provider: str | None = None
    credentials: Mapping[str, Any] | None = field(default=None, repr=False)
    user_id: str = "host"


def action_of(request: ModelRequest) -> tuple[str, JsonObject]:
    """Return the action of a call, and its fields without those that name provider and credentials.

    Raises:
        UnknownNameError: If there is no such type of models.
    """
    kind = request.model_type
    if kind not in _ACTIONS:
        raise UnknownNameError("type of models", kind, tuple(_ACTIONS))
    named = {"model": request.model, "model_type": kind}
    return _ACTIONS[kind], {**named, **_DEFAULTS.get(kind, {}), **request.fields}
