"""Dify's part of a call: the credentials it keeps, the models it calls for a strategy, and what an agent node sends."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from client import DaemonClient
from dify_plugin_host import PythonTool, ToolParameter, initialize_parameters


type Json = dict[str, Any]

MODEL_PLUGIN = "gpt5-agent/openai_gpt5_responses"
PROVIDER = "openai_gpt5_responses"
STRATEGY_PLUGIN = "gpt5-agent/gpt5_agent_strategies"
MODEL = "gpt-5.2"
KEY = "sk-real-daemon-0123456789"
LOOK_UP = PythonTool(
    name="look_up",
    description="Returns a page.",
    parameters=(ToolParameter(name="page", hint=int, type="number"),),
    function=str,  # not called: the inner API answers
)


def credentials(base_url: str) -> Json:
    """Return what the model plugin needs for the server at `base_url`."""
    return {"openai_api_key": KEY, "openai_api_base": base_url}


def model_call(base_url: str, *messages: Json, **parameters: Any) -> Json:
    """Return the `data` of a call of the model."""
    return {
        "provider": PROVIDER,
        "model": MODEL,
        "model_type": "llm",
        "stream": True,
        "credentials": credentials(base_url),
        "model_parameters": parameters,
        "prompt_messages": list(messages),
        "tools": [],
        "stop": [],
    }


def user(text: str) -> Json:
    """Return a user's message."""
    return {"role": "user", "content": text}


@dataclass
class Models:
    """The answers to a strategy's model calls, by the model plugin that the daemon runs.

    Attributes:
        client: The daemon.
        base_url: The Responses server behind the model plugin.
        to_model: What Dify makes of each message on its way to the model.
        to_strategy: What it makes of each chunk on its way back.
    """

    client: DaemonClient
    base_url: str
    to_model: Callable[[Json], Json]
    to_strategy: Callable[[Json], Json]

    def answer(self, request: Json) -> Iterator[Json]:
        """Answer one call, chunk by chunk."""
        messages = map(self.to_model, request["prompt_messages"])
        data = {
            **model_call(self.base_url, *messages, **request["completion_params"]),
            "tools": request.get("tools") or [],
            "stop": request.get("stop") or [],
        }
        yield from map(self.to_strategy, self.client.call(MODEL_PLUGIN, "llm/invoke", data))


def unchanged(value: Json) -> Json:
    """Return a message or chunk as it came."""
    return value


def without_opaque_body(chunk: Json) -> Json:
    """Drop what today's releases of Dify do not know: `opaque_body`, on the message and on its parts."""
    message = _without(chunk["delta"]["message"], "opaque_body")
    if isinstance(message["content"], list):
        message["content"] = [_without(part, "opaque_body") for part in message["content"]]
    return {**chunk, "delta": {**chunk["delta"], "message": message}}


def run_agent(
    client: DaemonClient,
    base_url: str,
    *tools: PythonTool,
    strategy: str = "gpt5_function_calling",
    query: str = "Look it up.",
    history: Sequence[Json] = (),
    conversation: str | None = None,
    **parameters: Any,
) -> list[Json]:
    """Run a strategy as Dify's agent node does, in a conversation or in a workflow, and return its messages; without other tools it has `LOOK_UP`."""
    schema = _model_schema(client, base_url)
    model: Mapping[str, Any] = {
        "provider": f"{MODEL_PLUGIN}/{PROVIDER}",
        "model": MODEL,
        "model_type": "llm",
        "mode": "chat",
        "completion_params": {},
        "history_prompt_messages": list(history),
        "entity": schema,
    }
    given = {
        "model": model,
        "tools": [tool.to_entity() for tool in tools or [LOOK_UP]],
        "query": query,
        "instruction": "Be brief.",
        "maximum_iterations": 10,
        **parameters,
    }
    context = {"credentials": {"tool_credentials": {}}}
    origin = {"conversation_id": conversation, "app_id": "app"} if conversation else {}
    provider = f"{STRATEGY_PLUGIN}/gpt5_agent_strategies"
    return call_strategy(client, provider, strategy, given, context=context, **origin)


def call_strategy(
    client: DaemonClient, provider: str, strategy: str, given: Json, **body: Any
) -> list[Json]:
    """Call a strategy with what Dify makes of a node's values, and return its messages.

    Args:
        client: The daemon, which says what the strategy declares.
        provider: The strategy's provider, `author/plugin/provider`.
        strategy: The strategy.
        given: The node's values.
        body: What the request says besides.
    """
    plugin, _, name = provider.rpartition("/")
    told = client.manage("GET", "agent_strategy", params={"plugin_id": plugin, "provider": name})
    [declared] = [
        one["parameters"]
        for one in told["declaration"]["strategies"]
        if one["identity"]["name"] == strategy
    ]
    data = {
        "agent_strategy_provider": name,
        "agent_strategy": strategy,
        "agent_strategy_params": initialize_parameters(declared, given),
    }
    return list(client.call(plugin, "agent_strategy/invoke", data, **body))


def text_of(messages: list[Json]) -> str:
    """Return what a user reads of a run."""
    return "".join(
        message["message"]["text"] for message in messages if message["type"] in {"text", "stream"}
    )


def answer_of(chunks: list[Json]) -> str:
    """Return the text of a model's answer."""
    return "".join(_text(chunk["delta"]["message"]["content"]) for chunk in chunks)


def _without(values: Json, name: str) -> Json:
    return {key: value for key, value in values.items() if key != name}


def _text(content: str | list[Json]) -> str:
    return content if isinstance(content, str) else "".join(part["data"] for part in content)


def _model_schema(client: DaemonClient, base_url: str) -> Json:
    data = {
        "provider": PROVIDER,
        "model_type": "llm",
        "model": MODEL,
        "credentials": credentials(base_url),
    }
    [answer] = client.call(MODEL_PLUGIN, "model/schema", data)
    return answer["model_schema"]
