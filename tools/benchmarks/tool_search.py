"""Measure the tool search on the functions of the Berkeley function calling leaderboard: `python -m benchmarks.tool_search`.

The data are those of the package bfcl-eval that is installed: the functions of `live_multiple`, one per name, and its
users' questions as queries. Nothing of it is kept. The weights of the ranking were chosen on the questions about one
half of the sets of functions; the other half is the held-out one.
"""

import json
import statistics
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from agent_driver import ToolSearch, drive
from agent_loop import AgentRun, CallModel
from agent_tooling import Tool, unique_tool_names


FIRST = 10
_DATA = "BFCL_v4_live_multiple.json"
_TYPES = {"dict": "object", "float": "number", "tuple": "array", "any": None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question of the data.

    Attributes:
        text: What the user says.
        tools: The names of the tools that answer it.
        is_held_out: Whether it is about a set of functions that nothing was chosen on.
    """

    text: str
    tools: frozenset[str]
    is_held_out: bool


def main() -> None:
    """Measure and print the table."""
    tools, questions = _read_data()
    search = ToolSearch(tools)
    search.find("warm up")
    times: list[float] = []
    hits: dict[bool, list[bool]] = {False: [], True: []}
    for question in questions:
        began = time.perf_counter()
        found = search.find(question.text, FIRST)
        times.append(time.perf_counter() - began)
        hits[question.is_held_out].append(any(tool.name in question.tools for tool in found))
    everything = [hit for half in hits.values() for hit in half]
    print("| tool search | |\n|---|---:|")  # noqa: T201 - the result
    for name, value in {
        f"tools; questions ({distribution('bfcl-eval').version})": f"{len(tools)}; {len(questions)}",
        f"the tool among the first {FIRST}, all questions": f"{statistics.mean(everything):.1%}",
        "the same, the half that weights were chosen on": f"{statistics.mean(hits[False]):.1%}",
        "the same, the held-out half": f"{statistics.mean(hits[True]):.1%}",
        **_measure_requests(tools, questions),
        "median time of a search": f"{statistics.median(times) * 1000:.1f} ms",
    }.items():
        print(f"| {name} | {value} |")  # noqa: T201 - the result
    print(f"\n{datetime.now(UTC):%Y-%m-%d}")  # noqa: T201 - the result


def _measure_requests(tools: Sequence[Tool], questions: Iterable[Question]) -> dict[str, str]:
    """Compare the bytes of the requests of runs that search once and call once with those of the same runs that are given all tools."""
    [all_in] = _play(
        tools, Question(text="", tools=frozenset(), is_held_out=False), tool_search=None
    )
    parts: list[list[float]] = [[], []]
    for question in questions:
        first, _, last = _play(tools, question, tool_search=30)
        with_all = all_in + len(json.dumps(question.text, ensure_ascii=False).encode())
        parts[0].append(first / with_all)
        parts[1].append(last / with_all)
    return {
        "request with all tools": f"{all_in:,} bytes",
        "first request, of that": f"{statistics.median(parts[0]):.2%}",
        "request after a search and a call, of that: median": f"{statistics.median(parts[1]):.2%}",
        "the same, most": f"{max(parts[1]):.2%}",
    }


def _play(tools: Sequence[Tool], question: Question, *, tool_search: int | None) -> list[int]:
    """Return the bytes of each request of a run, which ends at its first answer where nothing is searched."""
    sizes: list[int] = []

    def model(call: CallModel) -> list[Any]:
        sizes.append(_size(call))
        if call.round == 1 and tool_search is not None:
            return [_ask("search_tools", {"query": question.text})]
        if call.round == 2 and tool_search is not None:  # noqa: PLR2004 - search, then call
            return [_ask("call_tool", {"name": tools[0].name, "arguments": {}})]
        return ["done"]

    run = AgentRun([{"role": "user", "content": question.text}], maximum_iterations=5)
    for _ in drive(run, model, tools, tool_search=tool_search):
        pass
    return sizes


def _size(call: CallModel) -> int:
    tools = [
        {
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
        }
        for tool in call.tools
    ]
    return len(json.dumps([tools, call.messages], ensure_ascii=False, default=asdict).encode())


def _ask(name: str, arguments: Mapping[str, object]) -> dict[str, Any]:
    call = {"call_id": f"c_{name}", "name": name, "arguments": json.dumps(arguments)}
    return {"tool_calls": [call]}


def _read_data() -> tuple[list[Tool], list[Question]]:
    entries = list(_read_lines(_DATA))
    answers = {
        entry["id"]: [name for call in entry["ground_truth"] for name in call]
        for entry in _read_lines(f"possible_answer/{_DATA}")
    }
    functions: dict[str, Any] = {}
    for entry in entries:
        for function in entry["function"]:
            functions.setdefault(function["name"], function)
    raws = [
        {"identity": {"name": name, "provider": "bfcl"}, "description": {"llm": ""}}
        for name in functions
    ]
    names = dict(zip(functions, unique_tool_names(raws), strict=True))
    tools = [
        Tool.from_schema(
            names[name], function["description"], _to_schema(function["parameters"]), print
        )
        for name, function in functions.items()
    ]
    questions = [
        Question(
            text=" ".join(
                said["content"] for said in entry["question"][0] if said["role"] == "user"
            ),
            tools=frozenset(names[name] for name in answers[entry["id"]]),
            is_held_out=zlib.crc32(entry["id"].split("-")[1].encode()) % 2 == 1,
        )
        for entry in entries
    ]
    return tools, questions


def _read_lines(name: str) -> Iterator[dict[str, Any]]:
    path = Path(str(distribution("bfcl-eval").locate_file(f"bfcl_eval/data/{name}")))
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def _to_schema(node: Any) -> Any:
    """Return a schema of the data as JSON schema: they have Python's types, and some `required` that is no list."""
    if isinstance(node, list):
        return [_to_schema(item) for item in node]
    if not isinstance(node, dict):
        return node
    schema = {key: _to_schema(value) for key, value in node.items()}
    if isinstance(kind := schema.get("type"), str):
        schema["type"] = _TYPES.get(kind, kind)
    if isinstance(schema.get("required"), bool):
        del schema["required"]
    return {key: value for key, value in schema.items() if value is not None}


if __name__ == "__main__":
    main()
