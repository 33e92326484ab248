"""Two turns with a tool, a picture and a thought, by the client, by an agent and by the plugin, before each server that the simulator can be like."""

import json
from functools import partial

import pytest

from gpt5_simulator import LIKENESSES
from talks import SAID, talk_by_agent, talk_by_client, talk_with
from upstream import MODEL, THOUGHT, serve_responses


KEY = "sk-of-the-server-1234"
# It refuses each item of reasoning, so that the second request is sent once more, and no later one has any.
WITHOUT_REASONING = ("responses.js",)


def thoughts_in(body):
    """Return the thoughts that a request gives back, whichever form its server reads."""
    items = [item for item in body["input"] if item.get("type") == "reasoning"]
    return [item for item in items if THOUGHT in json.dumps(item)]


@pytest.fixture
def hold():
    """Give out a function that holds a conversation before each server."""

    async def with_each(talk):
        said, given_back = {}, {}
        for name in LIKENESSES:
            with serve_responses(like=name) as (base_url, asked):
                said[name] = await talk(base_url, MODEL, KEY)
                given_back[name] = len(thoughts_in(asked()[-1]))
        return said, given_back

    return with_each


def expected():
    """Return what is said before each server, and how many thoughts the last request gives back."""
    return (
        dict.fromkeys(LIKENESSES, SAID),
        {name: 0 if name in WITHOUT_REASONING else 3 for name in LIKENESSES},
    )


@pytest.mark.anyio
@pytest.mark.parametrize("talk", [talk_by_client, talk_by_agent])
async def test_the_client_and_an_agent_talk_to_every_server(talk, hold):
    assert await hold(talk) == expected()


def test_the_plugin_talks_to_every_server(hold, runner, model_process):
    assert runner.run(hold(partial(talk_with, model_process))) == expected()
