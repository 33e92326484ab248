"""The question whether tool calls may be made, and a person's answer."""

from dataclasses import dataclass, field

from ._messages import ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a person has decided about a call that needs approval.

    Attributes:
        call_id: The call.
        is_approved: Whether it may be made.
        reason: What the person says to a call that they deny; the model reads it.
        by: Who has decided, as the driver calls them; for a log.
        refusal: What the model reads of a call that is not made for another reason than a person's no, in the place of the sentence that they did not approve it.
    """

    call_id: str
    is_approved: bool
    reason: str | None = None
    by: str | None = None
    refusal: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AskApproval:
    """A request to the driver: ask a person whether these calls may be made, and feed a `Decision` for each, in any order, now or after `AgentRun.resume` in another process.

    The other calls of the round have been made by then.

    Attributes:
        round: The number of the round.
        calls: The calls as they would be made, at most 20: a call that stands for another tool's is that one, and its arguments, of at most 20,000 characters, are JSON made anew of
            what the tool would get, without what is hidden from the model.
        snapshot: What the run is resumed from, where its driver has added it; see `AgentRun.to_snapshot`. It holds the conversation.
    """

    round: int
    calls: tuple[ToolCall, ...]
    snapshot: str | None = field(default=None, repr=False)
