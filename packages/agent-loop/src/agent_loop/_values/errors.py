"""The errors of this package, and whose fault each is.

AgentLoopError
├── InvalidSettingError     the caller asked for a run that cannot exist (also a `ValueError`)
├── LocalProtocolError      the driver fed something the run cannot take in its state; nothing has changed
├── RefusedAgentError       an agent may not be called; its text is for the model
└── SnapshotError           a snapshot that no run can be resumed from, or a run that none can be made of (also a `ValueError`)

Faults of the model or of a tool are not errors here: they come back as events, or go to the model as results.
"""

from typing import Literal


class AgentLoopError(Exception):
    """The root of this package's errors."""


class InvalidSettingError(AgentLoopError, ValueError):
    """A setting of a run outside its allowed range.

    Attributes:
        setting: The name of the setting.
    """

    def __init__(self, setting: str, expected: str, received: object) -> None:
        super().__init__(f"{setting} must be {expected}, not {received!r}")
        self.setting = setting


class LocalProtocolError(AgentLoopError):
    """An input that a run cannot take in its state. The run is as it was before.

    Attributes:
        state: The state that the run was in and still is.
        received: What the driver fed or called, in one word.
    """

    def __init__(self, message: str, *, state: str, received: str) -> None:
        super().__init__(message)
        self.state = state
        self.received = received


class RefusedAgentError(AgentLoopError):
    """An agent that may not be called as a tool. Its text is the sentence for the model."""


type SnapshotFault = Literal[
    "unreadable", "older", "newer", "foreign", "tampered", "expired", "other_run", "not_plain"
]
"""What is wrong with a snapshot.

`unreadable`: it is not a snapshot. `older`: an earlier release made it, in a format that is no longer read. `newer`: a
later release made it. `foreign`: it was signed with another key. `tampered`: it was changed since it was signed.
`expired`: it is no longer valid. `other_run`: the run that should resume it has other settings or tools. `not_plain`:
it cannot be made, because a message holds something that is not plain JSON.
"""


class SnapshotError(AgentLoopError, ValueError):
    """A snapshot that no run can be resumed from, or cannot be made.

    Attributes:
        fault: What is wrong.
    """

    def __init__(self, fault: SnapshotFault, message: str) -> None:
        super().__init__(message)
        self.fault: SnapshotFault = fault
