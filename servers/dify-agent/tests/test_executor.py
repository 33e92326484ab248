"""Compositions as an executor of an agent server runs them, on a daemon of this process."""

import asyncio
import json
import re
from contextlib import suppress

import pytest

from agent_server.executor import RequestRefusedError, TransientError, UnknownAgentError
from counting import is_linear
from dify_agent.server import DifyAgentExecutor, DifyAgentSettings


@pytest.fixture
def make_executor(daemon):
    """Return what makes an executor on the test's daemon."""

    def make(**settings):
        defaults = {
            "plugin_daemon_url": daemon.url,
            "plugin_daemon_api_key": "s3cret-daemon-key",
        }
        return DifyAgentExecutor(DifyAgentSettings.model_validate(defaults | settings))

    return make


@pytest.fixture
def run(make_executor, build_request, build_execution):
    """Return a function that runs a composition, or executes an attempt that was made before."""

    async def execute(execution=None, **settings):
        executor = make_executor(**settings)

        execution = execution or build_execution(executor.check("composition", build_request()))
        async with executor.opened():
            return await executor.execute(execution), execution

    return execute


def types(execution):
    return [type_ for type_, _ in execution.told]


def calls_a_tool(daemon, chunks, *, said="It is."):
    def model(data):
        if not chunks.tool_results(data):
            return [chunks.text("Looking."), chunks.call(("c1", "search", {"q": "a"}))]
        return [chunks.text(said, finish_reason="stop")]

    daemon.model = model


async def test_a_composition_is_run_to_its_answer(run):
    result, execution = await run()

    assert (result.status, result.output) == ("succeeded", "Hello!")
    assert [layer["name"] for layer in result.details["session_snapshot"]["layers"]] == [
        "prompt",
        "plugin",
        "llm",
        "tools",
    ]
    assert execution.request == {}  # which may be large
    assert execution.told == [
        ("model_request_started", {"request_index": 1, "attempt": 1}),
        ("text_delta", {"text": "Hello"}),
        ("text_delta", {"text": "!"}),
    ]


async def test_an_attempt_after_a_crash_does_and_tells_nothing_again(run, daemon, chunks):
    calls_a_tool(daemon, chunks)
    result, execution = await run()
    told = list(execution.told)

    again, _ = await run(execution.again())

    assert again == result
    assert execution.told == told
    assert types(execution) == [
        "model_request_started",
        "text_delta",
        "tool_call",
        "tool_result",
        "model_request_started",
        "text_delta",
    ]
    assert (len(daemon.model_requests), len(daemon.tool_requests)) == (2, 1)


@pytest.mark.parametrize("kept", range(6))
async def test_an_attempt_goes_on_behind_the_last_recorded_step(run, daemon, chunks, kept):
    calls_a_tool(daemon, chunks)
    result, execution = await run()
    for key in list(execution.recorded)[kept:]:
        del execution.recorded[key]

    again, _ = await run(execution.again())

    assert again.output == result.output
    assert len(daemon.model_requests) == 2 + (kept < 1) + (kept < 5)
    assert len(daemon.tool_requests) == 1 + (kept < 3)


async def test_usage_and_cost_are_summed_over_all_requests_also_those_of_earlier_attempts(
    run, daemon, chunks
):
    def model(data):
        usage = {"prompt_tokens": 10, "completion_tokens": 2, "total_price": "0.0015"}
        usage |= {"currency": "RMB", "prompt_tokens_details": {"cached_tokens": 4}}
        if not chunks.tool_results(data):
            chunk = chunks.call(("c1", "search", {"q": "a"}))
        else:
            chunk = chunks.text("Done.", finish_reason="stop")
        chunk["delta"]["usage"] = usage
        return [chunk]

    daemon.model = model
    result, execution = await run()
    again, _ = await run(execution.again())

    for usage in (result.usage, again.usage):
        assert (usage.model_requests, usage.input_tokens, usage.output_tokens) == (2, 20, 4)
        assert (usage.cached_tokens, usage.cost, usage.currency) == (8, "0.0030", "RMB")


async def test_a_run_without_prices_has_no_cost(run):
    usage = (await run())[0].usage
    assert (usage.cost, usage.currency, usage.cached_tokens) == (None, None, None)


async def test_a_tool_that_fails_is_told_as_failed(run, daemon, chunks):
    calls_a_tool(daemon, chunks)
    daemon.tool = lambda _data: [ValueError("no such page")]

    result, execution = await run()

    told = dict(execution.told)["tool_result"]
    assert (told["outcome"], told["content"]) == ("failed", "tool invoke error: no such page")
    assert result.status == "succeeded"


async def test_a_run_that_asks_its_model_too_often_ends_and_says_so(run, daemon, chunks):
    daemon.model = lambda _data: [chunks.call(("c1", "search", {"q": "a"}))]

    result, _ = await run(max_model_requests=3)

    assert (result.status, result.error_type) == ("failed", "model_request_limit")
    assert result.error == "The run has made as many model requests as it may."
    assert result.usage.model_requests == len(daemon.model_requests) == 3


class Answers:
    """Answers that a daemon gives one after the other, the last one again and again."""

    def __init__(self, *answers):
        self._answers = list(answers)

    def __call__(self, _data):
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


class InvokeServerUnavailableError(Exception):
    """An error of a plugin's whose model is overloaded."""


class InvokeRateLimitError(Exception):
    """An error of a plugin's whose model is asked too often."""


class PluginDaemonNotFoundError(Exception):
    """An error of the daemon's, which has not started its plugins yet."""


PASSING = [
    503,
    429,
    [InvokeServerUnavailableError("overloaded")],
    [InvokeRateLimitError("slow down")],
    [PluginDaemonNotFoundError("plugin runtime not found")],
    [],
]


@pytest.mark.parametrize("fault", PASSING, ids=str)
async def test_a_fault_of_a_model_that_may_pass_is_tried_again(run, daemon, chunks, fault):
    daemon.model = Answers(fault, fault, [chunks.text("Here.", finish_reason="stop")])

    result, execution = await run()

    assert result.output == "Here."
    assert types(execution) == ["model_request_started", "text_delta"]


@pytest.mark.parametrize("fault", [400, 401, [ValueError("bad key")]], ids=str)
async def test_a_fault_that_does_not_pass_is_not_tried_again(run, daemon, fault):
    daemon.model = Answers(fault)

    result, _ = await run()

    assert result.status == "failed"
    assert len(daemon.model_requests) == 1


async def test_a_fault_that_stays_ends_the_run_with_the_model_s_own_error(run, daemon):
    daemon.model = Answers(503)

    result, _ = await run()

    assert (result.status, len(daemon.model_requests)) == ("failed", 4)
    assert "503" in result.error or "Unavailable" in result.error_type


async def test_an_answer_that_breaks_off_is_asked_for_again_and_told_anew(run, daemon, chunks):
    broken = [chunks.text("It"), InvokeServerUnavailableError("overloaded")]
    daemon.model = Answers(broken, [chunks.text("It is.", finish_reason="stop")])

    result, execution = await run()

    assert result.output == "It is."
    assert types(execution) == ["model_request_started", "text_delta"] * 2


async def test_what_was_shown_before_a_fault_is_kept_and_the_request_not_repeated_if_so_set(
    run, daemon, chunks
):
    daemon.model = Answers([chunks.text("It"), InvokeServerUnavailableError("overloaded")])

    result, execution = await run(repeat_shown=False)

    assert result.status == "failed"
    assert types(execution) == ["model_request_started", "text_delta"]
    assert len(daemon.model_requests) == 1


async def test_a_tool_that_cannot_be_called_now_is_called_again(run, daemon, chunks):
    calls_a_tool(daemon, chunks)
    daemon.tool = Answers(503, [{"type": "text", "message": {"text": "found"}}])

    result, execution = await run()

    assert (result.output, len(daemon.tool_requests)) == ("It is.", 2)
    assert dict(execution.told)["tool_result"]["content"] == "found"


async def test_of_a_tool_that_cannot_be_called_at_all_the_model_is_told(run, daemon, chunks):
    calls_a_tool(daemon, chunks)
    daemon.tool = Answers(503)

    result, execution = await run()
    again, _ = await run(execution.again())

    assert result.output == again.output == "It is."
    assert dict(execution.told)["tool_result"]["outcome"] == "failed"
    assert len(daemon.tool_requests) == 4


async def test_a_daemon_that_is_gone_ends_the_run(
    run, build_execution, make_executor, build_request
):
    request = make_executor().check("composition", build_request())
    result, _ = await run(build_execution(request), plugin_daemon_url="http://127.0.0.1:9")

    assert (result.status, result.error_type) == ("failed", "ModelConnectionError")


async def test_a_daemon_that_goes_between_model_and_tool_ends_the_run(run, daemon, chunks):
    calls_a_tool(daemon, chunks)
    daemon.tool = lambda _data: [ConnectionResetError()]

    result, _ = await run()

    assert (result.status, result.error_type) == ("failed", "RemoteProtocolError")
    assert len(daemon.tool_requests) == 4


class Unwilling:
    """An execution of a server that refuses each step as one that cannot be tried."""

    def __init__(self, execution):
        self._execution = execution

    def __getattr__(self, name):
        return getattr(self._execution, name)

    async def step(self, key, work, **options):
        if key.startswith(self.refused):
            raise TransientError("not now")
        return await self._execution.step(key, work, **options)


@pytest.mark.parametrize("refused", ["model:", "tool:"])
async def test_a_step_that_the_server_never_tries_ends_the_run(run, daemon, chunks, refused):
    calls_a_tool(daemon, chunks)
    execution = Unwilling((await run())[1].again())
    execution.recorded.clear()
    execution.refused = refused

    assert (await run(execution))[0].error_type == "RuntimeError"


def test_a_request_that_cannot_be_run_is_refused_field_by_field(make_executor, build_request):
    request = build_request()
    request["composition"]["layers"][0]["type"] = ""
    request["composition"]["layers"][1]["surprise"] = "s3cret"

    with pytest.raises(RequestRefusedError) as refused:
        make_executor().check("composition", request)

    fields = [problem.field for problem in refused.value.problems]
    assert fields == ["composition.layers.0.type", "composition.layers.1.surprise"]
    assert "s3cret" not in str(refused.value)


def test_layers_that_do_not_fit_together_are_refused(make_executor, build_request):
    request = build_request()
    request["composition"]["layers"][0]["type"] = "plain.nothing"

    with pytest.raises(RequestRefusedError) as refused:
        make_executor().check("composition", request)

    assert str(refused.value) == (
        "composition.layers.0: Layer type id 'plain.nothing' is not registered."
    )


HALF = "\ud800"


@pytest.mark.parametrize(
    ("layer", "member"), [(1, "tenant_id"), (2, "plugin_id"), (2, "model_provider")]
)
@pytest.mark.parametrize("text", [HALF, "x" * 200_000])
def test_what_no_address_can_hold_is_refused(make_executor, build_request, layer, member, text):
    request = build_request()
    request["composition"]["layers"][layer]["config"][member] = text

    with pytest.raises(RequestRefusedError) as refused:
        make_executor().check("composition", request)

    [problem] = refused.value.problems
    assert problem.field == f"composition.layers.{layer}"
    assert f"{member}: " in problem.message


@pytest.mark.parametrize(
    ("type_", "config", "field"),
    [
        ("dify.output", {"json_schema": {"type": "object", "properties": {HALF: 1}}}, "layers.0"),
        ("plain.prompt", [], "layers.0.config"),
    ],
)
def test_a_configuration_that_is_none_is_refused_in_plain_words(
    make_executor, type_, config, field
):
    layer = {"name": "p", "type": type_, "config": config}
    with pytest.raises(RequestRefusedError) as refused:
        make_executor().check("composition", {"composition": {"layers": [layer]}})

    [problem] = refused.value.problems
    assert problem.field == f"composition.{field}"
    assert "codec" not in problem.message


def prompted(config):
    return {"composition": {"layers": [{"name": "p", "type": "plain.prompt", "config": config}]}}


def test_of_many_wrong_fields_a_hundred_are_told_and_long_names_in_part(make_executor):
    with pytest.raises(RequestRefusedError) as refused:
        make_executor().check("composition", {"x" * 3000 + str(n): n for n in range(900)})

    assert len(refused.value.problems) == 100
    assert len(refused.value.problems[1].field) < 1100


def with_output(request, schema):
    layer = {"name": "output", "type": "dify.output", "config": {"json_schema": schema}}
    request["composition"]["layers"].append(layer)
    return request


LARGE = {"type": "object", "properties": {"a": {"enum": list(range(4_001))}}}


def test_a_schema_that_is_too_large_is_refused_by_its_place(make_executor, build_request):
    request = build_request()
    place = len(request["composition"]["layers"])
    with pytest.raises(RequestRefusedError) as refused:
        make_executor().check("composition", with_output(request, LARGE))
    assert str(refused.value) == (
        f"composition.layers.{place}.config.json_schema: expected schemas of at most 4,000 values together"
    )

    request = build_request()
    for place, layer in enumerate(request["composition"]["layers"]):
        for tool in (layer.get("config") or {}).get("tools", ()):
            tool["parameters_json_schema"] = LARGE
            field = f"composition.layers.{place}.config.tools.0.parameters_json_schema"
    with pytest.raises(RequestRefusedError) as refused:
        make_executor().check("composition", request)
    assert refused.value.problems[0].field == field


@pytest.mark.parametrize(
    "messages",
    [
        pytest.param([{}] * 10_001, id="messages"),
        pytest.param([{"parts": [{"content": [0] * 200_000}]}], id="values"),
    ],
)
def test_a_conversation_that_would_hold_up_others_is_refused(
    make_executor, build_request, messages
):
    state = {"name": "history", "type_id": "pydantic_ai.history", "lifecycle_state": "suspended"}
    told = state | {"runtime_state": {"messages": messages}}
    with pytest.raises(RequestRefusedError) as refused:
        make_executor().check(
            "composition", build_request() | {"session_snapshot": {"layers": [told]}}
        )
    assert str(refused.value) == (
        "session_snapshot: expected at most 10,000 messages, and 200,000 values in all"
    )
    told["runtime_state"]["messages"] = [{}] * 10_000
    make_executor().check("composition", build_request() | {"session_snapshot": {"layers": [told]}})


async def test_a_run_that_was_stored_with_a_larger_schema_goes_on(
    run, build_execution, build_request, daemon
):
    await run(build_execution(with_output(build_request(), LARGE)))

    assert daemon.model_requests


@pytest.mark.parametrize(
    "schema",
    [
        lambda size: {"properties": {"a": {"type": [{"x": str(n)} for n in range(size)]}}},
        lambda size: {
            "$defs": {f"d{n}": {"$anchor": f"a{n}"} for n in range(size)},
            "properties": {f"p{n}": {"$ref": f"#a{n}"} for n in range(size)},
        },
        lambda size: {
            "properties": {f"p{n}": {"pattern": rf"^\w{{1,50}}{n}"} for n in range(size)}
        },
    ],
    ids=["types", "anchors", "patterns"],
)
def test_no_schema_of_an_answer_keeps_a_server_busy(make_executor, build_request, schema):
    executor = make_executor()

    def check(size):
        re.purge()  # so that each pattern is new
        with suppress(RequestRefusedError):
            executor.check(
                "composition", with_output(build_request(), {"type": "object"} | schema(size))
            )

    assert is_linear(check, 60)


MANY = {f"k{n}": 0 for n in range(1001)}


@pytest.mark.parametrize(
    ("request_", "field", "expected"),
    [
        (MANY, "request", "at most 1000 members"),
        ({"composition": {}, "on_exit": {"layers": MANY}}, "on_exit.layers", "at most 1000"),
        ({"composition": {}, "session_snapshot": {"layers": [{}] * 9}}, ".layers.0", "required"),
        (prompted(MANY), "composition.layers.0", "at most 1000 members"),
    ],
)
def test_what_is_wrong_too_often_is_not_told_each_time(make_executor, request_, field, expected):
    with pytest.raises(RequestRefusedError) as refused:
        make_executor().check("composition", request_)

    told = [f"{one.field}: {one.message}" for one in refused.value.problems]
    assert len(told) <= 4
    assert field in told[0]
    assert expected in told[0]


def test_another_agent_is_not_known(make_executor, build_request):
    with pytest.raises(UnknownAgentError):
        make_executor().check("writer", build_request())


def test_the_one_agent_has_the_schema_of_a_composition(make_executor):
    [agent] = make_executor().agents()
    assert agent.name == "composition"
    assert "composition" in agent.input_schema["required"]


def test_a_run_that_a_server_died_under_is_begun_again(make_executor):
    executor = make_executor()
    assert executor.interrupted("run-1", 3) is None
    assert (executor.name, executor.version) == ("dify-agent", "1")


async def test_an_executor_that_is_not_open_executes_nothing(make_executor, build_execution):
    with pytest.raises(RuntimeError, match="must be opened"):
        await make_executor().execute(build_execution({}))


def read_log(folder):
    [file] = (folder / "ada").iterdir()
    return [json.loads(line) for line in file.read_text().splitlines()]


async def test_a_run_s_log_has_what_was_asked_called_and_answered_and_no_secret(
    run, daemon, chunks, tmp_path
):
    calls_a_tool(daemon, chunks, said="It is s3cret-model-key.")
    daemon.tool = lambda _data: [{"type": "text", "message": {"text": "s3cret-tool-token"}}]

    await run(run_logs=tmp_path)

    lines = read_log(tmp_path)
    assert [line["type"] for line in lines if line["type"] != "long_text"] == [
        "start",
        "request",
        "delta",
        "answer",
        "call",
        "bound",
        "started",
        "result",
        "request",
        "delta",
        "answer",
        "end",
    ]
    by_type = {line["type"]: line for line in lines}
    assert by_type["bound"]["arguments"] == {"q": "a"}
    assert by_type["result"]["outcome"] == "done"
    assert by_type["end"]["reason"] == "answered"
    assert "s3cret" not in json.dumps(lines)


async def test_a_run_s_log_has_a_model_s_text_without_its_thoughts(run, daemon, chunks, tmp_path):
    daemon.model = lambda _data: [chunks.text("<think>Hm.</think>It is.", finish_reason="stop")]

    _, execution = await run(run_logs=tmp_path)

    assert types(execution)[1:] == ["thinking_delta", "text_delta"]
    [delta] = [line for line in read_log(tmp_path) if line["type"] == "delta"]
    assert delta["text"] == "It is."


async def test_failures_stand_in_a_run_s_log(run, daemon, chunks, tmp_path):
    calls_a_tool(daemon, chunks)
    daemon.tool = lambda _data: [ValueError("no such page")]
    await run(run_logs=tmp_path / "tool")
    daemon.model = Answers([ValueError("bad key")])
    await run(run_logs=tmp_path / "model")
    daemon.model = Answers(503)
    await run(run_logs=tmp_path / "away")

    results = [line for line in read_log(tmp_path / "tool") if line["type"] == "result"]
    assert [line["outcome"] for line in results] == ["failed"]
    for name in ("model", "away"):
        answer, end = read_log(tmp_path / name)[-2:]
        assert answer["error"]
        assert (end["type"], bool(end["error"])) == ("end", True)


@pytest.mark.parametrize("reason", ["enough", None])
async def test_an_attempt_that_ends_early_leaves_a_snapshot_only_where_its_run_is_cancelled(
    make_executor, build_execution, build_request, daemon, reason
):
    """Otherwise its server stops, and others go on with the run."""
    gate = daemon.gate()
    daemon.model = lambda _data: [gate]
    executor = make_executor()
    execution = build_execution(executor.check("composition", build_request()))
    execution.cancel_reason = reason
    async with executor.opened():
        running = asyncio.create_task(executor.execute(execution))
        await asyncio.to_thread(gate.wait_until_reached)
        running.cancel()
        await asyncio.wait([running])

    assert running.cancelled() == (reason is None)
    if reason is not None:
        result = running.result()
        assert (result.status, result.error) == ("failed", None)
        assert result.details["session_snapshot"]["layers"]
