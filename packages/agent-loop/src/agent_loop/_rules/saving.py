"""What a snapshot holds: the state of a run, and digests by which another run finds out whether a call that waits would mean the same in it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, cast

from agent_loop._values.errors import SnapshotError
from agent_loop._values.own_functions import OwnFunction, name_of
from stream_text import read_member

from .ending import find_agent_uses
from .plain import to_plain, to_value
from .requests import bound_requests
from .snapshots import digest, seal, unseal
from .state import RunContext
from .transitions import next_state


def save_run(run: RunContext, *, key: bytes, expires_at: float, extra: Any) -> str:
    """Return a signed snapshot of a run that waits for approval.

    Raises:
        LocalProtocolError: If the run does not wait for approval.
        InvalidSettingError: If the key is too short.
        SnapshotError: If a message or what an own function remembers holds what JSON cannot.
    """
    next_state(run.state.status, "decision")
    state = replace(run.state, agent_uses=find_agent_uses(run))
    saved = {
        "settings": run.settings.digest_shared(),
        "tools": _digest_tools(run.settings.offered, run.settings.own),
        "own_functions": {
            name: to_plain(function.save(), f"own_functions.{name}")
            for name, function in run.settings.own.items()
            if function.save is not None
        },
        "run": to_plain(state, "run"),
        "extra": extra,
    }
    return seal(saved, key=key, expires_at=expires_at)


def load_run(run: RunContext, snapshot: object, *, key: bytes, now: float) -> Any:
    """Take up the state of the run that was saved, and return what its driver remembers.

    Raises:
        LocalProtocolError: If the run has started already.
        InvalidSettingError: If the key is too short.
        SnapshotError: If the snapshot cannot be read, or a setting that counts, a tool or an own function that remembers something is another one here.
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
    for kind, here, there in pairs:
        for name in sorted(here.keys() | there.keys()):
            if name not in here or name not in there or here[name] != there[name]:
                problem = f"snapshot.state.{kind}.{name}: the run that was saved has another"
                raise SnapshotError("other_run", problem)
    run.state = to_value(saved["run"])
    run.state.status = "approval"
    bound_requests(run)
    for name, remembered in saved["own_functions"].items():
        cast("Callable[[Any], None]", own[name].load)(remembered)
    return saved["extra"]


def _digest_tools(tools: Iterable[object], own: Mapping[str, OwnFunction]) -> dict[str, str]:
    """Return what tells a tool from another as a model is told of it, by name; what the run answers by itself is none."""
    digests: dict[str, str] = {}
    for index, tool in enumerate(tools):
        name = tool if isinstance(tool, str) else name_of(tool)
        if name in own:
            continue
        function: Any = read_member(tool, "function")
        declared = tool if function is None or callable(function) else cast("object", function)
        about = [read_member(declared, "description"), read_member(declared, "parameters")]
        digests[str(name or index)] = digest(to_plain(about, f"tools[{index}]"))
    return digests
