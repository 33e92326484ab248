"""The versions that a package can be checked against, as the command line names them."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.version import InvalidVersion, Version

from dify_plugin_host._errors import TargetError
from dify_plugin_packager.rules import DifyRelease, find_release, newest_of_each_line


@dataclass(frozen=True, slots=True)
class DifyTarget:
    """A release of Dify.

    Attributes:
        release: The release.
        is_named: Whether it was asked for by name, not as one of all.
    """

    release: DifyRelease
    is_named: bool = True


@dataclass(frozen=True, slots=True)
class SdkTarget:
    """A release of the plugin SDK."""

    version: Version


@dataclass(frozen=True, slots=True)
class DaemonTarget:
    """A command line of Dify's, which holds the code of the plugin daemon that it was built with."""

    program: Path


type Target = DifyTarget | SdkTarget | DaemonTarget

_ALL = "all"
_SDK = "sdk:"
# What the daemon's sources call its command line, in a folder of its programs.
_PROGRAM = "commandline"


def parse_targets(texts: Iterable[str]) -> tuple[Target, ...]:
    """Return the versions that texts name, in their order.

    Raises:
        TargetError: If one names none.
    """
    return tuple(target for text in texts for target in _iter_targets(text))


def _iter_targets(text: str) -> Iterator[Target]:
    if text == _ALL:
        yield from (DifyTarget(release, is_named=False) for release in newest_of_each_line())
    elif text.startswith(_SDK):
        try:
            yield SdkTarget(Version(text.removeprefix(_SDK)))
        except InvalidVersion:
            raise TargetError(text, "expected a release such as sdk:0.9.0") from None
    elif release := find_release(text):
        yield DifyTarget(release)
    elif (path := Path(text)).exists():
        program = path / _PROGRAM if path.is_dir() else path
        if not (program.is_file() and os.access(program, os.X_OK)):
            expected = f"expected Dify's command line, or a folder with it as {_PROGRAM!r}"
            raise TargetError(text, expected)
        yield DaemonTarget(program.absolute())
    else:
        lines = ", ".join(release.line for release in newest_of_each_line())
        expected = f"expected a known version of Dify ({lines}), all, sdk:VERSION, or the path of Dify's command line"
        raise TargetError(text, expected)
