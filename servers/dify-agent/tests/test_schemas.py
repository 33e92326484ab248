import contextlib
import json

import pytest
from pydantic import ValidationError

from counting import count_steps
from dify_agent.compositor import CompositorSessionSnapshot, LayerSessionSnapshot
from dify_agent.layers.dify_plugin import DifyPluginLayerConfig, DifyPluginLLMLayerConfig
from dify_agent.protocol import (
    CreateRunRequest,
    LayerExitSignals,
    RunComposition,
    RunLayerSpec,
)


LLM = DifyPluginLLMLayerConfig(
    plugin_id="langgenius/openai",
    model_provider="openai",
    model="gpt-4o-mini",
    credentials={"api_key": "hunter2"},
)


def a_request() -> CreateRunRequest:
    plugin = DifyPluginLayerConfig(tenant_id="tenant-1")
    return CreateRunRequest(
        composition=RunComposition(
            layers=[
                RunLayerSpec(name="plugin", type="dify.plugin", config=plugin),
                RunLayerSpec(
                    name="llm", type="dify.plugin.llm", deps={"plugin": "plugin"}, config=LLM
                ),
                RunLayerSpec(name="history", type="pydantic_ai.history"),
                RunLayerSpec(name="prompt", type="plain.prompt", config={"user": "Hello"}),
                RunLayerSpec(name="empty", type="plain.prompt", config={}),
            ]
        ),
        session_snapshot=CompositorSessionSnapshot(
            layers=(LayerSessionSnapshot(name="p", type_id="t", lifecycle_state="closed"),)
        ),
        on_exit=LayerExitSignals(default="delete", layers={"history": "suspend"}),
    )


def test_a_configuration_object_is_kept_as_it_is():
    spec = RunLayerSpec(name="llm", type="dify.plugin.llm", config=LLM)
    assert spec.config is LLM


def test_a_request_survives_json_with_all_fields_of_its_configurations():
    request = a_request()
    read = CreateRunRequest.model_validate_json(request.model_dump_json())
    assert read.model_dump() == request.model_dump()
    assert [layer.config for layer in read.composition.layers] == [
        {"tenant_id": "tenant-1", "user_id": None},
        LLM.model_dump(),
        None,
        {"user": "Hello"},
        {},
    ]


def test_a_request_does_not_show_its_secrets():
    assert "hunter2" not in repr(a_request())


def test_a_request_that_is_refused_does_not_quote_what_it_got():
    with pytest.raises(ValidationError) as caught:
        CreateRunRequest.model_validate({"composition": {"layers": "hunter2"}})
    assert "composition.layers" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_layers_are_left_with_their_state_kept_unless_the_request_says_otherwise():
    request = CreateRunRequest(composition=RunComposition())
    assert request.on_exit == LayerExitSignals(default="suspend", layers={})


def test_two_layers_of_one_name_are_refused():
    spec = {"name": "twice", "type": "plain.prompt"}
    with pytest.raises(ValidationError, match="unique names, got duplicates: twice"):
        RunComposition.model_validate({"layers": [spec, spec]})


def some_layers(number: int) -> dict[str, object]:
    return {"layers": [{"name": str(i), "type": "plain.prompt"} for i in range(number)]}


def test_a_composition_has_at_most_256_layers():
    assert len(RunComposition.model_validate(some_layers(256)).layers) == 256
    with pytest.raises(ValidationError, match=r"layers\n  List should have at most 256 items"):
        RunComposition.model_validate(some_layers(257))


def test_a_snapshot_has_at_most_256_layers():
    layer = {"name": "a", "type_id": "b", "lifecycle_state": "closed"}
    with pytest.raises(ValidationError, match=r"layers\n  Tuple should have at most 256 items"):
        CompositorSessionSnapshot.model_validate({"layers": [layer] * 257})


def test_checking_layers_takes_steps_in_proportion_to_their_number_and_none_beyond_the_most():
    def check(number: int) -> int:
        body = json.dumps({"composition": some_layers(number)})

        def read() -> None:
            with contextlib.suppress(ValidationError):
                CreateRunRequest.model_validate_json(body)

        return count_steps(read)

    assert check(256) < 2.2 * check(128)
    assert check(8_000) < 1.1 * check(257)


@pytest.mark.parametrize("field", ["name", "type"])
def test_a_layer_without_a_name_or_type_is_refused(field):
    with pytest.raises(ValidationError, match=field):
        RunLayerSpec.model_validate({"name": "a", "type": "b"} | {field: ""})


def test_an_unknown_intent_is_refused():
    with pytest.raises(ValidationError, match="'suspend' or 'delete'"):
        LayerExitSignals.model_validate({"layers": {"history": "keep"}})


def test_an_unknown_field_is_refused():
    with pytest.raises(ValidationError, match="plugin_daemon_api_key\n  Extra inputs"):
        CreateRunRequest.model_validate({"composition": {}, "plugin_daemon_api_key": "x"})
