"""A test made from a logged run: the model and the tools answer as they did, and the requests to them are compared."""

import json
import re
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, cast

from run_log import LoggedRequest, Record, RunFile, RunLogError, from_plain
from run_log._lines.json_lines import read_object


MAX_BYTES: Final = 50_000_000

_SOURCE: Final = '''"""Replay of {run}: the model and the tools answer as they did, and each request is compared with the recorded one.

It needs gpt5-agent-driver and pytest. Give `recorded.model` and `recorded.tools` to an agent of your own to see where its requests differ.
"""

import pytest
from agent_driver import drive
from agent_loop import AgentRun, Budgets, ModelFailure
from agent_tooling import RefusedArguments, Tool, ToolOutput
from run_log.replay import ReplayedRun, read_run, to_numbers


RUN = read_run(
    r"""
{texts}
""",
    r"""
{data}
""",
)


class RecordedTool(Tool):
    def bind(self, arguments):
        error = RUN["refused"].get(self.name, {{}}).get(arguments)
        return super().bind(arguments) if error is None else RefusedArguments(error=error)

    def invoke(self, args, **_):
        return ToolOutput(**self.function(args))


class Recorded(ReplayedRun):
    """A recorded run: `messages`, `model` and `tools` to begin it with, the recorded `requests`, and those of the replay in `asked`."""

    def model(self, call):
        for said in self.answer(call.messages):
            yield ModelFailure(**said) if "is_transient" in said else said

    @property
    def tools(self):
        return [
            RecordedTool(**tool, function=lambda args, name=tool["name"]: self.find_result(name, args))
            for tool in RUN["tools"]
        ]


@pytest.fixture
def recorded():
    return Recorded(RUN)


def test_{name}_asks_what_it_asked_then(recorded):
    run = AgentRun(recorded.messages, budgets=Budgets(**to_numbers(RUN["budgets"])), **RUN["first"])
    *_, finished = drive(run, recorded.model, recorded.tools)
    assert recorded.difference() is None
    assert len(recorded.asked) == len(recorded.requests)
    assert finished.reason in RUN["reasons"]
'''


def write_fixture(path: Path) -> str:
    """Return the source of a test that replays a run; it needs only agent_driver and pytest.

    Args:
        path: The run's file.

    Raises:
        RunLogError: If the file cannot be read, or the run cannot be replayed: because it has no whole request, is too
            large, was compacted, or stopped for approval.
    """
    if path.stat().st_size > MAX_BYTES:
        raise RunLogError(f"{path.stem}: expected at most {MAX_BYTES:,} bytes to make a test of")
    file = RunFile(path)
    for record in file.iter_records():
        if problem := _find_problem(record):
            raise RunLogError(f"{path.stem}: {problem}, which a test cannot replay yet")
    requests = list(file.iter_requests())
    if not requests:
        raise RunLogError(f"{path.stem}: expected a request to make a test of")
    try:
        return _write_source(path, file, requests)
    except (AttributeError, IndexError, KeyError, TypeError):
        why = next(map(str, file.problems), "a record is not what a run's log has there")
        raise RunLogError(f"{path.stem}: expected a whole log to make a test of: {why}") from None


def _write_source(path: Path, file: RunFile, requests: list[LoggedRequest]) -> str:
    settings = requests[0].written_settings
    tools: list[dict[str, Any]] = file.expand(settings.get("tools")) or []
    record = _read_record(file, requests)
    data = {
        "run": path.stem,
        "first": _find_first(record, requests, file.expand(settings), file.expand(record.about)),
        "budgets": record.budgets,
        "reasons": [record.reason],
        "tools": [_show_tool(tool) for tool in tools],
        "rounds": record.rounds,
        "results": record.results,
        "refused": record.refused,
    }
    names: list[str] = []
    from_plain(data, names.append)
    texts = {name: file.find_text(name) for name in dict.fromkeys(names)}
    return _SOURCE.format(
        run=path.stem,
        texts=_write_json({name: text for name, text in texts.items() if text is not None}),
        data=_write_json(data),
        name=re.sub(r"\W", "_", path.stem.lower()),
    )


def _find_problem(record: Record) -> str | None:
    if record["type"] == "compaction":
        return "the run was compacted"
    if record["type"] == "end" and record["reason"] == "approval":
        return "the run stopped for a person's approval"
    return None


def _write_json(value: Any) -> str:
    # It goes into a raw string in triple quotes, which it must not end.
    return json.dumps(value, indent=1, ensure_ascii=True).replace('"""', '""\\u0022')


def _find_first(
    record: "_Record",
    requests: list[LoggedRequest],
    settings: dict[str, Any],
    about: dict[str, Any],
) -> dict[str, Any]:
    """Return the arguments to begin a run of the same shape."""
    closing = next((index for index, one in enumerate(requests, 1) if one.is_closing), None)
    # The budget is used up again and closes the run by itself, so the number of rounds must not.
    is_spent = record.reason == "budget" and record.budget in record.budgets
    first: dict[str, Any] = {
        "maximum_iterations": len(requests) + 1 if is_spent else closing or len(requests) + 1,
        "tool_choice": settings.get("tool_choice"),
        "allowed_tools": settings.get("allowed_tools"),
        "max_request_bytes": about.get("max_request_bytes"),
    }
    if closing is not None and "tools" not in requests[closing - 1].settings:
        first["has_tool_choice"] = False
    return {name: value for name, value in first.items() if value is not None}


@dataclass(slots=True)
class _Record:
    """The answers and results of a run, long texts by their digests."""

    rounds: list[dict[str, Any]]
    about: dict[str, Any] = field(default_factory=dict[str, Any])
    budgets: dict[str, Any] = field(default_factory=dict[str, Any])
    results: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    refused: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    reason: str = "closed"
    budget: str | None = None


def _read_record(file: RunFile, requests: list[LoggedRequest]) -> _Record:
    """Return the answers of each round, the results of tools, and why the run stopped."""
    rounds: list[dict[str, Any]] = [
        {"kept": one.kept, "added": list(one.written_messages[one.kept :]), "answer": _new_answer()}
        for one in requests
    ]
    found = _Record(rounds)
    calls: dict[str, dict[str, Any]] = {}
    index = -1
    for record in file.iter_records():
        kind = record["type"]
        index += kind == "request"
        if kind in {"delta", "answer"}:
            _take_answer(cast("dict[str, Any]", rounds[index]["answer"]), record)
        elif "call_id" in record:
            # A result is found by the name and arguments of its call, so these are needed whole.
            whole = file.expand(record) if kind == "call" else record
            _take_call(found, calls.setdefault(record["call_id"], {}), whole)
        elif kind == "start":
            found.about = record["about"]
        elif kind == "budgets":
            # Without the budget of time, since a replay takes another time than the run did.
            uses: dict[str, Any] = {**record["budgets"], "max_seconds": None}
            found.budgets = {name: use["maximum"] for name, use in uses.items() if use}
        elif kind == "end":
            found.reason = str(file.expand(record["reason"]))
            found.budget = file.expand(record.get("budget"))
    # A request that adds nothing repeats the one before, whose failure was a transient one.
    for one, after in pairwise(rounds):
        one["answer"]["is_repeated"] = after["added"] == []
    _forget_bound(found, calls)
    return found


def _take_answer(answer: dict[str, Any], record: Record) -> None:
    if record["type"] == "delta":
        answer["pieces"].append([record["text"], record.get("phase")])
    else:
        fields = {name: record.get(name) for name in _ANSWER}
        answer |= {**fields, "calls": fields["calls"] or []}


def _take_call(found: _Record, call: dict[str, Any], record: Record) -> None:
    match record["type"]:
        case "call":
            call |= {"name": record["name"], "text": record["arguments"]}
        case "bound" if "tool" not in record:
            call["arguments"] = record["arguments"]
        case "result":
            answer = {"content": record.get("content"), "error": record.get("error")}
            if record["outcome"] in {"done", "failed", "unfinished"}:
                # A call that the run answers by itself, such as `read_result`, is never bound; neither
                # is a call of another tool under its own name. Both are found as they were written.
                bound = call.get("arguments")
                arguments = read_object(call.get("text", "")) if bound is None else bound
                found.results.append({"name": call.get("name"), "arguments": arguments, **answer})
            elif record["outcome"] == "refused":
                found.refused.setdefault(call["name"], {})[call["text"]] = answer["error"]
        case _:
            pass


def _forget_bound(found: _Record, calls: dict[str, dict[str, Any]]) -> None:
    """Leave a refusal to the run if it had another reason than the arguments, which were accepted in another call."""
    for call in calls.values():
        if "arguments" in call:
            found.refused.get(call["name"], {}).pop(call["text"], None)


_ANSWER: Final = ("calls", "usage", "finish_reason", "opaque_body", "error")


def _new_answer() -> dict[str, Any]:
    return {"pieces": [], "is_repeated": False, **dict.fromkeys(_ANSWER), "calls": []}


def _show_tool(tool: dict[str, Any]) -> dict[str, Any]:
    parameters: Any = tool.get("parameters") or {"type": "object", "properties": {}}
    description = tool.get("description") or ""
    return {"name": tool["name"], "description": description, "parameters": parameters}
