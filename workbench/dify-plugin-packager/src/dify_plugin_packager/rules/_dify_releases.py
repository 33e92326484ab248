"""The releases of Dify by which declarations can be judged, and the releases of the plugin SDK that were made for them.

Source: docs/evidence/dify-declarations.md, R1 and R11.
"""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.version import Version


@dataclass(frozen=True, slots=True)
class DifyRelease:
    """A release of Dify.

    Attributes:
        version: Its version, three numbers.
        commit: The commit of langgenius/dify that was read, which sets the version.
        is_read_whole: Whether all that uses declarations was read in it, not only the places on which the rules stand.
    """

    version: tuple[int, int, int]
    commit: str
    is_read_whole: bool = False

    def __str__(self) -> str:
        return ".".join(map(str, self.version))

    @property
    def line(self) -> str:
        """The first two numbers of its version, such as 1.10."""
        return "{}.{}".format(*self.version)


_TABLE = tomllib.loads(Path(__file__).with_name("dify_releases.toml").read_text(encoding="utf-8"))


def _numbers(version: str) -> tuple[int, int, int]:
    major, minor, micro = map(int, version.split("."))
    return major, minor, micro


DIFY_RELEASES = tuple(
    DifyRelease(_numbers(version), commit, is_read_whole=version in _TABLE["read_whole"])
    for version, commit in _TABLE["dify"].items()
)
"""The releases that are known, the oldest first."""

SDK_RELEASES = tuple(map(Version, _TABLE["sdk"]))
"""The releases of the plugin SDK that can be installed, the oldest first, without those before a release."""


def find_release(text: str) -> DifyRelease | None:
    """Return the release of this version, or the newest one of this line; None if it is not known."""
    found = [one for one in DIFY_RELEASES if text in {str(one), one.line}]
    return found[-1] if found else None


def newest_of_each_line() -> Iterator[DifyRelease]:
    """Yield the newest known release of each line, the oldest line first."""
    yield from {one.line: one for one in DIFY_RELEASES}.values()


def nearest_sdks(version: Version) -> tuple[Version, ...]:
    """Return the releases of the SDK around a version that can be installed: the last one before and the first one after it."""
    before = [one for one in SDK_RELEASES if one < version]
    after = [one for one in SDK_RELEASES if one > version]
    return (*before[-1:], *after[:1])


def first_dify_of(sdk: Version) -> tuple[int, int, int] | None:
    """Return the first version of Dify for a release of the SDK; None if every known one will do."""
    needs: dict[str, str] = _TABLE["sdk_needs"]
    reached = (_numbers(dify) for first, dify in needs.items() if sdk >= Version(first))
    return max(reached, default=None)
