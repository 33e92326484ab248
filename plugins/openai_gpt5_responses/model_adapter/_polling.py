"""A call that Dify polls: started in the background, then checked until it is finished.

Dify shows the user the text of a `failed` result, but not that of a raised error, so nothing is raised.
"""

import json
import logging
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

from dify_plugin.entities.model.llm import (
    LLMPollingResult,
    LLMPollingStatus,
    LLMResult,
    LLMResultWithStructuredOutput,
    LLMUsage,
)
from dify_plugin.entities.model.message import PromptMessageTool
from dify_plugin.errors.model import InvokeError

from gpt5_messages import (
    Completion,
    ResponseFailure,
    ResumePoint,
    StreamDecoder,
    StreamEvent,
    VisibleText,
)
from gpt5_payloads import PayloadError
from gpt5_responses import (
    ConnectionFailedError,
    RateLimitError,
    ServerError,
    StreamInterruptedError,
    cancel_background,
    poll_background,
)
from stream_text import InvalidJsonError, first_of_equal, parse_json, redact_text

from ._background import RUNNING, begin_response, tokens_of
from ._ending import BUDGET_USED_UP, FinishedAnswer, iter_ending
from ._error_mapping import invoke_errors
from ._model_call import ModelCall
from ._plugin_log import note_model
from ._request import earlier_body, is_answer_only, request_body


_LOGGER = logging.getLogger("dify_plugin.plugin.openai_gpt5_responses")

_STATE = "response"
_TOOLS = "tools"  # by Dify's names, which the result has
_LONGEST_SECONDS = 7200  # As long as Dify polls.
# An answer older than this is cancelled: Dify polls no more than 240 times, which ends after 7,005 seconds or more, and then it would be billed for nobody.
_GIVEN_UP_SECONDS = 6900
_SHORTEST_WAIT, _LONGEST_WAIT = 2, 30
_MOST_METADATA_CHARACTERS = 512
_MOST_SAID_CHARACTERS = 260  # of the server's own words (A39)
_PASSING = (ConnectionFailedError, RateLimitError, ServerError, StreamInterruptedError)

_NO_STATE = "This answer cannot be asked for: it was begun with other credentials, for another user or by another plugin."
_TOO_LONG = "The model took longer than Dify waits for an answer (two hours). It was stopped. Lower reasoning_effort, or ask for less at once."
_CANCELLED = "The answer was cancelled at the server."
_NO_JSON = "The model's answer is not the JSON that was asked for."


def start_polling(
    call: ModelCall, json_schema: Mapping[str, Any] | None = None
) -> LLMPollingResult:
    """Start a background response, and return how to check for it.

    Args:
        call: The call.
        json_schema: The schema that the answer must match, if Dify passes one separately from the parameters.
    """
    try:
        with invoke_errors(call.credentials):
            note_model(call)
            call = replace(call, parameters=_with_schema(call.parameters, json_schema))
            request = request_body(call)
            if metadata := _metadata(call, request):
                request["metadata"] = metadata
            point = ResumePoint(response_id=begin_response(call, request))
            tools = {_TOOLS: [tool.name for tool in call.tools]} if call.tools else {}
            return _running({_STATE: tokens_of(call).write(point)} | tools, _SHORTEST_WAIT)
    except InvokeError as error:
        return _failed(str(error))


def check_polling(call: ModelCall, state: Mapping[str, Any]) -> LLMPollingResult:
    """Return the state of a started response, or its result.

    Args:
        call: The call with what Dify still passes of it: model, credentials and user.
        state: The plugin state that `start_polling` returned to Dify.
    """
    tools = [
        PromptMessageTool(name=name, description="", parameters={})
        for name in state.get(_TOOLS, ())
    ]
    call = replace(call, tools=tools)
    try:
        with invoke_errors(call.credentials):
            point = tokens_of(call).read(str(state.get(_STATE)))
            return _poll(call, point, state) if point else _failed(_NO_STATE)
    except InvokeError as error:
        return _failed(str(error))


def _poll(call: ModelCall, point: ResumePoint, state: Mapping[str, Any]) -> LLMPollingResult:
    try:
        completion = poll_background(call.connection, point.response_id)
        if completion.status not in RUNNING:
            return _result(call, completion)
        age = _age(completion)
        if age > _GIVEN_UP_SECONDS:
            cancel_background(call.connection, point.response_id)
            return _failed(_TOO_LONG)
    except _PASSING as error:
        # An answer is not lost because one attempt to fetch it failed.
        _LOGGER.warning(
            "%s while an answer was asked for; it is asked for again.", type(error).__name__
        )
        return _running(state, _LONGEST_WAIT)
    # Short answers are soon fetched, and long ones not polled too often.
    return _running(state, min(max(int(age / 2), _SHORTEST_WAIT), _LONGEST_WAIT))


def _result(call: ModelCall, completion: Completion) -> LLMPollingResult:
    """Return the result of a response that has ended."""
    if completion.status == "cancelled":
        return _failed(_CANCELLED)
    answer_only = "answer" in completion.metadata
    visible = VisibleText(
        json.loads(completion.metadata.get("stop", "[]")),
        answer_only=answer_only,
        thoughts="thoughts" not in completion.metadata,
        streamed=False,
    )
    text = ""
    for event in _events(completion):
        if isinstance(event, ResponseFailure):
            said = redact_text(call.connection.secrets.redact(event.message))
            words = " ".join(said.split())
            return _failed(f"The response failed: {words[:_MOST_SAID_CHARACTERS]}")
        text += visible.feed(event)
    text += visible.close()
    if completion.finish_reason == "length" and not completion.text:
        return _failed(BUDGET_USED_UP)
    ending = FinishedAnswer(
        call=call,
        completion=completion,
        is_stopped=visible.is_stopped,
        answer_only=answer_only,
        latency_seconds=_age(completion),
        is_stored=True,
    )
    # A polled call is not streamed, so there is exactly one chunk.
    [chunk] = iter_ending(ending, earlier_body(call), index=0, text=text)
    result = LLMResult(
        model=chunk.model, message=chunk.delta.message, usage=cast("LLMUsage", chunk.delta.usage)
    )
    return _structured(completion, result) if answer_only else _done(result)


def _structured(completion: Completion, result: LLMResult) -> LLMPollingResult:
    """Return a result with its text as a JSON value; Dify only takes objects, so other values stay text."""
    try:
        value = parse_json(first_of_equal(completion.text))
    except InvalidJsonError:
        return _failed(f"{_NO_JSON} {completion.refusal}".strip())
    if isinstance(value, dict):
        result = LLMResultWithStructuredOutput(**dict(result), structured_output=value)
    return _done(result)


def _done(result: LLMResult) -> LLMPollingResult:
    return LLMPollingResult(status=LLMPollingStatus.SUCCEEDED, result=result)


def _age(completion: Completion) -> float:
    """Return how many seconds ago a response was created; 0 if the server does not say."""
    now = time.time()
    return max(now - (completion.created_at or now), 0)


def _events(completion: Completion) -> Iterator[StreamEvent]:
    """Yield the events that would have ended a stream of the finished response."""
    kind = {"failed": "response.failed", "incomplete": "response.incomplete"}
    response = {
        "id": completion.response_id,
        "status": completion.status,
        "output": list(completion.items),
        "error": completion.error,
        "incomplete_details": {"reason": completion.incomplete_reason},
    }
    decoder = StreamDecoder()
    name = kind.get(completion.status, "response.completed")
    yield from decoder.feed({"type": name, "response": response})
    yield from decoder.close()


def _with_schema(
    parameters: Mapping[str, Any], json_schema: Mapping[str, Any] | None
) -> Mapping[str, Any]:
    """Return the parameters with the schema that came separately, unless they already have one."""
    if json_schema is None or parameters.get("json_schema"):
        return parameters
    schema = json.dumps({"name": "llm_response", "schema": json_schema})
    return {**parameters, "response_format": "json_schema", "json_schema": schema}


def _metadata(call: ModelCall, request: Mapping[str, Any]) -> dict[str, str]:
    """Return the metadata that the server stores for `check_polling`, since Dify does not pass these values again.

    Raises:
        PayloadError: If the stop sequences are too long for metadata.
    """
    stop = json.dumps(list(call.stop))
    if len(stop) > _MOST_METADATA_CHARACTERS:
        problem = f"stop must be at most {_MOST_METADATA_CHARACTERS} characters as JSON if the answer is polled"
        raise PayloadError(problem, field="stop")
    metadata = {"stop": stop} if call.stop else {}
    metadata |= {} if call.shows_thoughts else {"thoughts": "hidden"}
    return metadata | ({"answer": "json"} if is_answer_only(request) else {})


def _running(state: Mapping[str, Any], wait_seconds: int) -> LLMPollingResult:
    return LLMPollingResult(
        status=LLMPollingStatus.RUNNING,
        plugin_state=dict(state),
        next_check_after_seconds=wait_seconds,
        expires_after_seconds=_LONGEST_SECONDS,
    )


def _failed(error: str) -> LLMPollingResult:
    return LLMPollingResult(status=LLMPollingStatus.FAILED, error=error)
