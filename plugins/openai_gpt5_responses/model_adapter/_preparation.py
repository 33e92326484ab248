"""What the very first call would wait for, done before it comes."""

import gc
from contextlib import suppress
from importlib import import_module

from gpt5_messages import Usage
from gpt5_responses import ResponsesError, prepare_transport

from ._chunks import chunk, text_message
from ._pricing import price_usage


def prepare() -> None:
    """Make what all calls share: the official client's classes, what is trusted, the prices, and Dify's classes, which pydantic completes at their first use.

    What cannot be made is left to the call, which says so.
    """
    gc.disable()
    try:
        import_module("._call", __package__)
        with suppress(ResponsesError):
            prepare_transport()
        usage = price_usage("", Usage(), latency_seconds=0)
        chunk("", 0, text_message("", None), usage=usage).model_dump()
        gc.freeze()
    finally:
        gc.enable()
