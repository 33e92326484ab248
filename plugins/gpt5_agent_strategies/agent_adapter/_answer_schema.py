"""The JSON schema of the answer: the node's parameter, the model's parameters, and the answer in Dify's form."""

import json
from typing import Any

from agent_loop import CallModel
from agent_tooling import AnswerSchema, DeclarationError

from ._errors import ParameterError
from ._model import Model


_FIELD = "answer_schema"


def read_answer_schema(value: object) -> AnswerSchema | None:
    """Read the schema; None if there is none.

    Raises:
        ParameterError: If it is not a JSON schema.
    """
    if value is None:
        return None
    if not isinstance(value, str | dict):
        raise ParameterError(_FIELD, "a JSON schema", value)
    try:
        return AnswerSchema.parse(value)
    except DeclarationError as error:
        raise ParameterError(_FIELD, "a JSON schema", value, sentence=str(error)) from None


def build_format(request: CallModel, model: Model) -> dict[str, Any]:
    """Return the model's parameters that make the schema its format; nothing if there is no schema or the model takes no formats."""
    if request.answer_schema is None or not model.has_answer_format:
        return {}
    named = {"name": "answer", "schema": request.answer_schema}
    return {
        "response_format": "json_schema",
        "json_schema": json.dumps(named, ensure_ascii=False),
    }


def to_json_object(value: Any) -> Any:
    """Return the value of an answer in the form of a JSON message: an object or a list, with anything else inside an object."""
    return value if isinstance(value, dict | list) else {"answer": value}
