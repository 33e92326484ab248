"""The releases of Dify by which declarations can be judged, and the releases of the plugin SDK that were made for them.

Source: docs/evidence/dify-declarations.md, R1 and R11.
"""

from collections.abc import Iterator
from dataclasses import dataclass

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


DIFY_RELEASES = (
    DifyRelease((1, 10, 0), "a47276ac24"),
    DifyRelease((1, 10, 1), "b353a126d8", is_read_whole=True),
    DifyRelease((1, 11, 0), "813a734f27"),
    DifyRelease((1, 11, 1), "2058186f22"),
    DifyRelease((1, 11, 2), "f5fdd02022"),
    DifyRelease((1, 11, 3), "a22cc5bc5e"),
    DifyRelease((1, 11, 4), "0ef8b5a0ca"),
    DifyRelease((1, 12, 0), "8c3e77cd0c"),
    DifyRelease((1, 12, 1), "3bd228ddb7"),
    DifyRelease((1, 13, 0), "c730fec1e4"),
    DifyRelease((1, 13, 1), "d1961c261e"),
    DifyRelease((1, 13, 2), "49256770c9", is_read_whole=True),
    DifyRelease((1, 13, 3), "59639ca9b2"),
    DifyRelease((1, 14, 0), "6fafeec415"),
    DifyRelease((1, 14, 1), "bb73776339", is_read_whole=True),
    DifyRelease((1, 14, 2), "7f392b6950"),
    DifyRelease((1, 15, 0), "3aa26fb637"),
    DifyRelease((1, 16, 0), "5ea884f799"),
)
"""The releases that are known, the oldest first."""

SDK_RELEASES = tuple(
    map(
        Version,
        [
            "0.1.0",
            "0.2.0",
            "0.2.1",
            "0.2.2",
            "0.2.4",
            "0.3.0",
            "0.3.1",
            "0.3.2",
            "0.3.3",
            "0.3.4",
            "0.3.5",
            "0.4.0",
            "0.4.1",
            "0.4.2",
            "0.4.3",
            "0.4.4",
            "0.4.5",
            "0.5.0",
            "0.5.1",
            "0.6.0",
            "0.6.1",
            "0.6.2",
            "0.7.0",
            "0.7.1",
            "0.7.2",
            "0.7.3",
            "0.7.4",
            "0.8.0",
            "0.9.0",
            "0.9.1",
            "0.10.0",
            "0.10.1",
            "0.10.2",
        ],
    )
)
"""The releases of the plugin SDK that can be installed, the oldest first, without those before a release."""

# The first release of the SDK that needs a release of Dify, as the SDK's README has it.
_SDK_NEEDS = (
    (Version("0.7.0"), (1, 11, 0)),
    (Version("0.8.1"), (1, 14, 0)),
    (Version("0.9.0"), (1, 14, 2)),
)


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
    return max((dify for first, dify in _SDK_NEEDS if sdk >= first), default=None)
