"""The contents of a snapshot: the state of a run, and digests that tell another run whether a waiting call would mean the same in it.

The state is plain JSON, in which tuples, decimals, bytes and the package's own values are marked with their kind.
"""

import base64
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from decimal import Decimal
from itertools import batched
from typing import Any, Final

from agent_loop._values.errors import SnapshotError
from agent_loop._values.inputs import (
    AgentWaiting,
    CompactedWindow,
    Decision,
    Failure,
    Input,
    ModelDelta,
    ModelDone,
    ModelFailure,
    Steered,
    TimePassed,
    ToolCallFragment,
    ToolResult,
)
from agent_loop._values.messages import AskedCall, Message, ToolCall
from agent_loop._values.models import FallbackModel, Window
from agent_loop._values.own_functions import OwnFunction, name_of
from agent_loop._values.usage import AgentUse, Usage
from stream_text import is_list, is_object, read_member

from .cuts import Marks
from .ending import find_agent_uses
from .requests import bound_requests
from .round_messages import ModelAnswer, Round
from .snapshots import VERSION, digest, seal, unseal
from .state import Display, RunContext, RunState, Spending, present
from .transitions import next_state


_KIND: Final = "$"  # The key that holds the kind of a marked value.
_TOGETHER: Final = 500
_CLASSES: Final[Mapping[str, type[Any]]] = {
    kind.__name__: kind
    for kind in (
        RunState,
        Round,
        ModelAnswer,
        Spending,
        Display,
        Marks,
        Message,
        ToolCall,
        AskedCall,
        AgentWaiting,
        ToolResult,
        ModelDelta,
        ToolCallFragment,
        ModelDone,
        ModelFailure,
        CompactedWindow,
        Failure,
        Steered,
        TimePassed,
        Usage,
        AgentUse,
        Decision,
        FallbackModel,
        Window,
    )
}
_FIELDS: Final[Mapping[Any, tuple[str, ...]]] = {
    kind: tuple(
        known.name
        for known in fields(kind)
        if known.init and (kind, known.name) != (ModelFailure, "cause")  # Which no JSON expresses.
    )
    for kind in _CLASSES.values()
}
# Left out where they say nothing, so that processes of the version before can go on.
_OF_STEERED: Final = {"steered", "heard"}
_OF_MESSAGE: Final = {known.name: known.default for known in fields(Message)}


def save_run(run: RunContext, *, key: bytes, expires_at: float, extra: Any) -> str:
    """Return a signed snapshot of a run that waits for approval.

    Raises:
        LocalProtocolError: If the run does not wait for approval.
        InvalidSettingError: If the key is too short.
        SnapshotError: If a message, or what an own function remembers, cannot be written as JSON.
    """
    # Raises unless the run waits: only then could it take a decision.
    next_state(run.state.status, "decision")
    # The runs of agents stay in this process, but their usage has to be saved.
    state = replace(run.state, agent_uses=find_agent_uses(run))
    saved = {
        "settings": run.settings.digest_shared(),
        "tools": _digest_tools(run.settings.offered, run.settings.own),
        "own_functions": {
            name: _to_plain(function.save(), f"own_functions.{name}")
            for name, function in run.settings.own.items()
            if function.save is not None
        },
        "run": _to_plain(state, "run"),
        "extra": extra,
    }
    return seal(saved, key=key, expires_at=expires_at)


def load_run(run: RunContext, snapshot: object, *, key: bytes, now: float) -> Any:
    """Restore the state of a saved run, and return what its driver remembers.

    Raises:
        LocalProtocolError: If the run has started already.
        InvalidSettingError: If the key is too short.
        SnapshotError: If the snapshot cannot be read, or if a setting that counts, a tool, or an own function that
            remembers something differs in this run.
    """
    next_state(run.state.status, "start")
    saved = unseal(snapshot, key=key, now=now)
    own = run.settings.own
    remembering = [name for name, function in own.items() if function.save is not None]
    pairs = (
        ("settings", run.settings.digest_shared(), saved["settings"]),
        ("tools", _digest_tools(run.settings.offered, own), saved["tools"]),
        ("own_functions", dict.fromkeys(remembering), dict.fromkeys(saved["own_functions"])),
    )
    # All is compared before anything is taken over: a refused snapshot leaves this run ready.
    for kind, here, there in pairs:
        for name in sorted(here.keys() | there.keys()):
            if name not in here or name not in there or here[name] != there[name]:
                problem = f"snapshot.state.{kind}.{name}: the run that was saved has another"
                raise SnapshotError("other_run", problem)
    run.state = _to_value(saved["run"])
    # The status is in no snapshot: a run can only be saved while it waits for approval.
    run.state.status = "approval"
    bound_requests(run)
    for name, remembered in saved["own_functions"].items():
        present(own[name].load)(remembered)
    return saved["extra"]


def dump_messages(messages: Iterable[object]) -> str:
    """Return messages, such as those of `Finished`, as JSON text from which `load_messages` makes equal ones.

    Raises:
        SnapshotError: If one of them contains a value that JSON cannot express.
    """
    return "".join(iter_dumped_messages(messages))


def iter_dumped_messages(messages: Iterable[object]) -> Iterator[str]:
    """Yield the text of `dump_messages` in pieces, for a caller that has no room for it twice.

    Raises:
        SnapshotError: If a message contains a value that JSON cannot express.
    """
    yield f'{{"{_KIND}": "tuple", "items": ['
    # As plain values they are many times as large, and no other thread can run until `dumps` returns.
    for number, few in enumerate(batched(messages, _TOGETHER)):
        plain = [
            _to_plain(one, f"messages[{index}]")
            for index, one in enumerate(few, number * _TOGETHER)
        ]
        yield (", " if number else "") + json.dumps(plain, ensure_ascii=False)[1:-1]
    yield "]}"


def load_messages(text: str) -> tuple[Any, ...]:
    """Return the messages that `dump_messages` has written."""
    return _to_value(json.loads(text))


def dump_inputs(inputs: Iterable[Input]) -> str:
    """Return inputs, such as the pieces of a model's answer, as ASCII JSON from which `load_inputs` makes equal ones.

    Raises:
        SnapshotError: If one of them contains a value that JSON cannot express; it names the place, such as `inputs[1].opaque_body`.
    """
    return json.dumps(_to_plain(tuple(inputs), "inputs"), separators=(",", ":"))


def load_inputs(text: str | bytes) -> tuple[Any, ...]:
    """Return the inputs that `dump_inputs` has written."""
    return _to_value(json.loads(text))


def digest_run(run: RunContext) -> str:
    """Return a digest of all that `load_run` compares, and of the version of the format.

    Raises:
        SnapshotError: If a tool's description or parameters cannot be written as JSON.
    """
    own = run.settings.own
    compared = {
        "version": VERSION,
        "settings": run.settings.digest_shared(),
        "tools": _digest_tools(run.settings.offered, own),
        "own_functions": sorted(name for name in own if own[name].save is not None),
    }
    return digest(compared)


def _digest_tools(tools: Iterable[object], own: Mapping[str, OwnFunction]) -> dict[str, str]:
    """Return a digest of each tool's description and parameters, by its name; own functions are left out."""
    digests: dict[str, str] = {}
    for index, tool in enumerate(tools):
        name = tool if isinstance(tool, str) else name_of(tool)
        # Own functions may differ: what they remember is compared by their names alone.
        if name in own:
            continue
        function: object = read_member(tool, "function")
        declared = tool if function is None or callable(function) else function
        about = [read_member(declared, "description"), read_member(declared, "parameters")]
        digests[str(name or index)] = digest(_to_plain(about, f"tools[{index}]"))
    return digests


def _to_plain(value: Any, path: str) -> Any:
    """Return a value as plain JSON.

    Args:
        value: The value.
        path: Where it is in the state, for the error.

    Raises:
        SnapshotError: If it cannot be written as JSON.
    """
    plain: Any
    match value:
        case None | bool() | str() | int():
            plain = value
        case float() if math.isfinite(value):
            plain = value
        case Decimal():
            plain = {_KIND: "Decimal", "value": str(value)}
        case bytes():
            plain = {_KIND: "bytes", "value": base64.b64encode(value).decode()}
        case _ if is_list(value):
            items = [_to_plain(item, f"{path}[{index}]") for index, item in enumerate(value)]
            plain = {_KIND: "tuple", "items": items} if isinstance(value, tuple) else items
        case _ if is_object(value):
            plain = _to_object(value, path)
        case Message():
            # What it does not have is left out: that would be most of a long conversation.
            plain = {_KIND: "Message"} | {
                name: _to_plain(given, f"{path}.{name}")
                for name, default in _OF_MESSAGE.items()
                if (given := getattr(value, name)) is not default
            }
        case _ if (names := _FIELDS.get(value.__class__)) is not None:
            plain = {_KIND: type(value).__name__} | {
                name: _to_plain(given, f"{path}.{name}")
                for name in names
                if (given := getattr(value, name)) or name not in _OF_STEERED
            }
        case _:
            expected = "expected plain JSON, so that the run can be resumed in another process"
            raise SnapshotError("not_plain", f"{path}: {expected}, got {type(value).__name__}")
    return plain


def _to_value(plain: Any) -> Any:
    """Reverse `_to_plain`; a subclass of tuple comes back as a tuple."""
    if is_list(plain):
        return list(map(_to_value, plain))
    if not is_object(plain):
        return plain
    kind = plain.get(_KIND)
    if kind in _SPECIAL:
        return _SPECIAL[kind](plain)
    given = {key: _to_value(value) for key, value in plain.items() if key != _KIND}
    return given if kind is None else _CLASSES[kind](**given)


_SPECIAL: Final[Mapping[object, Callable[[Mapping[str, Any]], Any]]] = {
    "Decimal": lambda members: Decimal(members["value"]),
    "bytes": lambda members: base64.b64decode(members["value"]),
    "tuple": lambda members: tuple(map(_to_value, members["items"])),
    "object": lambda members: {key: _to_value(value) for key, value in members["items"]},
}


def _to_object(members: Mapping[Any, Any], path: str) -> dict[str, Any]:
    for key in members:
        if not isinstance(key, str):
            raise SnapshotError(
                "not_plain", f"{path}: expected keys that are text, got {type(key).__name__}"
            )
    plain = {key: _to_plain(value, f"{path}.{key}") for key, value in members.items()}
    # A mapping of the conversation that has the key itself would be read as one of ours.
    if _KIND in plain:
        return {_KIND: "object", "items": [[key, value] for key, value in plain.items()]}
    return plain
