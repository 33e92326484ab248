"""Between Dify's shapes and the packages: one module for each thing that is translated.

A name is imported when it is first asked for, so that the plugin's start decides when. What calls need, the packages and the official client, takes a
third of it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any


if TYPE_CHECKING:
    from ._base_model import base_model
    from ._call import iter_chunks
    from ._error_mapping import (
        INVOKE_ERRORS,
        invoke_errors,
        request_errors,
        validated_connection,
    )
    from ._lines import shorten_line
    from ._model_call import ModelCall
    from ._operator_settings import PaceSettings
    from ._parameters import known_parameters
    from ._polling import check_polling, start_polling
    from ._preparation import prepare
    from ._schema import customizable_schema
    from ._tokens import estimate_tokens
    from ._vocabulary import text_counter
    from ._wide_pipe import widen_pipe


__all__ = [
    "INVOKE_ERRORS",
    "ModelCall",
    "PaceSettings",
    "base_model",
    "check_polling",
    "customizable_schema",
    "estimate_tokens",
    "invoke_errors",
    "iter_chunks",
    "known_parameters",
    "prepare",
    "request_errors",
    "shorten_line",
    "start_polling",
    "text_counter",
    "validated_connection",
    "widen_pipe",
]

_MODULES = {
    "INVOKE_ERRORS": "_error_mapping",
    "ModelCall": "_model_call",
    "PaceSettings": "_operator_settings",
    "base_model": "_base_model",
    "check_polling": "_polling",
    "customizable_schema": "_schema",
    "estimate_tokens": "_tokens",
    "invoke_errors": "_error_mapping",
    "iter_chunks": "_call",
    "known_parameters": "_parameters",
    "prepare": "_preparation",
    "request_errors": "_error_mapping",
    "shorten_line": "_lines",
    "start_polling": "_polling",
    "text_counter": "_vocabulary",
    "validated_connection": "_error_mapping",
    "widen_pipe": "_wide_pipe",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_MODULES[name]}", __name__), name)
