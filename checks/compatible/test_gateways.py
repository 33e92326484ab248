"""Conversations through others' gateways: ogx, smg, and LiteLLM's proxy.

The proxy stands before a server of the Responses API and before one of chat completions.
"""

import json

import pytest

from talks import PICTURE, QUESTIONS, SAID, TALKS
from upstream import THOUGHT


# smg takes the items of reasoning, and drops them.
_WITHOUT_REASONING = ("smg",)


@pytest.mark.parametrize("who", TALKS)
async def test_two_turns_with_a_tool_a_picture_and_a_thought_come_through(who, gateway):
    said, sent, passed_on = await gateway.hold(TALKS[who])
    assert said == SAID
    assert len(sent) == 2 * len(QUESTIONS)
    # ogx asks the model for a summary of its thoughts besides.
    last = json.dumps([body for body in passed_on if body.get("tools")][-1])
    assert last.count(PICTURE) == len(QUESTIONS)
    assert (THOUGHT in last) is (gateway.name not in _WITHOUT_REASONING)
