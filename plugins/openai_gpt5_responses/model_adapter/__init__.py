"""Translation between Dify's types and the packages, one module per subject."""

from ._answer import make_pacer
from ._call import iter_chunks, prepare
from ._error_mapping import (
    INVOKE_ERRORS,
    invoke_errors,
    request_errors,
    shorten_line,
    validated_connection,
)
from ._model_call import ModelCall, base_model
from ._parameters import known_parameters
from ._polling import check_polling, start_polling
from ._schema import customizable_schema
from ._tokens import estimate_tokens, text_counter
from ._wide_pipe import widen_pipe


__all__ = [
    "INVOKE_ERRORS",
    "ModelCall",
    "base_model",
    "check_polling",
    "customizable_schema",
    "estimate_tokens",
    "invoke_errors",
    "iter_chunks",
    "known_parameters",
    "make_pacer",
    "prepare",
    "request_errors",
    "shorten_line",
    "start_polling",
    "text_counter",
    "validated_connection",
    "widen_pipe",
]
