"""Read events as Dify's client does: in closed models, in which the data of an agent's event is one of this Pydantic AI's own.

The events come as a JSON list to stdin; those that cannot be read go to stdout, each with why.
"""

import json
import sys

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_ai.messages import AgentStreamEvent


class Event(BaseModel):
    """An event of an agent, in Dify's envelope."""

    model_config = ConfigDict(extra="forbid")

    id: str
    run_id: str
    created_at: str
    type: str
    data: AgentStreamEvent
    agent_message_delta: str | None = None


problems = []
for event in json.load(sys.stdin):
    try:
        Event.model_validate(event)
    except ValidationError as error:
        problems.append([event, str(error)])
json.dump(problems, sys.stdout)
