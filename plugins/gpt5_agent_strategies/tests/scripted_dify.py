"""Dify's side of a run, as the tests script it: what the model says, what the tools give, and what was asked of both."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Self

from dify_plugin_host import (
    BackwardsError,
    BackwardsRequest,
    PluginInvokeError,
    PluginProcess,
    initialize_parameters,
)


PATIENCE_SECONDS = 5
"""For how long plugins wait where a test waits until they do not: so late may a busy machine be with what comes in time."""

PROVIDER = "someone/models/models"
SHOWN_ALONE = "InvokeBadRequestError"
"""The name of an error whose text Dify shows alone.

Of others it shows the whole JSON behind words of its own (docs/evidence/dify-platform.md, P28).
"""


def chunk(text="", *, calls=(), usage=None, finish=None, opaque=None, content=None):
    return {
        "model": "gpt-5.2",
        "delta": {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": text if content is None else content,
                "tool_calls": list(calls),
                "opaque_body": opaque,
            },
            "usage": usage,
            "finish_reason": finish,
        },
    }


def call(name, arguments="{}", *, id_="c1"):
    return {
        "id": id_,
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }


def usage(prompt=10, completion=5, price="0.0002"):
    part = "0" if price == "0" else "0.0001"
    return {
        "prompt_tokens": prompt,
        "prompt_unit_price": "1.25",
        "prompt_price_unit": "0.000001",
        "prompt_price": part,
        "completion_tokens": completion,
        "completion_unit_price": "10",
        "completion_price_unit": "0.000001",
        "completion_price": part,
        "total_tokens": prompt + completion,
        "total_price": price,
        "currency": "USD",
        "latency": 0.5,
    }


def parameter(name, type_="string", *, form="llm", **rest):
    label = {"en_US": name}
    return {
        "name": name,
        "label": label,
        "human_description": label,
        "type": type_,
        "form": form,
        "llm_description": name,
        **rest,
    }


def tool(name, *parameters, provider="someone/tools/tools", **rest):
    label = {"en_US": name}
    return {
        "identity": {"author": "someone", "name": name, "label": label, "provider": provider},
        "description": {"human": label, "llm": f"Does {name}."},
        "parameters": list(parameters),
        "provider_type": "builtin",
        **rest,
    }


def text_message(text):
    return {"type": "text", "message": {"text": text}}


@dataclass
class Transcript:
    """What a run told Dify."""

    # Not in its `repr`, which `asyncio.Runner` makes of what it has run: of some tests' it takes as long as the rest.
    messages: list[dict[str, Any]] = field(default_factory=list, repr=False)
    error: PluginInvokeError | None = None

    def of(self, kind):
        return [message for message in self.messages if message["type"] == kind]

    @property
    def text(self):
        return "".join(message["message"]["text"] for message in self.of("text"))

    @property
    def final_answer(self):
        """The output of that name, as Dify joins it; None if there is none."""
        pieces = [message["message"] for message in self.of("variable")]
        assert all(
            (one["variable_name"], one["stream"]) == ("final_answer", True) for one in pieces
        )
        return "".join(one["variable_value"] for one in pieces) if pieces else None

    @property
    def logs(self):
        """The last state of each log, by label."""
        last = {message["message"]["id"]: message["message"] for message in self.of("log")}
        return {log["label"]: log for log in last.values()}

    @property
    def metadata(self):
        [message] = self.of("json")
        return message["message"]["json_object"]["execution_metadata"]


class ScriptedDify:
    """A Dify that answers a plugin's calls by script, and keeps what was asked.

    `model` holds a list of chunks per model call; an exception among them is raised there. `tools` maps a tool's name to what it gives: a list
    of messages, or a function of its parameters that returns or asynchronously yields them. `uploads` is where files are uploaded to.
    """

    def __init__(self):
        self.model = []
        self.tools = {}
        self.model_requests = []
        self.tool_requests = []
        self.uploads = ""

    async def answer(self, request: BackwardsRequest) -> AsyncIterator[dict[str, Any]]:
        if request.type == "llm":
            self.model_requests.append(request.request)
            items = self.model.pop(0) if self.model else [DifyError("nothing left to say")]
        elif request.type == "upload_file":
            items = [{"url": self.uploads}]
        else:
            self.tool_requests.append(request.request)
            items = self.tools.get(request.request["tool"], [DifyError("no such tool")])
        if callable(items):
            items = items(request.request)
        if hasattr(items, "__aiter__"):
            async for item in items:
                yield item
            return
        for item in items:
            if isinstance(item, Exception):
                raise item
            yield item


class Agent:
    """The plugin process, and the Dify that a test scripts around it."""

    def __init__(self, runner: asyncio.Runner):
        self.process: PluginProcess | None = None
        self._runner = runner
        self.dify = ScriptedDify()
        self.notices = []  # What the plugin wrote into its own log since its start.
        self._first = 0

    def answer(self, request):
        return self.dify.answer(request)

    def reset(self) -> Self:
        """Forget the last test's Dify."""
        self.dify = ScriptedDify()
        self._first = len(self.notices)
        return self

    @property
    def log(self):
        """What the plugin wrote into its own log since the last test."""
        return "\n".join(notice.text for notice in self.notices[self._first :])

    def run(self, *, strategy="gpt5_function_calling", **parameters) -> Transcript:
        return self._runner.run(self.arun(strategy=strategy, **parameters))

    def run_async(self, awaitable):
        """Run several runs, or whatever else has to be awaited, in the process's loop."""
        return self._runner.run(awaitable)

    async def arun(self, *, strategy, raw=None, **parameters) -> Transcript:
        """Run a strategy with what Dify makes of the parameters; those of `raw` are sent as they are."""
        transcript = Transcript()
        [declared] = [one for one in self.process.declarations.strategies if one.name == strategy]
        given = build_parameters(**parameters)
        sent = initialize_parameters(declared.parameters.values(), given) | (raw or {})
        try:
            async for message in self.process.invoke(
                "agent_strategy",
                "invoke_agent_strategy",
                {
                    "agent_strategy_provider": "gpt5_agent_strategies",
                    "agent_strategy": strategy,
                    "agent_strategy_params": sent,
                },
            ):
                transcript.messages.append(message)
        except PluginInvokeError as error:
            transcript.error = error
        return transcript


def build_parameters(*, model=None, **parameters):
    return {
        "model": {
            "provider": PROVIDER,
            "model": "gpt-5.2",
            "model_type": "llm",
            "mode": "chat",
            "completion_params": {},
            "entity": None,
            **(model or {}),
        },
        "tools": [tool("idle")],  # Dify runs no strategy without one
        "instruction": "Be brief.",
        "query": "What is 2 + 2?",
        "maximum_iterations": 6,
        **parameters,
    }


class DifyError(BackwardsError):
    """The platform reports a failure."""
