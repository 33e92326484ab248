"""inspect-ai, for which a served agent is a model that it evaluates. It shows nobody what a person has to allow."""

import re
from pathlib import Path

import pytest
from inspect_ai.model import ChatMessageUser, GenerateConfig, execute_tools, get_model
from inspect_ai.tool import tool


pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # It uses an older tenacity.


@pytest.fixture(params=[True, False], ids=["stored", "unstored"])
def model_of(request, base_url):
    """Give out a function that returns a served agent as a model."""
    return lambda name: get_model(
        f"openai/{name}",
        base_url=base_url,
        api_key="k1",
        responses_api=True,
        responses_store=request.param,
        config=GenerateConfig(max_tokens=100, max_retries=1),
        memoize=False,
    )


@tool
def get_weather():
    async def execute(city: str):
        """Tell the weather of a city.

        Args:
            city: Which one.
        """
        return f"sunny in {city}"

    return execute


async def test_it_calls_its_tool_in_two_turns(model_of):
    model, tools, told = model_of("asker"), [get_weather()], []
    messages = []
    for question in ("How is the weather?", "And now?"):
        messages.append(ChatMessageUser(content=question))
        asked = await model.generate(messages, tools=tools)
        messages.append(asked.message)
        messages += (await execute_tools(messages, tools)).messages
        answered = await model.generate(messages, tools=tools)
        messages.append(answered.message)
        told.append(answered.completion)
    assert told == 2 * ["The client says: sunny in Paris "]


@pytest.mark.parametrize(
    ("name", "said"), [("thinker", "It is that. "), ("adder", "The sums are 3 and 7. ")]
)
async def test_what_the_agent_thinks_and_does_itself_is_told_and_goes_on(name, said, model_of):
    model, messages = model_of(name), [ChatMessageUser(content="Go.")]
    for _ in range(2):
        answered = await model.generate(messages)
        assert answered.completion == said
        messages += [answered.message, ChatMessageUser(content="Again.")]


def test_an_agent_is_evaluated_as_the_recipe_says(base_url, monkeypatch, tmp_path, capfd):
    monkeypatch.chdir(tmp_path)
    page = Path(__file__).parents[2] / "docs/recipes.md"
    (block,) = re.findall(r"```py\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(block, page.name, "exec"), {"ADDRESS": base_url, "KEY": "k1"})
    assert capfd.readouterr().out.split()[-2:] == ["success", "1.0"]
