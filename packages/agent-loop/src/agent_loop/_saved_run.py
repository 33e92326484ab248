"""What of a run is saved in a snapshot, and how another run takes it up.

Saved is what changes as a run goes on: each part names its own in `SAVED`. Settings and tools are not: whoever resumes a run makes one with its own, and digests tell
whether a call that waits would mean the same there.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from stream_text import read_member

from ._errors import SnapshotError
from ._own_functions import OwnFunction, name_of
from ._plain_values import load_members, save_members, to_plain
from ._rounds import Rounds
from ._snapshots import digest


class SavedRun:
    """What saves the parts of a run and loads them.

    Args:
        rounds: The rounds, of which the current one is saved, too.
        parts: The other parts; None for one that this run does not have. Each names in `SAVED` what changes in it.
        settings: The settings that a run has to share to take this one up: what a call means, and what the model has been told, depends on them.
    """

    def __init__(self, rounds: Rounds, parts: Iterable[Any], settings: Mapping[str, Any]) -> None:
        self._rounds = rounds
        given = (rounds, *(part for part in parts if part is not None))
        self._parts: dict[str, Any] = {type(part).__name__: part for part in given}
        self._settings = settings

    def save(self, tools: Iterable[object], own: Mapping[str, OwnFunction]) -> dict[str, Any]:
        """Return the state of the run.

        Raises:
            SnapshotError: If a message or what an own function remembers holds what JSON cannot.
        """
        current = self._rounds.current
        return {
            "settings": self._digest_settings(),
            "tools": _digest_tools(tools, own),
            "own_functions": {
                name: to_plain(function.save(), f"own_functions.{name}")
                for name, function in own.items()
                if function.save is not None
            },
            "parts": {
                name: save_members(part, part.SAVED, name) for name, part in self._parts.items()
            },
            "round": save_members(current, current.SAVED, "round"),
        }

    def check(
        self, state: Mapping[str, Any], tools: Iterable[object], own: Mapping[str, OwnFunction]
    ) -> None:
        """Refuse the state of a run in which a call may mean something else.

        Raises:
            SnapshotError: If a setting that counts, a tool or an own function that remembers something is another one here.
        """
        remembered = {name for name, function in own.items() if function.save is not None}
        settings = self._digest_settings()
        saved = {name: value for name, value in state["settings"].items() if name in settings}
        pairs = (
            ("settings", settings, saved),  # An earlier release has saved more of them.
            ("tools", _digest_tools(tools, own), state["tools"]),
            (
                "own_functions",
                dict.fromkeys(remembered),
                dict.fromkeys(state["own_functions"]),
            ),
        )
        for kind, here, there in pairs:
            for name in sorted(here.keys() | there.keys()):
                if name not in here or name not in there or here[name] != there[name]:
                    problem = f"snapshot.state.{kind}.{name}: the run that was saved has another"
                    raise SnapshotError("other_run", problem)

    def load(self, state: Mapping[str, Any], own: Mapping[str, OwnFunction]) -> None:
        """Take up the state of a run."""
        for name, part in self._parts.items():
            load_members(part, part.SAVED, state["parts"][name])
        self._rounds.restore(state["round"])
        for name, remembered in state["own_functions"].items():
            cast("Callable[[Any], None]", own[name].load)(remembered)

    def _digest_settings(self) -> dict[str, str]:
        return {name: digest(value) for name, value in self._settings.items()}


def _digest_tools(tools: Iterable[object], own: Mapping[str, OwnFunction]) -> dict[str, str]:
    """Return what tells a tool from another as a model is told of it, by name; what the run answers by itself is none."""
    digests: dict[str, str] = {}
    for index, tool in enumerate(tools):
        name = tool if isinstance(tool, str) else name_of(tool)
        if name in own:
            continue
        function: Any = read_member(tool, "function")
        told = tool if function is None or callable(function) else cast("object", function)
        about = [read_member(told, "description"), read_member(told, "parameters")]
        digests[str(name or index)] = digest(to_plain(about, f"tools[{index}]"))
    return digests
