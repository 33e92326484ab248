"""Tool calls put together from the pieces of a stream."""

import json

from agent_tooling import parse_tool_arguments

from ._events import ToolCallFragment
from ._messages import ToolCall


def _is_object(arguments: str) -> bool:
    return bool(arguments) and parse_tool_arguments(arguments).ok


def _without_repeats(arguments: str) -> str:
    """Return what a client sent more than once, in pieces and then whole, as it is once."""
    try:
        _, end = json.JSONDecoder().raw_decode(arguments)
    except (ValueError, RecursionError):
        return arguments
    once = arguments[:end]
    return once if once * (len(arguments) // end) == arguments else arguments


class _Draft:
    """A tool call that is still growing."""

    def __init__(self, fragment: ToolCallFragment) -> None:
        self.id = fragment.id
        self.name = fragment.name
        self.index = fragment.index
        self.arguments = fragment.arguments

    def extend(self, fragment: ToolCallFragment) -> None:
        self.id = self.id or fragment.id
        self.name = self.name or fragment.name
        self.arguments += fragment.arguments

    @property
    def is_valid(self) -> bool:
        return bool(self.id.strip() and self.name.strip())

    def to_call(self) -> ToolCall:
        arguments = _without_repeats(self.arguments)
        return ToolCall(id=self.id.strip(), name=self.name.strip(), arguments=arguments)


class ToolCallMerger:
    """Merge the fragments of a round into tool calls, by id, by index, or else in the order they come."""

    def __init__(self) -> None:
        self._drafts: list[_Draft] = []

    def add(self, fragment: ToolCallFragment) -> None:
        """Take the next fragment."""
        draft = self._find(fragment)
        if draft is None:
            self._drafts.append(_Draft(fragment))
        else:
            draft.extend(fragment)

    @property
    def has_calls(self) -> bool:
        """Whether there is a call with id and name by now."""
        return any(draft.is_valid for draft in self._drafts)

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls that have an id and a name; without both a call can neither be run nor answered."""
        calls = (draft.to_call() for draft in self._drafts if draft.is_valid)
        return tuple({call.id: call for call in calls}.values())

    def _find(self, fragment: ToolCallFragment) -> _Draft | None:
        if fragment.id:
            return self._find_id(fragment)
        if fragment.index is not None:
            return self._find_index(fragment.index)
        latest = self._drafts[-1] if self._drafts else None
        # A second name without an id is another call, not a piece of the latest.
        return None if latest and latest.name and fragment.name else latest

    def _find_id(self, fragment: ToolCallFragment) -> _Draft | None:
        for draft in self._drafts:
            if draft.id == fragment.id:
                return draft
        unnamed = None if fragment.index is None else self._find_index(fragment.index)
        return unnamed if unnamed and not unnamed.id else None

    def _find_index(self, index: int) -> _Draft | None:
        # The latest wins: some gateways reuse an index for the next call.
        return next((draft for draft in reversed(self._drafts) if draft.index == index), None)


def to_replayed(call: ToolCall) -> ToolCall:
    """Return `call` as it goes back to the model: with arguments that are a JSON object.

    Model clients parse replayed arguments and fail on broken ones; the model still sees what it wrote.
    """
    if not call.arguments:
        return ToolCall(id=call.id, name=call.name, arguments="{}")
    if _is_object(call.arguments):
        return call
    wrapped = json.dumps({"invalid_arguments": call.arguments}, ensure_ascii=False)
    return ToolCall(id=call.id, name=call.name, arguments=wrapped)
