"""Cutting the messages of a run to compact it: which ones are kept, and what replaces the others."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from agent_loop._values.messages import Message, ToolCall
from agent_loop._values.reading import read_role
from stream_text import read_member


SUMMARY_REQUEST = (
    "This conversation is about to be too long, and everything above but the instructions and the task will be replaced by what you write now. Write down, as "
    "short as possible and as long as necessary, what you need to go on as if you had it all before you: the task and what is wanted of its answer; all facts, names, "
    "numbers, ids and decisions that may still matter, word for word; what was done and what it showed; what is left to do. Keep what an earlier summary says. "
    "Answer with that alone; call no tool."
)
"""The request for a summary of the run."""

_SUMMARY = "What was said and done before this, in a summary, because it was too long to be kept:\n"
_DROPPED = "Here {count:,} earlier messages of this conversation are missing, because it was too long for the model: tool calls, their results and thoughts. What is needed of them has to be found out again."


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """A place where the messages of a run are cut.

    Attributes:
        index: The first message of the last rounds, which are kept.
        replaced: The earlier messages that are replaced.
    """

    index: int
    replaced: tuple[int, ...]


@dataclass(slots=True, kw_only=True)
class Marks:
    """The indices of the messages that stay when a run is compacted.

    Attributes:
        fixed: The instructions and the task.
        pinned: Tool results that stay word for word.
        summary: The latest summary; None before the first.
    """

    fixed: tuple[int, ...]
    pinned: tuple[int, ...] = ()
    summary: int | None = None

    @classmethod
    def of(cls, messages: Sequence[Any]) -> "Marks":
        """Return the marks for the messages that a run begins with: all system messages, and the last ones of the user."""
        roles = [*map(_role, messages)]
        # A question may come as several messages, such as files before their text.
        asked = len(roles)
        while asked and roles[asked - 1] in {"user", "system"}:
            asked -= 1
        system = (index for index in range(asked) if roles[index] == "system")
        return cls(fixed=(*system, *range(asked, len(roles))))


def find_cut(messages: Sequence[Any], sizes: Sequence[int], marks: Marks, room: int) -> Cut | None:
    """Return where to cut; None if nothing could be left out.

    Args:
        messages: All messages.
        sizes: The tokens of each.
        marks: Which ones stay.
        room: How many tokens the last rounds may have.
    """
    last_fixed = max(marks.fixed, default=-1)
    rounds = [
        index
        for index in range(len(messages) - 1, last_fixed, -1)
        if _role(messages[index]) == "assistant"
    ]
    # The last round always stays: its results are what the model was about to read.
    index = rounds[0] if rounds else len(messages)
    for start in rounds[1:]:
        if sum(sizes[start:]) > room:
            break
        index = start
    kept = {*marks.fixed, *marks.pinned}
    replaced = tuple(at for at in range(index) if at not in kept)
    # A cut that only replaced the earlier summary would gain nothing and be found in each round.
    return Cut(index=index, replaced=replaced) if set(replaced) - {marks.summary} else None


def rebuild(
    messages: Sequence[Any], cut: Cut, marks: Marks, replacement: Iterable[Any], *, has_task: bool
) -> tuple[tuple[Any, ...], Marks]:
    """Return the messages with the replaced ones exchanged for others, and their new marks.

    Args:
        messages: All messages so far.
        cut: Where they are cut.
        marks: Which ones stay.
        replacement: The messages that replace those of the cut.
        has_task: Whether the replacement includes the task, so that of the fixed messages only the instructions stay.
    """
    # The order is instructions and task, summary, pinned results, last rounds.
    fixed = sorted(index for index in marks.fixed if index < cut.index)
    if has_task:
        fixed = [index for index in fixed if _role(messages[index]) == "system"]
    placed = tuple(replacement)
    built: list[Any] = [messages[index] for index in fixed]
    summary = len(built)
    built += placed
    # APIs refuse a result without the call that it answers, so each takes its call along.
    pinned: list[int] = []
    for message in _iter_pinned(messages, sorted(at for at in marks.pinned if at < cut.index)):
        if message.role == "tool":
            pinned.append(len(built))
        built.append(message)
    shift = len(built) - cut.index
    built += messages[cut.index :]
    return tuple(built), Marks(
        fixed=(*range(len(fixed)), *(at + shift for at in marks.fixed if at >= cut.index)),
        pinned=(*pinned, *(at + shift for at in marks.pinned if at >= cut.index)),
        # A conversation that an API has compacted may be several messages, and none stands alone.
        summary=summary if len(placed) == 1 else None,
    )


def build_summary(text: str) -> Message:
    """Return the message that holds a summary."""
    return Message(role="user", content=f"{_SUMMARY}{text}")


def build_gap(count: int, earlier: Any) -> Message:
    """Return the message that says how many messages are missing, after the earlier summary if there is one."""
    notice = _DROPPED.format(count=count)
    content = earlier.content if isinstance(earlier, Message) else ""
    return Message(role="user", content=f"{content}\n{notice}" if content else notice)


def count_reasoning(messages: Iterable[Any]) -> int:
    """Return how many messages carry an opaque body, such as reasoning."""
    return sum(read_member(message, "opaque_body") is not None for message in messages)


def _iter_pinned(messages: Sequence[Any], pinned: Sequence[int]) -> Iterable[Message]:
    """Yield pinned results, each after an assistant message with nothing but its calls."""
    asked = -1
    for number, index in enumerate(pinned):
        start = _find_asking(messages, index)
        if start != asked:
            asked = start
            together = [at for at in pinned[number:] if _find_asking(messages, at) == start]
            ids = {messages[at].tool_call_id for at in together}
            calls: tuple[ToolCall, ...] = messages[start].tool_calls
            yield Message(
                role="assistant", tool_calls=tuple(call for call in calls if call.call_id in ids)
            )
        yield messages[index]


def _find_asking(messages: Sequence[Any], index: int) -> int:
    """Return the index of the assistant message that made the call."""
    return next(at for at in range(index, -1, -1) if _role(messages[at]) == "assistant")


def _role(message: object) -> str:
    return str(read_role(message))
