"""Other programs' request classes, asked about our bodies.

It runs in the environment `classes` with the name of a class, reads bodies as lines of JSON, and prints why the class
refuses each that it does.

The wheels of vLLM and SGLang are unpacked there without what they depend on, so that modules that need a GPU or a model are stood in for.
"""

import importlib
import importlib.abc
import importlib.machinery
import json
import sys
from copy import deepcopy
from typing import Any
from unittest.mock import MagicMock


# What is read of a package as it is; all else of it is stood in for.
_READ = {
    "vllm": (
        *("vllm.entrypoints.openai.responses.protocol", "vllm.entrypoints.openai.responses.utils"),
        *("vllm.entrypoints.serve.engine.protocol", "vllm.entrypoints.generate.base.protocol"),
        *("vllm.exceptions", "vllm.tool_parsers.utils"),
    ),
    "sglang": ("sglang.srt.entrypoints.openai.protocol",),
}


class _StandIn(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """A finder of modules that have every name that is asked of them."""

    def find_spec(self, fullname, path=None, target=None):
        """Find a module of the two packages that is not read."""
        del path, target
        package = fullname.partition(".")[0]
        if package not in _READ or fullname in _READ[package]:
            return None
        found = importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        real = importlib.machinery.PathFinder.find_spec(package)
        below = fullname.replace(".", "/").removeprefix(package).removeprefix("/")
        found.submodule_search_locations = [
            f"{place}/{below}" for place in real.submodule_search_locations
        ]
        return found

    def exec_module(self, module):
        """Give the module its names: whatever looks like a class is any value, the rest can be called."""
        module.__getattr__ = _stand_in


def _stand_in(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Any if name[0].isupper() and not name.isupper() else MagicMock(name=name)


def _vllm(body):
    protocol = importlib.import_module("vllm.entrypoints.openai.responses.protocol")
    read = protocol.ResponsesRequest.model_validate(body)
    # Its class keeps some items as they are; its converter is what refuses them.
    utils = importlib.import_module("vllm.entrypoints.openai.responses.utils")
    utils.construct_input_messages(
        request_instructions=read.instructions, request_input=read.input, prev_msg=None
    )


def _sglang(body):
    protocol = importlib.import_module("sglang.srt.entrypoints.openai.protocol")
    protocol.ResponsesRequest.model_validate(body)


def _openrouter(body):
    components = importlib.import_module("openrouter.components")
    components.ResponsesRequest.model_validate(body)


def _open_responses(body):
    types = importlib.import_module("openresponses_types")
    types.CreateResponseBody.model_validate(body)


_MOST_TOLD = 200  # characters
_CLASSES = {
    "vllm": _vllm,
    "sglang": _sglang,
    "openrouter": _openrouter,
    "open-responses": _open_responses,
}


def _find_refused(read, body):
    """Return which parts of a body a class refuses, each on its own, with its words."""
    items = body["input"] if isinstance(body["input"], list) else []
    parts = {f"input: {json.dumps(item)}": {"input": [item]} for item in items}
    others = body.keys() - ({"input"} if items else set())
    parts |= {f"{name}: {json.dumps(body[name])}": {name: body[name]} for name in sorted(others)}
    least = {"model": body["model"], "input": "Hello."}
    alone = {what: _try(read, {**least, **part}) for what, part in parts.items()}
    return {what: words for what, words in alone.items() if words} or _try(read, body)


def _try(read, body):
    try:
        read(deepcopy(body))  # vLLM puts objects of its own into it
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a refusal
        return f"{type(error).__name__}: {error}"[:_MOST_TOLD]
    return None


def _main(name):
    sys.meta_path.insert(0, _StandIn())
    read = _CLASSES[name]
    for body in map(json.loads, sys.stdin):
        if _try(read, body):
            print(json.dumps(_find_refused(read, body)))  # noqa: T201 - what it is for


if __name__ == "__main__":
    _main(sys.argv[1])
