#!/bin/sh
# A Temporal workflow that is cancelled gets asyncio's CancelledError where it waits. One would expect that it hears of it at its next
# wait at the latest. Where it waits for an activity that is done all the same, the Python SDK gives it the activity's result, and
# the cancellation is gone: the workflow goes on to its next timer, activity or child as if nobody had asked, for ever where it waits for
# a signal. By default that takes a cancellation and a completion that meet in one workflow task, so it is rare and a matter of load; with
# WAIT_CANCELLATION_COMPLETED every activity that ends well after the request does it. A workflow has to ask
# `workflow.cancellation_reason()` after its activities. Histories are replayed here, in which the workflow went on.
# Seen on 2026-11-28 with temporalio 1.35.0.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
uv venv --quiet --python 3.12 "$dir/venv"
uv pip install --quiet --python "$dir/venv/bin/python" temporalio==1.35.0
"$dir/venv/bin/python" - > "$dir/told" 2> "$dir/log" <<'END' || { cat "$dir/log" >&2; exit 1; }
import asyncio
import json
from datetime import timedelta

from temporalio import workflow
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner
from temporalio.workflow import ActivityCancellationType

QUEUE = {"taskQueue": {"name": "orders"}}
PAID = {"payloads": [{"metadata": {"encoding": "anNvbi9wbGFpbg=="}, "data": "InBhaWQi"}]}
seen = []


@workflow.defn(name="Order")
class Order:
    @workflow.run
    async def run(self, cancellation_type: int) -> None:
        paid = await workflow.execute_activity(
            "pay",
            start_to_close_timeout=timedelta(seconds=5),
            cancellation_type=ActivityCancellationType(cancellation_type),
        )
        seen.append(f"pay gave {paid!r}")
        await workflow.sleep(60)
        seen.append("slept, cancelled" if workflow.cancellation_reason() is not None else "slept")


def history(kind: ActivityCancellationType, *happened: str) -> WorkflowHistory:
    events = []

    def add(name: str, **attributes: object) -> int:
        words = name.split("_")
        key = words[0].lower() + "".join(word.capitalize() for word in words[1:]) + "EventAttributes"
        events.append({
            "eventId": str(len(events) + 1),
            "eventTime": "2026-11-28T12:00:00Z",
            "eventType": f"EVENT_TYPE_{name}",
            key: attributes,
        })
        return len(events)

    def task(*, is_open: bool = False) -> int:
        scheduled = add("WORKFLOW_TASK_SCHEDULED", attempt=1, **QUEUE)
        started = add("WORKFLOW_TASK_STARTED", scheduledEventId=scheduled)
        if is_open:
            return started
        return add("WORKFLOW_TASK_COMPLETED", scheduledEventId=scheduled, startedEventId=started)

    add(
        "WORKFLOW_EXECUTION_STARTED",
        workflowType={"name": "Order"},
        input={"payloads": [{"metadata": {"encoding": "anNvbi9wbGFpbg=="}, "data": {0: "MA==", 1: "MQ=="}[int(kind)]}]},
        originalExecutionRunId="run",
        attempt=1,
        **QUEUE,
    )
    activity = add(
        "ACTIVITY_TASK_SCHEDULED",
        activityId="1",
        activityType={"name": "pay"},
        startToCloseTimeout="5s",
        workflowTaskCompletedEventId=task(),
        **QUEUE,
    )
    started = add("ACTIVITY_TASK_STARTED", scheduledEventId=activity, attempt=1)
    for event in happened:
        if event == "cancel":
            add("WORKFLOW_EXECUTION_CANCEL_REQUESTED")
        elif event == "task":
            add("ACTIVITY_TASK_CANCEL_REQUESTED", scheduledEventId=activity, workflowTaskCompletedEventId=task())
        else:
            add("ACTIVITY_TASK_COMPLETED", scheduledEventId=activity, startedEventId=started, result=PAID)
    timer = add("TIMER_STARTED", timerId="1", startToFireTimeout="60s", workflowTaskCompletedEventId=task())
    add("TIMER_FIRED", timerId="1", startedEventId=timer)
    task(is_open=True)
    return WorkflowHistory.from_json("order", json.dumps({"events": events}))


async def main() -> None:
    replayer = Replayer(workflows=[Order], workflow_runner=UnsandboxedWorkflowRunner())
    for kind in (ActivityCancellationType.TRY_CANCEL, ActivityCancellationType.WAIT_CANCELLATION_COMPLETED):
        for happened in (("cancel", "done"), ("done", "cancel"), ("cancel", "task", "done")):
            seen.clear()
            result = await replayer.replay_workflow(history(kind, *happened), raise_on_replay_failure=False)
            told = "cancelled, so it is another history" if result.replay_failure else "; ".join(seen)
            print(f"{kind.name}, {', '.join(happened)}: {told}")


asyncio.run(main())
END
grep -E '^(TRY|WAIT)_' "$dir/told" > "$dir/seen"  # beside lines of the SDK's own log
cat "$dir/seen"
diff - "$dir/seen" <<'END' || { echo "It is no longer as described." >&2; exit 1; }
TRY_CANCEL, cancel, done: pay gave 'paid'; slept, cancelled
TRY_CANCEL, done, cancel: pay gave 'paid'; slept, cancelled
TRY_CANCEL, cancel, task, done: cancelled, so it is another history
WAIT_CANCELLATION_COMPLETED, cancel, done: pay gave 'paid'; slept, cancelled
WAIT_CANCELLATION_COMPLETED, done, cancel: pay gave 'paid'; slept, cancelled
WAIT_CANCELLATION_COMPLETED, cancel, task, done: pay gave 'paid'; slept, cancelled
END
