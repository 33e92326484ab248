# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "openai-agents>=0.24",
# ]
# ///
"""Answers questions about the weather with a tool; the weather itself is made up."""

import json
import sys

from agents import Agent, Runner, function_tool


WEATHER = {"Tokyo": "sunny, 24 degrees", "東京": "晴れ、24度", "London": "rain, 13 degrees"}


@function_tool
def get_weather(location: str) -> str:
    """Return the current weather at a place.

    Args:
        location: Name of the place, such as Tokyo.
    """
    return f"{location}: {WEATHER.get(location, 'cloudy, 18 degrees')}"


agent = Agent(
    name="Weather Agent",
    instructions="You answer questions about the weather. Look it up with the tool.",
    tools=[get_weather],
)

fields = json.load(sys.stdin)
print(f"Looking up: {fields['prompt']}")
result = Runner.run_sync(agent, fields["prompt"])
usage = result.context_wrapper.usage
metadata = {"requests": usage.requests, "total_tokens": usage.total_tokens}
print(json.dumps({"answer": result.final_output, "_llm_usage": metadata}))
