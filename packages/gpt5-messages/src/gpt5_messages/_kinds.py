"""The types of items of the Responses API, and the properties of each.

Source: docs/evidence/responses-api.md, R4 to R10, R36 and R37; the types of openai 3.54.0; recorded streams.
"""

from dataclasses import dataclass
from typing import Literal


type Runner = Literal["caller", "server"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemKind:
    """The properties of one type of item.

    Attributes:
        arguments: The field with the arguments, for a call of a tool that the caller declared; None for any other item.
        output: The type of the item that holds its output; None if it has none, or holds it itself.
        goes_alone: Whether it may go back without that output.
        id_key: The field with the id that pairs it with its output.
        runs: Who runs it, for tools of the API's own: the caller, or the server, which knows it by an id or in encrypted form.
        is_setting: Whether it is a setting, and not a part of what was said.
        names: The middle part of the names of stream events with its texts.
        stages: The stages of its progress in a stream.
    """

    arguments: str | None = None
    output: str | None = None
    goes_alone: bool = False
    id_key: str = "call_id"
    runs: Runner | None = None
    is_setting: bool = False
    names: tuple[str, ...] = ()
    stages: tuple[str, ...] = ()


_SEARCH = ItemKind(runs="server", stages=("in_progress", "searching", "completed"))
KINDS = {
    "message": ItemKind(names=("output_text", "refusal")),
    "reasoning": ItemKind(
        names=("reasoning_text", "reasoning_summary_text", "reasoning_summary_part")
    ),
    "function_call": ItemKind(
        arguments="arguments", output="function_call_output", names=("function_call_arguments",)
    ),
    "custom_tool_call": ItemKind(
        arguments="input", output="custom_tool_call_output", names=("custom_tool_call_input",)
    ),
    "shell_call": ItemKind(output="shell_call_output", runs="caller"),
    "local_shell_call": ItemKind(runs="caller"),
    "apply_patch_call": ItemKind(output="apply_patch_call_output", runs="caller"),
    "computer_call": ItemKind(output="computer_call_output", runs="caller"),
    "tool_search_call": ItemKind(output="tool_search_output"),
    "web_search_call": _SEARCH,
    "file_search_call": _SEARCH,
    "code_interpreter_call": ItemKind(
        runs="server", stages=("in_progress", "interpreting", "completed")
    ),
    "image_generation_call": ItemKind(
        runs="server", stages=("in_progress", "generating", "completed")
    ),
    "mcp_list_tools": ItemKind(runs="server", stages=("in_progress", "completed", "failed")),
    "mcp_call": ItemKind(runs="server", stages=("in_progress", "completed", "failed")),
    "mcp_approval_request": ItemKind(runs="server", output="mcp_approval_response", id_key="id"),
    "mcp_approval_response": ItemKind(runs="server", id_key="approval_request_id"),
    "program": ItemKind(runs="server", output="program_output", goes_alone=True),
    "program_output": ItemKind(runs="server"),
    "compaction": ItemKind(stages=("compacting",)),
    "compaction_trigger": ItemKind(is_setting=True),
    "configuration_update": ItemKind(is_setting=True),
    "additional_tools": ItemKind(is_setting=True),
}

CALL_TYPES = {"function": "function_call", "custom": "custom_tool_call"}
"""The types of the items that call each kind of tool that the caller declares."""

CALL_ARGUMENTS = {name: kind.arguments for name, kind in KINDS.items() if kind.arguments}
"""The types of calls that the caller answers, and the field with the arguments of each."""

CALL_OUTPUTS = {
    name: kind.output for name, kind in KINDS.items() if kind.output and not kind.goes_alone
}
"""The calls that must not go back without their output, and the type of that output."""

OUTPUT_TYPES = frozenset(CALL_OUTPUTS.values())

ITEM_TYPES = {event: name for name, kind in KINDS.items() for event in kind.names}
"""The type of the item that an event's text belongs to, by the middle part of the event's name."""


def types_run_by(runner: Runner) -> frozenset[str]:
    """Return the types of the items that only this side runs."""
    return frozenset(name for name, kind in KINDS.items() if kind.runs == runner)
