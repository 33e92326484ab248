"""Calls of a model without an agent, as Dify's LLM node makes them: the answer comes as the messages that a strategy would send."""

import contextlib
from collections.abc import AsyncGenerator

from dify_plugin_host._platform.agent_node import AgentRequest
from dify_plugin_host._platform.llm_chunks import build_message, content_messages
from dify_plugin_host._platform.models import LLMRequest
from dify_plugin_host._platform.plugin_host import PluginHost
from dify_plugin_host._platform.polling import is_polled
from dify_plugin_packager.json_access import JsonObject, object_at


async def ask_model(host: PluginHost, request: AgentRequest) -> AsyncGenerator[JsonObject]:
    """Call the model of a request once, or poll it if it declares that, and yield messages: text, files, and the cost at the end.

    Raises:
        FileInputError: If the model has no feature for a file.
        PluginHostError: If the call fails.
    """
    await host.refresh()
    message = await host.user_message(request.query, request.files, model=request.model)
    system = {"role": "system", "content": request.instruction}
    call = LLMRequest(
        model=request.model,
        messages=[*([system] if request.instruction else []), *request.history, message],
        parameters=request.completion_params,
    )
    yield build_message("log", {"id": "1", "label": "ROUND 1", "status": "start"})
    schema = await host.model_schema(request.model)
    answer = _polled(host, call) if is_polled(schema) else _streamed(host, call)
    async with contextlib.aclosing(answer) as messages:
        async for message in messages:
            yield message


async def _streamed(host: PluginHost, call: LLMRequest) -> AsyncGenerator[JsonObject]:
    usage: JsonObject = {}
    reason: str | None = None
    async with contextlib.aclosing(host.invoke_llm(call)) as chunks:
        async for chunk in chunks:
            delta = object_at(chunk, "delta")
            for message in content_messages(object_at(delta, "message").get("content")):
                yield message
            usage = object_at(delta, "usage") or usage
            reason = delta.get("finish_reason") or reason
    yield _cost({**usage, "stop_reason": reason})


async def _polled(host: PluginHost, call: LLMRequest) -> AsyncGenerator[JsonObject]:
    """Yield the waits for an answer, and the whole answer at the end: a model that is polled streams nothing and gives no finish reason."""
    async with contextlib.aclosing(host.poll_llm(call)) as steps:
        async for step in steps:
            if step.result is None:
                wait = {"attempt": step.attempt, "next_check_after_seconds": step.wait_seconds}
                yield build_message("polling", wait)
                continue
            for message in content_messages(object_at(step.result, "message").get("content")):
                yield message
            yield _cost(object_at(step.result, "usage"))


def _cost(metadata: JsonObject) -> JsonObject:
    return build_message("json", {"json_object": {"execution_metadata": metadata}})
