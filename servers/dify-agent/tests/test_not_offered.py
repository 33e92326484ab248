"""Layers that Dify adds by default and that do nothing here."""

import pytest

from dify_agent.compositor import (
    Compositor,
    CompositorSessionSnapshot,
    LayerNode,
    LayerProvider,
    LayerSessionSnapshot,
)
from dify_agent.exceptions import AgentRunValidationError
from dify_agent.layers.not_offered import NOT_OFFERED_LAYERS
from dify_agent.protocol import RunComposition
from dify_agent.runtime.layer_providers import create_default_layer_providers
from dify_agent.runtime.runner import validate_composition


_, DifyShellLayer, DifyConfigLayer, DifyDriveLayer = NOT_OFFERED_LAYERS

NOTICE = "In this run there is no shell, and skills and files of the agent cannot be opened: do not say that you will use them."
CONTEXT = {"tenant_id": "t", "agent_mode": "agent_app", "invoke_from": "web-app"}


def spec(name, type_, deps=(), **config):
    deps = dict(zip(deps, deps, strict=True))
    return {"name": name, "type": type_, "deps": deps, "config": config}


def errors(*layers):
    composition = RunComposition.model_validate({"layers": layers})
    try:
        validate_composition(composition, create_default_layer_providers())
    except AgentRunValidationError as error:
        return str(error)
    return ""


async def instruction(*layers):
    """Return the prompts of layers, each given as its class and configuration; all depend on the first, if that is a shell."""
    nodes, configs = [], {}
    for kind, config in layers:
        name = kind.type_id
        deps = {"shell": DifyShellLayer.type_id} if DifyShellLayer.type_id in configs else {}
        nodes.append(LayerNode(name=name, provider=LayerProvider.from_layer_type(kind), deps=deps))
        configs[name] = config
    async with Compositor(nodes).enter(configs) as run:
        return run.prompts


def test_what_dify_sends_by_default_is_taken():
    context = spec("execution_context", "dify.execution_context", **CONTEXT)
    tools = spec("tools", "dify.plugin.tools", ["shell"], tools=[])
    tools["deps"]["plugin"] = "execution_context"
    layers = [
        context,
        spec("runtime", "dify.runtime", backend_binding_ref="bind:1"),
        spec("shell", "dify.shell", ["execution_context", "runtime"], cli_tools=[], env=[{}]),
        spec("config", "dify.config", ["shell"], skills=[], note="", anything={"more": 1}),
        tools,
    ]
    assert errors(*layers) == ""

    older = [context, spec("shell", "dify.shell", ["execution_context"], sandbox={})]
    assert errors(*older, spec("drive", "dify.drive", ["shell"], drive_ref="d")) == ""


def test_another_dependency_is_refused_and_those_that_may_be_are_named():
    error = errors(spec("other", "dify.shell"), spec("shell", "dify.shell", ["other"]))
    assert error == (
        "Layer 'shell' needs the dependencies [] and may have ['execution_context', 'runtime', 'shell'], got ['other']."
    )


def test_a_dependency_has_to_be_of_its_kind_even_if_it_may_be_missing():
    prompt = spec("shell", "plain.prompt")
    assert "needs a NotOfferedLayer as its 'shell'" in errors(
        prompt, spec("config", "dify.config", ["shell"])
    )


async def test_they_add_nothing():
    layers = [(kind, {"cli_tools": [], "mentioned_file_names": []}) for kind in NOT_OFFERED_LAYERS]
    assert await instruction(*layers) == []


@pytest.mark.parametrize(
    ("kind", "config"),
    [
        (DifyShellLayer, {"cli_tools": [{"name": "ffmpeg"}]}),
        (DifyConfigLayer, {"mentioned_skill_names": ["report"]}),
        (DifyConfigLayer, {"mentioned_file_names": ["a.csv"]}),
        (DifyDriveLayer, {"mentioned_skill_keys": ["report"]}),
        (DifyDriveLayer, {"mentioned_file_keys": ["a.csv"]}),
    ],
)
async def test_what_the_model_has_read_of_is_said_not_to_be_there(kind, config):
    assert await instruction((kind, config)) == [NOTICE]


async def test_it_is_said_once():
    layers = [
        (DifyShellLayer, {"cli_tools": [{"name": "ffmpeg"}]}),
        (DifyConfigLayer, {"mentioned_skill_names": ["report"]}),
    ]
    assert await instruction(*layers) == [NOTICE]
    layers[0] = (DifyShellLayer, {})
    assert await instruction(*layers) == [NOTICE]


async def test_a_state_of_dify_s_own_server_is_taken_and_dropped():
    provider = LayerProvider.from_layer_type(DifyShellLayer)
    compositor = Compositor([LayerNode(name="shell", provider=provider)])
    kept = LayerSessionSnapshot(
        name="shell",
        type_id="dify.shell",
        lifecycle_state="suspended",
        runtime_state={"job_ids": ["1"]},
    )
    async with compositor.enter(session_snapshot=CompositorSessionSnapshot(layers=(kept,))) as run:
        assert run.slots["shell"].layer.runtime_state.model_dump() == {}
