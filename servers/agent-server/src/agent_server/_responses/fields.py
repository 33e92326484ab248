"""What is done with each field of a request for a response.

A hint is taken without effect, since an answer without it is as good. What would change what an answer promises is
refused, unless it has a value that promises nothing.

Source: `types/responses/response_create_params.py` of openai 3.54.0.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from agent_server._http.problems import refuse


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """What is done with a field.

    Attributes:
        use: Whether it has an effect, is taken without one, or is refused.
        why: What it does, or why it does nothing, in words.
        neutral: Values that are taken nevertheless, because they promise nothing.
    """

    use: Literal["used", "ignored", "refused"]
    why: str
    neutral: tuple[Any, ...] = (None,)


def _used(what: str) -> Field:
    return Field(use="used", why=what)


def _ignored(why: str) -> Field:
    return Field(use="ignored", why=why)


def _refused(why: str, *neutral: Any) -> Field:
    return Field(use="refused", why=why, neutral=(None, *neutral))


_CACHE: Final = "the agent decides how its model caches"
_MODEL: Final = "the agent decides how its model is called"

FIELDS: Final[Mapping[str, Field]] = {
    "access_programs": _refused("the agent's model has the access that the server's key has"),
    "background": _used(
        "answers at once; a client that disconnects does not end the run either way"
    ),
    "background_options": _ignored("runs begin as soon as there is room"),
    "client_metadata": _ignored("it is meant for the operator of a model"),
    "context_management": _refused("the agent decides when its history is compacted"),
    "conversation": _refused("conversations continue with `previous_response_id`"),
    "image": _ignored(_MODEL),
    "include": _ignored("items always have everything that the server shows"),
    "input": _used(
        "a text, or items: messages, calls with their results, and the output of earlier responses"
    ),
    "instructions": _used("follow the agent's own"),
    "max_output_tokens": _used("a hint: the response repeats it, and the agent has its own limits"),
    "max_tool_calls": _refused("the agent has its own limits: omit it (`maxToolCalls`)"),
    "metadata": _used("finds the run again"),
    "model": _used("the agent's name"),
    "moderation": _refused("nothing is moderated here"),
    "parallel_tool_calls": _ignored(_MODEL),
    "previous_response_id": _used(
        "continues a conversation, or answers what the response waits for"
    ),
    "prompt": _refused("prompts are not kept here"),
    "prompt_cache_key": _ignored(_CACHE),
    "prompt_cache_options": _ignored(_CACHE),
    "prompt_cache_retention": _ignored(_CACHE),
    "reasoning": _ignored(_MODEL),
    "safety_identifier": _ignored("the server knows keys, not users"),
    "service_tier": _ignored(_MODEL),
    "store": _used("`false`: the run is deleted soon after its end, and no other can continue it"),
    "stream": _used("answers with events"),
    "stream_options": _ignored("events have no padding"),
    "temperature": _ignored(_MODEL),
    "text": _used("`format`: the agent's own format; `verbosity` is accepted without effect"),
    "tool_choice": _refused("the agent decides what it calls: omit it (`toolChoice`)", "auto"),
    "tools": _used("functions that the client calls itself; the agent's own are on the server"),
    "top_logprobs": _refused("answers have no probabilities", 0),
    "top_p": _ignored(_MODEL),
    "truncation": _ignored("the agent decides what it does with a long history"),
    "user": _ignored("the server knows keys, not users"),
}
"""What is done with each field, by its name."""


def check_fields(value: Mapping[str, Any]) -> None:
    """Check that a request has no field that is refused.

    Raises:
        RequestRefusedError: If it has one, or one that the API does not know.
    """
    for name, given in value.items():
        if (known := FIELDS.get(name)) is None:
            raise refuse(name, "is not a field of the Responses API", code="unknown_parameter")
        # `0 == False`, and a text equals nothing but itself.
        if known.use == "refused" and not any(
            given == one and type(given) is type(one) for one in known.neutral
        ):
            raise refuse(name, f"is not supported: {known.why}", code="unsupported_parameter")
