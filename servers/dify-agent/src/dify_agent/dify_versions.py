"""The versions of Dify's protocol for agents, and what an answer in each of them has.

Source: docs/contracts/dify-agent.md, C74.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, Self, override


__all__ = ["DifyVersion"]


METADATA_KEY: Final = "dify_version"
"""The key in a run's metadata of the version in which the run was asked for, and is answered."""

_VERSION: Final = re.compile(r"([0-9]{1,4})\.([0-9]{1,4})(?:\.([0-9]{1,4}))?", re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class DifyVersion:
    """A version of Dify's API.

    Attributes:
        major: The first number.
        minor: The second.
        patch: The third.
    """

    major: int
    minor: int
    patch: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return a version from its text, such as `1.17.1`; the latest patch if it has two numbers only.

        Raises:
            ValueError: If it is another text, or a version without agents.
        """
        found = _VERSION.fullmatch(text)
        version = (
            None
            if found is None
            else cls(int(found[1]), int(found[2]), int(found[3] or _LATEST_PATCH))
        )
        if version is None or version < cls(1, 16, 0):
            raise ValueError("expected a version of Dify from 1.16.0 on, such as 1.17.1")
        return version

    @override
    def __str__(self) -> str:
        """Return its text, which `parse` reads."""
        whole = f"{self.major}.{self.minor}.{self.patch}"
        return whole.removesuffix(f".{_LATEST_PATCH}")

    @classmethod
    def of_run(cls, metadata: Mapping[str, str], own: Self | None) -> Self:
        """Return the version that a run is reported in: that in which it was requested, or for one of `/v1` the server's own, or else the first.

        Args:
            metadata: The run's metadata.
            own: The version that the server is set to, if any.
        """
        text = metadata.get(METADATA_KEY)
        return (own or cls(1, 16, 0)) if text is None else cls.parse(text)

    def within_protocol_of(self, asked: Self) -> Self:
        """Return this version, or the one that a request seems to come from where that speaks another protocol."""
        return self if self.protocol == asked.protocol else asked

    @property
    def protocol(self) -> Literal[1, 2]:
        """The `schema_version` of compositions and snapshots."""
        return 1 if self < DifyVersion(1, 18, 0) else 2

    @property
    def has_model_gateway(self) -> bool:
        """Whether models are called through Dify's API, which has their credentials, and requests have none."""
        return self >= DifyVersion(1, 17, 0)

    @property
    def has_prices(self) -> bool:
        """Whether usage has prices."""
        return self >= DifyVersion(1, 17, 0)

    @property
    def has_error_type(self) -> bool:
        """Whether a failed run, and the status of any, have `error_type`."""
        return self >= DifyVersion(1, 17, 0)

    @property
    def keeps_unfinished(self) -> bool:
        """Whether runs that failed or were cancelled leave a snapshot and report their usage."""
        return self >= DifyVersion(1, 17, 1)


_LATEST_PATCH: Final = 9999
