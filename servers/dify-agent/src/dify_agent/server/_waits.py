"""Runs that wait, between the runner's values and the server's."""

import json
from collections.abc import Sequence
from dataclasses import replace

from pydantic import BaseModel, ConfigDict
from pydantic_ai import DeferredToolResults, ModelResponse, ToolApproved, ToolDenied
from pydantic_ai.messages import ToolCallPart

from agent_server.executor import Approval, InputRequest, Resumption, Waiting, WaitingCall
from dify_agent.runtime._stream import show_arguments
from dify_agent.runtime.waiting import RunResumption, WaitingRun, WaitingState
from stream_text import KnownSecrets


class _Stored(BaseModel):
    """What the server keeps of a run while it waits.

    Attributes:
        run: What the run goes on from.
        answers: The models' answers so far without their content, for their number, usage and prices.
    """

    model_config = ConfigDict(defer_build=True)

    run: WaitingState
    answers: list[ModelResponse]


def build_waiting(
    waiting: WaitingRun, answers: Sequence[ModelResponse], secrets: KnownSecrets
) -> Waiting:
    """Return the end of an attempt whose run waits.

    Args:
        waiting: The run.
        answers: The models' answers so far, those of earlier attempts included.
        secrets: Texts that the arguments of a call must not show.
    """
    stored = _Stored(run=waiting.state, answers=[replace(each, parts=[]) for each in answers])
    asked = InputRequest(
        approvals=[_to_call(call, secrets) for call in waiting.requests.approvals],
        results=[_to_call(call, secrets) for call in waiting.requests.calls],
    )
    return Waiting(request=asked, state=stored.model_dump_json().encode())


def read_resumption(resumption: Resumption) -> tuple[Sequence[ModelResponse], RunResumption]:
    """Return the models' answers before the run waited, without their content, and what the runner continues with."""
    stored = _Stored.model_validate_json(resumption.state)
    answer = resumption.answer
    results = DeferredToolResults(
        approvals={call_id: _to_decision(one) for call_id, one in answer.approvals.items()},
        calls=dict(answer.results),
    )
    return stored.answers, RunResumption(state=stored.run, results=results)


def _to_call(call: ToolCallPart, secrets: KnownSecrets) -> WaitingCall:
    arguments = json.dumps(show_arguments(call, secrets), ensure_ascii=False)
    return WaitingCall(call_id=call.tool_call_id, name=call.tool_name, arguments=arguments)


def _to_decision(approval: Approval) -> ToolApproved | ToolDenied:
    if approval.approved:
        return ToolApproved()
    if approval.reason:
        return ToolDenied(f"The tool call was denied: {approval.reason}")
    return ToolDenied()
