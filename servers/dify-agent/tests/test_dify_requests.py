"""What Dify's API sends to `/runs`, in each protocol, and what becomes of it."""

import pytest

from agent_server.executor import RequestRefusedError
from dify_agent.dify_versions import DifyVersion
from dify_agent.protocol import CreateRunRequest
from dify_agent.server._dify.requests import read_run_request  # noqa: PLC2701 - every form of request, one by one


V16, V17, V18 = map(DifyVersion.parse, ("1.16.0", "1.17.1", "1.18.0"))
CONTEXT = {
    "tenant_id": "t1",
    "user_id": "u1",
    "agent_mode": "workflow_run",
    "invoke_from": "debugger",
}
MODEL = {"plugin_id": "p", "model_provider": "openai", "model": "m"}
MESSAGES = {"messages": []}

# Every field that Dify's API may send.
PROTOCOL_1 = {
    "composition": {
        "schema_version": 1,
        "layers": [
            {
                "name": "agent_soul_prompt",
                "type": "plain.prompt",
                "deps": {},
                "metadata": {"origin": "agent_soul"},
                "config": {"prefix": "Be brief."},
            },
            {"name": "execution_context", "type": "dify.execution_context", "config": CONTEXT},
            {
                "name": "shell",
                "type": "dify.shell",
                "deps": {"execution_context": "execution_context", "runtime": "runtime"},
            },
            {"name": "history", "type": "pydantic_ai.history"},
            {
                "name": "llm",
                "type": "dify.plugin.llm",
                "deps": {"execution_context": "execution_context"},
                "config": MODEL | {"credentials": {"key": "k"}, "context_window_tokens": 9},
            },
            {
                "name": "tools",
                "type": "dify.plugin.tools",
                "deps": {"execution_context": "execution_context", "shell": "shell"},
                "config": {"tools": []},
            },
        ],
    },
    "idempotency_key": "wf1:node7",
    "metadata": {"anything": [1]},
    "session_snapshot": {
        "schema_version": 1,
        "layers": [
            {"name": "agent_soul_prompt", "lifecycle_state": "new", "runtime_state": {}},
            {"name": "execution_context", "lifecycle_state": "suspended", "runtime_state": {}},
            {"name": "shell", "lifecycle_state": "suspended", "runtime_state": {"job_ids": ["1"]}},
            {"name": "history", "lifecycle_state": "suspended", "runtime_state": MESSAGES},
            {"name": "llm", "lifecycle_state": "closed", "runtime_state": {}},
            {"name": "tools", "lifecycle_state": "suspended", "runtime_state": {}},
        ],
    },
    "deferred_tool_results": {"calls": {"c1": {"status": "submitted"}}, "metadata": {}},
    "on_exit": {"default": "delete", "layers": {"history": "suspend"}},
}
PROTOCOL_2 = {
    "composition": {
        "schema_version": 2,
        "layers": [
            {
                "name": "agent_soul_prompt",
                "config": {"prefix": "Be brief.", "user": [], "suffix": []},
            },
            {
                "name": "llm",
                "config": MODEL
                | {"execution_context": "execution_context", "context_window_tokens": None},
            },
            {"name": "execution_context", "config": CONTEXT},
            {"name": "runtime", "config": {"backend_binding_ref": "b"}},
            {"name": "shell", "config": {"runtime": "runtime", "execution_context": None}},
            {"name": "config", "config": {"note": ""}},
            {"name": "history"},
            {"name": "tools", "config": {"shell": "shell", "tools": []}},
        ],
    },
    "idempotency_key": "wf1:exec7",
    "metadata": {"anything": [1]},
    "session_snapshot": {
        "schema_version": 2,
        "layers": {"history": MESSAGES, "shell": {"job_ids": ["1"]}, "drive": {"gone": 1}},
    },
}


def read(body, version=V17):
    return CreateRunRequest.model_validate(read_run_request(body).to_request(version))


def layers(request):
    return {layer.name: layer for layer in request.composition.layers}


def test_a_request_of_protocol_1_becomes_one_of_ours_layer_by_layer():
    request = read(PROTOCOL_1, V16)
    found = layers(request)

    assert found["agent_soul_prompt"].config == {"prefix": "Be brief."}
    assert (found["execution_context"].type, found["execution_context"].config) == (
        "dify.execution_context",
        CONTEXT,
    )
    assert found["tools"].deps == {"plugin": "execution_context", "shell": "shell"}
    assert request.on_exit.layers == {"history": "suspend"}
    assert request.deferred_tool_results.calls == {"c1": {"status": "submitted"}}


def test_the_model_s_credentials_come_with_the_request_in_1_16_and_stay_in_dify_since_1_17():
    direct, through = (layers(read(PROTOCOL_1, version))["llm"] for version in (V16, V17))

    assert (direct.type, direct.deps) == ("dify.plugin.llm", {"plugin": "execution_context"})
    assert direct.config == MODEL | {"credentials": {"key": "k"}}
    assert (through.type, through.deps) == (
        "dify.gateway.llm",
        {"execution_context": "execution_context"},
    )
    assert through.config == MODEL | {"context_window_tokens": 9}


def test_the_version_of_dify_shows_in_what_it_asks():
    model = PROTOCOL_1["composition"]["layers"][-2]

    def version(layers):
        return str(read_run_request({"composition": {"layers": layers}}).version)

    assert str(read_run_request(PROTOCOL_1).version) == "1.16.0"
    assert version([model | {"config": MODEL}]) == "1.17.1"
    # Of a provider that needs none.
    assert version([model | {"config": MODEL | {"credentials": {}}}]) == "1.16.0"
    assert version(PROTOCOL_1["composition"]["layers"][:2]) == "1.16.0"  # without a model
    assert str(read_run_request(PROTOCOL_2).version) == "1.18.0"


def test_a_snapshot_gets_the_kinds_of_layers():
    snapshot = read(PROTOCOL_1, V16).session_snapshot

    assert [(one.name, one.type_id, one.lifecycle_state) for one in snapshot.layers] == [
        ("agent_soul_prompt", "plain.prompt", "suspended"),
        ("execution_context", "dify.execution_context", "suspended"),
        ("shell", "dify.shell", "suspended"),
        ("history", "pydantic_ai.history", "suspended"),
        ("llm", "dify.plugin.llm", "closed"),
        ("tools", "dify.plugin.tools", "suspended"),
    ]
    assert [one.runtime_state for one in snapshot.layers[2:4]] == [{"job_ids": ["1"]}, MESSAGES]


def test_a_request_of_ours_stays_as_it_is(build_request):
    request = CreateRunRequest.model_validate(build_request())
    assert read(request.model_dump(mode="json", exclude_none=True)) == request


def test_a_request_of_protocol_2_becomes_one_of_ours_with_what_others_need_before_them():
    request = read(PROTOCOL_2, V18)

    assert [(one.name, one.type, one.deps) for one in request.composition.layers] == [
        ("execution_context", "dify.execution_context", {}),
        ("agent_soul_prompt", "plain.prompt", {}),
        ("llm", "dify.gateway.llm", {"execution_context": "execution_context"}),
        ("runtime", "dify.runtime", {}),
        ("shell", "dify.shell", {}),
        ("config", "dify.config", {}),
        ("history", "pydantic_ai.history", {}),
        ("tools", "dify.plugin.tools", {"plugin": "execution_context"}),
    ]
    assert layers(request)["llm"].config == MODEL | {"context_window_tokens": None}
    assert layers(request)["tools"].config == {"tools": []}
    assert read({"composition": PROTOCOL_2["composition"]}).session_snapshot is None


def test_a_snapshot_of_protocol_2_is_read_by_names():
    snapshot = read(PROTOCOL_2, V18).session_snapshot
    states = {one.name: one.runtime_state for one in snapshot.layers}

    assert states == {name: {} for name in layers(read(PROTOCOL_2))} | {
        "history": MESSAGES,
        "shell": {"job_ids": ["1"]},
    }


def test_a_conversation_that_began_under_protocol_1_goes_on_under_protocol_2():
    request = read(PROTOCOL_2 | {"session_snapshot": PROTOCOL_1["session_snapshot"]}, V18)
    states = {one.name: one.runtime_state for one in request.session_snapshot.layers}

    assert states["history"] == MESSAGES
    assert {one.lifecycle_state for one in request.session_snapshot.layers} == {"suspended"}


def test_a_request_without_a_version_is_told_by_its_layers():
    one, two = (body["composition"] | {} for body in (PROTOCOL_1, PROTOCOL_2))
    del one["schema_version"], two["schema_version"]

    assert read_run_request({"composition": one}).version.protocol == 1
    assert read_run_request({"composition": two}).version.protocol == 2


def changed(at, **fields):
    """Return a composition of protocol 2 with a layer changed."""
    found = [*PROTOCOL_2["composition"]["layers"]]
    found[at] = found[at] | fields
    return {"composition": {"schema_version": 2, "layers": found}}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (PROTOCOL_1 | {"surprise": "s3cret"}, "surprise"),
        (PROTOCOL_2 | {"on_exit": {}}, "on_exit"),
        (
            PROTOCOL_2 | {"session_snapshot": {"layers": [{"name": "s3cret"}]}},
            "session_snapshot.layers.0.lifecycle_state",
        ),
        (
            PROTOCOL_2 | {"session_snapshot": {"schema_version": 3}},
            "session_snapshot.schema_version",
        ),
        (changed(0, name="ask_human"), "composition.layers.0.name"),
        (changed(0, type="plain.prompt"), "composition.layers.0.type"),
        (changed(0, config=None), "composition.layers.0.config"),
        (
            changed(1, config=MODEL | {"execution_context": "history"}),
            "composition.layers.1.config.execution_context",
        ),
        (
            changed(1, config=MODEL | {"execution_context": 1}),
            "composition.layers.1.config.execution_context",
        ),
        (changed(2, name="history"), "composition.layers.1.config.execution_context"),
        ({"composition": {"schema_version": 3, "layers": []}}, "composition.schema_version"),
        ([], "body"),
        ({"composition": []}, "composition"),
    ],
)
def test_what_no_protocol_knows_is_refused_by_its_field_and_without_its_value(body, field):
    with pytest.raises(RequestRefusedError) as refused:
        read(body)
    assert field in [problem.field for problem in refused.value.problems]
    assert "s3cret" not in str(refused.value)
