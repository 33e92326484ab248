import pytest
from pydantic import ValidationError

from dify_agent.layers.prompt import PromptLayer, PromptLayerConfig


@pytest.mark.parametrize(
    ("value", "texts"),
    [("one", ["one"]), (["one", "two"], ["one", "two"]), ("", []), (["  \n", "two"], ["two"])],
)
def test_each_field_is_one_text_or_several_and_blank_ones_say_nothing(value, texts):
    layer = PromptLayer.from_config(PromptLayerConfig(prefix=value, user=value, suffix=value))
    assert layer.prefix_prompts == texts
    assert layer.user_prompts == texts
    assert layer.suffix_prompts == texts


def test_of_texts_that_are_none_the_first_is_told():
    with pytest.raises(ValidationError) as refused:
        PromptLayerConfig.model_validate({"user": [0] * 9, "prefix": [0] * 9})

    assert not any(1 in problem["loc"] for problem in refused.value.errors())


def test_a_layer_may_say_nothing():
    layer = PromptLayer.from_config(PromptLayerConfig())
    assert (layer.prefix_prompts, layer.user_prompts, layer.suffix_prompts) == ([], [], [])
