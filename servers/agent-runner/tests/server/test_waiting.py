"""Scripts that wait for a person, or for their client, on the engine of agent-server."""

import json
from contextlib import asynccontextmanager

import pytest

from agent_runner.server import ScriptExecutor, ScriptServerSettings
from agent_server.engine import open_engine
from agent_server.executor import (
    Approval,
    InputAnswer,
    InputRequest,
    Question,
    RequestRefusedError,
    WaitingCall,
)
from agent_server.runs import NewAnswer, NewRun
from run_log import RunFile, list_runs


TENANT = "default"
# Asks for approval, then how it was, then is done.
PAY = """
import json, sys
fields = json.load(sys.stdin)
resume = fields.get("resume")
print(json.dumps({"_llm_usage": {"input_tokens": 5}}))
if resume is None:
    print("paying")
    call = {"call_id": "c1", "name": "pay", "arguments": {"euros": 5}, "server": "bank"}
    mine = {"call_id": "c2", "name": "open", "arguments": "{}"}
    print(json.dumps({"type": "input_required", "request": {"approvals": [call], "results": [mine]}, "state": {"secret": 1}}))
elif resume["state"] == {"secret": 1}:
    question = {"text": "How was it?", "schema": {"type": "string", "minLength": 2}}
    print(json.dumps({"type": "input_required", "request": {"question": question}, "state": resume}))
else:
    print(json.dumps({"prompt": fields["prompt"], "resume": resume}))
"""
PAYS = WaitingCall(call_id="c1", name="pay", arguments='{"euros":5}', server="bank")
OPENS = WaitingCall(call_id="c2", name="open", arguments="{}")
YES = {"c1": Approval(approved=True)}
CALL = {"call_id": "c", "name": "n", "arguments": {}}


@pytest.fixture
def opened(tmp_path, make_runner):
    """Return a function that opens an engine for one agent; its state stays when it is closed."""

    @asynccontextmanager
    async def open_(folder, *, on_crash="fail", run_logs=None, **settings):
        executor = ScriptExecutor(
            {"agent": folder}, make_runner(), on_crash=on_crash, run_logs=run_logs
        )
        async with open_engine(
            ScriptServerSettings(state=tmp_path / "state", **settings), executor
        ) as runs:
            yield runs

    return open_


async def start(runs, **fields):
    request = {"input": {"prompt": "Pay."} | fields}
    run, _ = await runs.create(NewRun(tenant=TENANT, agent="agent", request=request))
    return run.run_id


async def follow(runs, run_id, after=0):
    """Return the events of a run until it waits or ends."""
    batches = [one async for one in runs.watch_events(run_id, tenant=TENANT, after=after)]
    return [event for batch in batches for event in batch]


async def answer(runs, run_id, **given):
    """Answer a run that waits, and return its events until it waits again or ends."""
    run = await find(runs, run_id)
    new = NewAnswer(wait_id=run.waiting_for.wait_id, answer=InputAnswer(**given))
    await runs.answer(run_id, new, tenant=TENANT)
    return await follow(runs, run_id, after=run.last_event)


async def find(runs, run_id):
    return await runs.get(run_id, tenant=TENANT)


def script_that_prints(*lines, end=""):
    """Return a script that prints lines of JSON or text."""
    texts = [one if isinstance(one, str) else json.dumps(one) for one in lines]
    return f"import sys, time\nfor line in {texts!r}:\n    print(line)\nsys.stdout.flush()\n{end}"


def asks(**request):
    return {"type": "input_required", "request": request, "state": "my-state"}


async def test_a_script_waits_and_is_started_again_with_its_state_and_the_answer(
    make_agent, opened
):
    async with opened(make_agent(PAY)) as runs:
        run_id = await start(runs)
        first = await follow(runs, run_id)
        asked = (await find(runs, run_id)).waiting_for.request
        second = await answer(runs, run_id, approvals=YES, results={"c2": [1]})
        question = (await find(runs, run_id)).waiting_for.request.question
        await answer(runs, run_id, answer="good")
        ended = await find(runs, run_id)

    assert [one.type for one in first] == ["run_started", "text_output", "run_waiting"]
    assert [one.type for one in second] == ["run_answered", "run_started", "run_waiting"]
    assert asked == InputRequest(approvals=[PAYS], results=[OPENS])
    assert question == Question(text="How was it?", schema={"type": "string", "minLength": 2})
    assert ended.result.output == {
        "prompt": "Pay.",
        "resume": {
            "state": {
                "state": {"secret": 1},
                "answer": {
                    "approvals": {"c1": {"approved": True, "reason": None}},
                    "results": {"c2": [1]},
                    "answer": None,
                },
            },
            "answer": {"approvals": {}, "results": {}, "answer": "good"},
        },
    }
    assert ended.result.usage.input_tokens == 15
    assert "secret" not in str(first)


async def test_the_answer_to_a_question_fits_its_schema(make_agent, opened):
    schema = {"properties": {"stars": {"type": "integer"}}, "required": ["name"]}
    line = asks(question={"text": "Well?", "schema": schema})
    refused = []
    async with opened(make_agent(script_that_prints(line))) as runs:
        run_id = await start(runs)
        await follow(runs, run_id)
        for given in (None, {}, {"name": "Ada", "stars": "many"}):
            with pytest.raises(RequestRefusedError) as error:
                await answer(runs, run_id, answer=given)
            refused += [str(error.value)]
        run = await find(runs, run_id)

    assert refused == [
        "answer: expected to be present",
        "answer.name: expected to be present",
        "answer.stars: expected type 'integer'",
    ]
    assert run.status == "waiting"


async def test_an_answer_that_no_schema_can_check_is_refused(make_agent, opened):
    line = asks(question={"text": "Well?", "schema": {"$ref": "https://elsewhere.example/a"}})
    async with opened(make_agent(script_that_prints(line))) as runs:
        run_id = await start(runs)
        await follow(runs, run_id)
        with pytest.raises(RequestRefusedError, match=r"answer: cannot be checked: .* expected ev"):
            await answer(runs, run_id, answer=1)


async def test_a_question_without_a_schema_takes_any_answer(make_agent, opened):
    script = """
        import json, sys
        fields = json.load(sys.stdin)
        line = {"type": "input_required", "request": {"question": {"text": "Well?"}}}
        print(json.dumps(fields.get("resume", line)))
    """
    async with opened(make_agent(script)) as runs:
        run_id = await start(runs)
        await follow(runs, run_id)
        await answer(runs, run_id, answer=False)
        run = await find(runs, run_id)
    assert run.result.output == {
        "state": None,
        "answer": {"approvals": {}, "results": {}, "answer": False},
    }


@pytest.mark.parametrize(
    ("after", "end"),
    [
        ("and on", ""),
        ({"type": "input_required"}, "sys.exit(3)"),
        ("{}", "print('bad', file=sys.stderr); sys.exit(3)"),
    ],
    ids=["not the last line", "exit code", "exit code and stderr"],
)
async def test_a_line_that_is_not_the_last_of_a_success_is_plain_json(
    make_agent, opened, after, end
):
    line = asks(approvals=[CALL])
    async with opened(make_agent(script_that_prints(line, after, end=end))) as runs:
        run_id = await start(runs)
        events = await follow(runs, run_id)
        run = await find(runs, run_id)
    assert events[1].data == {"type": "json_output", "value": line}
    assert run.status == ("failed" if end else "succeeded")


async def test_a_last_line_of_a_script_that_fails_is_plain_json_before_its_error(
    make_agent, opened
):
    line = asks(approvals=[CALL])
    async with opened(make_agent(script_that_prints(line, end="sys.exit(3)"))) as runs:
        events = await follow(runs, await start(runs))
    assert [one.type for one in events[1:]] == ["json_output", "error", "run_failed"]


async def test_stderr_and_metadata_may_come_after_the_last_line(make_agent, opened):
    script = script_that_prints(
        asks(approvals=[CALL]),
        {"_llm_usage": {"input_tokens": 1}},
        end="time.sleep(0.2); print('careful', file=sys.stderr)",
    )
    async with opened(make_agent(script)) as runs:
        events = await follow(runs, await start(runs))
    assert [one.type for one in events[1:]] == ["error", "run_waiting"]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ({}, "input_required.request: expected to be present"),
        ({"request": 1}, "input_required.request: expected type 'object'"),
        (asks(), "input_required.request: expected approvals, results or a question"),
        (
            asks(question=None, approvals=[]),
            "input_required.request: expected approvals, results or a question",
        ),
        (
            {"request": {"approvals": [CALL]}, "sate": 1},
            "input_required: Additional properties are not allowed ('sate' was unexpected)",
        ),
        (
            asks(approvals=[{"call_id": "c", "arguments": "{}"}]),
            "input_required.request.approvals[0].name: expected to be present",
        ),
        (
            asks(results=[CALL | {"arguments": 1}]),
            "input_required.request.results[0].arguments: expected type ['string', 'object']",
        ),
        (
            asks(results=[CALL | {"id": 1}]),
            "input_required.request.results[0]: Additional properties are not allowed ('id' was unexpected)",
        ),
        (
            asks(approvals=[CALL], results=[CALL]),
            "input_required.request: expected each call_id once, got 'c' more often",
        ),
        (
            asks(question={"text": ""}),
            "input_required.request.question.text: expected minLength 1",
        ),
    ],
)
async def test_a_line_that_asks_in_another_form_ends_the_run(make_agent, opened, line, sentence):
    script = script_that_prints({"type": "input_required"} | line)
    async with opened(make_agent(script)) as runs:
        run_id = await start(runs)
        events = await follow(runs, run_id)
        result = (await find(runs, run_id)).result
    assert (result.status, result.error_type, result.error) == (
        "failed",
        "invalid_request",
        sentence,
    )
    assert [one.type for one in events[1:]] == ["error", "run_failed"]
    assert "my-state" not in str(events)


async def test_a_question_whose_schema_is_none_ends_the_run(make_agent, opened):
    script = script_that_prints(asks(question={"text": "Well?", "schema": {"type": "strnig"}}))
    async with opened(make_agent(script)) as runs:
        run_id = await start(runs)
        await follow(runs, run_id)
        result = (await find(runs, run_id)).result
    assert result.error_type == "invalid_request"
    expected = "input_required.request.question.schema: expected a valid JSON Schema"
    assert result.error.startswith(expected)


async def test_state_and_arguments_of_many_levels_come_back(make_agent, opened):
    script = """
        import json, sys
        fields = json.load(sys.stdin)
        deep = json.loads("[" * 190 + "]" * 190)
        call = {"call_id": "c", "name": "n", "arguments": {"a": deep}}
        if "resume" in fields:
            print(fields["resume"]["state"] == deep)
        else:
            print(json.dumps({"type": "input_required", "request": {"results": [call]}, "state": deep}))
    """
    async with opened(make_agent(script)) as runs:
        run_id = await start(runs)
        await follow(runs, run_id)
        await answer(runs, run_id, results={"c": None})
        run = await find(runs, run_id)
    assert run.result.output == "True"


class Recorded:
    """An attempt whose steps outlive it, as the executor sees it."""

    run_id = "0b8f2a6e-1d7c-4d5e-9f60-7a8b9c0d1e2f"
    tenant = TENANT
    agent = "agent"
    request = {"input": {}}  # noqa: RUF012 - nothing changes it
    resumption = None

    def __init__(self, attempt, steps):
        self.attempt = attempt
        self.steps = steps

    async def step(self, key, work, **_):
        if key not in self.steps:
            self.steps[key] = await work()
        return self.steps[key]


async def test_a_script_whose_server_died_before_the_run_waited_is_not_started_again(
    make_agent, make_runner
):
    line = asks(approvals=[CALL], question={"text": "\ud800?", "schema": {}})
    agent = make_agent(f"open('starts', 'a').write('x')\n{script_that_prints(line)}")
    executor = ScriptExecutor({"agent": agent}, make_runner())
    steps = {}

    first, second = [await executor.execute(Recorded(number, steps)) for number in (1, 2)]

    assert first == second
    assert (agent / "starts").read_text() == "x"


async def test_each_part_of_a_run_writes_its_log(make_agent, opened, tmp_path):
    async with opened(make_agent(PAY), run_logs=tmp_path / "logs") as runs:
        run_id = await start(runs)
        await follow(runs, run_id)
        await answer(runs, run_id, approvals=YES, results={"c2": "it opened"})

    logs = sorted(list_runs(tmp_path / "logs" / TENANT), key=lambda one: one.about["attempt"])
    assert [one.end["reason"] for one in logs] == ["waiting", "waiting"]
    first, second = [one.path.read_text() for one in logs]
    assert "pay" in first
    assert "secret" not in first
    assert "it opened" in second
    assert [one.end["usage"]["input_tokens"] for one in logs] == [5, 5]
    assert all(RunFile(one.path).problems == () for one in logs)
