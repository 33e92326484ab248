"""The model that takes over where the first has failed by what another may not have."""

import json
from typing import Any

from agent_loop import FallbackModel

from ._errors import ParameterError
from ._model import Model
from ._settings import Settings
from ._windows import to_window


_FIELD = "fallback_model"
_PROVIDER_PARTS = 3  # author/plugin/provider


def read_fallback(raw: object, model: Model) -> Model | None:
    """Read the parameter: `author/plugin/provider/model`, a model's name alone, or a selector, as JSON or as Dify dumps it. None where no model is named.

    What Dify does not tell of it is taken from `model` where both are of one provider; another provider's is taken to read text alone.

    Raises:
        ParameterError: If it cannot be read, or is `model` itself.
    """
    selector = _read_selector(raw.strip(), model) if isinstance(raw, str) else raw
    if not selector:
        return None
    fallback = Model.from_raw(selector, field=_FIELD).as_known_from(model)
    if fallback.full_name == model.full_name:
        problem = "must be another model than that of the field model"
        raise ParameterError(_FIELD, problem, raw, sentence=f"{_FIELD} {problem}")
    return fallback


def _read_selector(text: str, model: Model) -> Any:
    if text[:1] in ("{", "[", '"'):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise ParameterError(_FIELD, "valid JSON where it begins like it", text) from None
    *provider, name = (part.strip() for part in text.split("/", _PROVIDER_PARTS))
    if len(text.splitlines()) > 1 or not (all(provider) and (name or not text)):
        raise ParameterError(_FIELD, "a model's name, or author/plugin/provider/model", text)
    if len(provider) < _PROVIDER_PARTS:
        return text and {"provider": model.provider, "model": text}
    return {"provider": "/".join(provider), "model": name}


def to_fallback(model: Model, settings: Settings) -> FallbackModel:
    """Return the model as a run knows it."""
    return FallbackModel(
        name=model.full_name,
        has_tool_choice=model.has_tool_choice,
        has_answer_format=model.has_answer_format,
        window=to_window(model.input_tokens, settings),
    )
