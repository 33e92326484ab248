"""Tasks of others as scripts: what is asked, the tools with the state behind them, and the gold calls.

From BFCL the multi-turn set `base` and the live sets with one function or several, as the package bfcl-eval that is
installed holds them (Apache-2.0); from tau2-bench the domain retail, from a checkout (MIT). Nothing of either is kept
here. What a multi-turn task's user says turn by turn is asked at once, so that every harness gets one question, and its
gold calls are made one to an answer, since each stands on the one before. A live task has no state but the calls that
were made.
"""

import ast
import copy
import importlib
import json
import keyword
import os
import random
import re
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import distribution
from pathlib import Path
from typing import Any


# A type as the data name it, and as JSON schema does.
_TYPES = {"float": "number", **{one: one for one in ("string", "integer", "number", "boolean")}}
_KINDS = {bool: ("boolean",), int: ("integer", "number"), float: ("number",), str: ("string",)}
_LIVE = ("live_simple", "live_multiple", "live_parallel", "live_parallel_multiple")
_MOST_CALLS = 6  # of a task; longer ones show no more and cost more
_MOST_TOOLS = 40
_NAME_CHARACTERS = 50
# How many of each are drawn into the pool, from which each mutation draws its own.
_POOL = {"multi-turn": 20, "live": 10, "live, parallel": 20, "tau2": 10}

type Arguments = Mapping[str, Any]
type Call = tuple[str, Arguments]
# What a task's tools act on: `call(name, arguments)` does what a tool does, `state()` is compared with the gold state.
type World = Any


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A tool's parameter: text, integer, number or boolean, or a list of those."""

    name: str
    type: str
    items: str = ""
    description: str = ""
    required: bool = True
    default: Any = None

    def read(self, value: Any) -> Any:
        """Return a whole number as a float where a number is declared, and any other value as it is."""
        if isinstance(value, list) and self.items == "number":
            return [float(one) if type(one) is int else one for one in value]
        return float(value) if self.type == "number" and type(value) is int else value


@dataclass(frozen=True, kw_only=True)
class ToolSpec:
    """A tool as the harnesses get it, and the name that the data have for it."""

    name: str
    original: str
    description: str
    parameters: tuple[Parameter, ...]

    def canonical(self, arguments: Arguments) -> dict[str, Any]:
        """Return arguments without those that have their defaults, and 1 as 1.0 where a number is declared: they come to the same call."""
        known = {one.name: one for one in self.parameters}
        return {
            name: known[name].read(value) if name in known else value
            for name, value in arguments.items()
            if name not in known or known[name].required or value != known[name].default
        }


@dataclass(frozen=True, kw_only=True)
class Task:
    """A task: what is asked, the tools, the gold calls in rounds, and how its world begins.

    Attributes:
        key: What sets it, and the names of its tools, apart from all others.
        source: Its id where it comes from.
    """

    key: str
    source: str
    question: str
    instruction: str
    tools: tuple[ToolSpec, ...]
    gold: tuple[tuple[Call, ...], ...]
    begin: Callable[[], World] = field(repr=False)

    def tool(self, name: str) -> ToolSpec | None:
        """Return the tool that has a name, or None."""
        return next((tool for tool in self.tools if tool.name == name), None)

    def gold_state(self) -> object:
        """Return the state after the gold calls."""
        world = self.begin()
        for name, arguments in (call for calls in self.gold for call in calls):
            tool = self.tool(name)
            assert tool is not None
            world.call(tool.original, arguments)
        return world.state()


def draw_pool(seed: int, tau2: Path | None) -> list[Task]:
    """Return the tasks that the mutations draw from: so many of each kind, the same for the same seed."""
    chance = random.Random(seed)
    builders = {"multi-turn": _multi_turn(), "live": _live(0), "live, parallel": _live(1)}
    if tau2 is not None:
        builders["tau2"] = _retail(tau2)
    pool: list[Task] = []
    for kind, drafts in builders.items():
        found, number = list(drafts), len(pool) + _POOL[kind]
        for draft in chance.sample(found, len(found)):
            if len(pool) < number and (task := draft.build(f"t{len(pool)}")):
                pool.append(task)
    return pool


@dataclass(frozen=True, kw_only=True)
class _Draft:
    """A task of the data, not yet known to be one that can be played."""

    source: str
    question: str
    instruction: str
    functions: Sequence[Mapping[str, Any]]
    gold: Sequence[Sequence[Call]]
    begin: Callable[[], World]

    def build(self, key: str) -> Task | None:
        """Return the task, or None where its tools or calls are not of the kinds that every harness takes, or its gold calls fail."""
        tools = {
            tool.original: tool
            for function in self.functions
            if (tool := _read_tool(function, key)) is not None
        }
        calls = [call for round_ in self.gold for call in round_]
        is_apart = len({json.dumps(call, sort_keys=True) for call in calls}) == len(calls)
        is_short = 0 < len(calls) <= _MOST_CALLS and len(tools) <= _MOST_TOOLS
        # Two receipts of the same call could not be told apart.
        if not is_short or not is_apart or not all(_fits(tools, *call) for call in calls):
            return None
        task = Task(
            key=key,
            source=self.source,
            question=f"Case {key}. {self.question}",
            instruction=self.instruction,
            tools=tuple(tools.values()),
            gold=tuple(
                tuple((tools[name].name, tools[name].canonical(given)) for name, given in round_)
                for round_ in self.gold
            ),
            begin=self.begin,
        )
        try:
            task.gold_state()
        except Exception:  # noqa: BLE001 - the data's own tools raise what they like
            return None
        return task


def _read_tool(function: Mapping[str, Any], key: str) -> ToolSpec | None:
    properties = function["parameters"].get("properties", {})
    required = function["parameters"].get("required", [])
    parameters = [_read_parameter(name, one, required) for name, one in properties.items()]
    name = re.sub(r"\W", "_", function["name"])
    if None in parameters or len(name) > _NAME_CHARACTERS or not name.isidentifier():
        return None
    # Those with a default last, as a function of Python has them.
    ordered = sorted((one for one in parameters if one), key=lambda one: not one.required)
    return ToolSpec(
        name=f"{name}_{key}",
        original=function["name"],
        description=" ".join(function["description"].split()),
        parameters=tuple(ordered),
    )


def _read_parameter(name: str, raw: Mapping[str, Any], required: Sequence[str]) -> Parameter | None:
    items = ""
    if is_list := raw.get("type") in {"array", "tuple"}:
        items = _TYPES.get(raw.get("items", {}).get("type", ""), "")
    kind = "array" if is_list else _TYPES.get(raw.get("type", ""), "")
    is_odd = not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_")
    if not kind or is_odd or (is_list and not items):
        return None
    default = raw.get("default")
    return Parameter(
        name=name,
        type=kind,
        items=items,
        description=" ".join(str(raw.get("description", "")).split()),
        required=name in required,
        default=default if _is_of(default, kind, items) else None,
    )


def _fits(tools: Mapping[str, ToolSpec], name: str, given: Arguments) -> bool:
    known = {one.name: one for one in tools[name].parameters} if name in tools else {}
    required = {one.name for one in known.values() if one.required}
    return (
        name in tools
        and required <= given.keys() <= known.keys()
        and all(_is_of(value, known[key].type, known[key].items) for key, value in given.items())
    )


def _is_of(value: object, kind: str, items: str) -> bool:
    if isinstance(value, list):
        return kind == "array" and all(_is_of(one, items, "") for one in value)
    return kind in _KINDS.get(type(value), ())


def _read_lines(name: str) -> Iterator[dict[str, Any]]:
    path = Path(str(distribution("bfcl-eval").locate_file(f"bfcl_eval/data/{name}.json")))
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def _multi_turn() -> Iterator[_Draft]:
    known = importlib.import_module("bfcl_eval.constants.executable_backend_config")
    files, modules = known.MULTI_TURN_FUNC_DOC_FILE_MAPPING, known.CLASS_FILE_PATH_MAPPING
    documents = {
        kind: list(_read_lines(f"multi_turn_func_doc/{Path(file).stem}"))
        for kind, file in files.items()
    }
    name = "BFCL_v4_multi_turn_base"
    gold = {one["id"]: one["ground_truth"] for one in _read_lines(f"possible_answer/{name}")}
    for entry in _read_lines(name):
        kinds: list[str] = entry["involved_classes"]
        functions = [function for kind in kinds for function in documents[kind]]
        orders = {one["name"]: list(one["parameters"]["properties"]) for one in functions}
        yield _Draft(
            source=entry["id"],
            question=" Then: ".join(said["content"] for turn in entry["question"] for said in turn),
            instruction="Do what is asked with the tools, one call after the other.",
            functions=functions,
            gold=[[_read_call(text, orders)] for turn in gold[entry["id"]] for text in turn],
            begin=lambda kinds=kinds, config=entry["initial_config"]: _Classes(
                {kind: modules[kind] for kind in kinds}, config
            ),
        )


def _read_call(text: str, orders: Mapping[str, Sequence[str]]) -> Call:
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call) and isinstance(call.func, ast.Name)  # noqa: PT018
    given = dict(zip(orders.get(call.func.id, ()), map(ast.literal_eval, call.args), strict=False))
    named = {str(one.arg): ast.literal_eval(one.value) for one in call.keywords}
    return call.func.id, given | named


class _Classes:
    """The classes of a multi-turn task."""

    def __init__(self, modules: Mapping[str, str], config: Mapping[str, Any]) -> None:
        self._instances: list[Any] = []
        for kind, module in modules.items():
            instance = getattr(importlib.import_module(module), kind)()
            if hasattr(instance, "_load_scenario"):
                instance._load_scenario(copy.deepcopy(config.get(kind, {})))  # noqa: SLF001
            self._instances.append(instance)

    def call(self, name: str, arguments: Arguments) -> object:
        [instance] = [one for one in self._instances if hasattr(one, name)][:1]
        return getattr(instance, name)(**arguments)

    def state(self) -> object:
        return [
            {name: value for name, value in vars(instance).items() if not name.startswith("_")}
            for instance in self._instances
        ]


def _live(parallel: int) -> Iterator[_Draft]:
    for name in _LIVE[2 * parallel : 2 * parallel + 2]:
        answers = {
            one["id"]: one["ground_truth"] for one in _read_lines(f"possible_answer/BFCL_v4_{name}")
        }
        for entry in _read_lines(f"BFCL_v4_{name}"):
            calls = [
                (
                    function,
                    {
                        key: values[0]
                        for key, values in given.items()
                        if values[:1] not in ([], [""])
                    },
                )
                for call in answers[entry["id"]]
                for function, given in call.items()
            ]
            said = entry["question"][0]
            yield _Draft(
                source=entry["id"],
                question=" ".join(one["content"] for one in said if one["role"] == "user"),
                instruction="Answer with the help of the tools.",
                functions=entry["function"],
                gold=[calls],
                begin=_Recorded,
            )


class _Recorded:
    """Tools without a state but the calls that were made, in any order."""

    def __init__(self) -> None:
        self._made: list[str] = []

    def call(self, name: str, arguments: Arguments) -> object:
        self._made.append(json.dumps([name, arguments], sort_keys=True))
        return {"status": "done"}

    def state(self) -> object:
        return sorted(self._made)


def _retail(checkout: Path) -> Iterator[_Draft]:
    """Read the tasks of the domain retail, and let its own tools act on its own database."""
    os.environ["TAU2_DATA_DIR"] = str(checkout / "data")
    # Its tools alone: the package itself imports all that runs and judges agents.
    package = types.ModuleType("tau2")
    package.__path__ = [str(checkout / "src" / "tau2")]
    sys.modules["tau2"] = package
    importlib.import_module("loguru").logger.remove()
    tools = importlib.import_module("tau2.domains.retail.tools").RetailTools
    model = importlib.import_module("tau2.domains.retail.data_model").RetailDB
    folder = checkout / "data" / "tau2" / "domains" / "retail"
    database = model.load(folder / "db.json")
    functions = [tool.openai_schema["function"] for tool in tools(database).get_tools().values()]
    policy = (folder / "policy.md").read_text(encoding="utf-8")
    for task in json.loads((folder / "tasks.json").read_text(encoding="utf-8")):
        told = task["user_scenario"]["instructions"]
        actions = task["evaluation_criteria"]["actions"] or []
        yield _Draft(
            source=f"retail {task['id']}",
            question=f"{told['reason_for_call']} {told['known_info'] or ''}",
            instruction=policy,
            functions=functions,
            gold=[[(action["name"], action["arguments"])] for action in actions],
            begin=lambda: _Toolkit(tools(database.model_copy(deep=True))),
        )


class _Toolkit:
    """The tools of a domain of tau2-bench, on a database of their own."""

    def __init__(self, toolkit: Any) -> None:
        self._toolkit = toolkit

    def call(self, name: str, arguments: Arguments) -> object:
        return str(self._toolkit.use_tool(name, **arguments))

    def state(self) -> object:
        return self._toolkit.get_db_hash()
