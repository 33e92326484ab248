"""Collection of wheels: downloaded as the lock names them, or built if there is none and the result runs everywhere."""

import hashlib
import os
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from packaging.pylock import (
    PackageArchive,
    PackageDirectory,
    PackageSdist,
    PackageVcs,
    PackageWheel,
)
from packaging.utils import parse_wheel_filename

from dify_plugin_packager._errors import DifyPluginError
from dify_plugin_packager.packaging._uv import neutral_environment, run_program
from stream_text import redact_text

from .credentials import Credentials
from .locked import Chosen, Source
from .platforms import PYTHON_VERSION, Platform


_SHOWN_LINES = 4
_CHATTER = ("[end of output]", "note:", "hint:")
_ATTEMPTS = ("--retries", "2", "--timeout", "30")


class WheelError(DifyPluginError):
    """Wheels that cannot be obtained; `problems` names each."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class _Download:
    what: Chosen
    name: str
    line: str


class Wheelhouse:
    """A folder that is filled with wheels.

    Args:
        path: The folder.
        plugin: The plugin's folder, to which paths in a lock are relative.
        credentials: The credentials of the indexes.
    """

    def __init__(self, path: Path, plugin: Path, credentials: Credentials) -> None:
        self.path = path
        self._plugin = plugin.resolve()
        self._credentials = credentials
        self._built: dict[str, str | WheelError] = {}
        path.mkdir()

    def bring(self, chosen: Sequence[Chosen], platform: Platform) -> Mapping[str, str]:
        """Obtain a wheel of each distribution; return their file names by the distributions' names.

        Raises:
            WheelError: If some cannot be obtained for that platform.
        """
        found: dict[str, str] = {}
        missing: list[_Download] = []
        problems: list[str] = []
        for one in chosen:
            try:
                line, name = self._line(one), _wheel_name(one)
                if name is None:
                    name = self._build(one, line, platform)
                elif not _runs_on(name, platform):
                    raise WheelError([f"{one}: its wheel {name} is not for {platform.name}"])  # noqa: TRY301 - all are collected
                elif not (self.path / name).exists():
                    if _is_in_a_folder(line):
                        self._copy(one, name, line)
                    else:
                        missing.append(_Download(one, name, line))
                found[one.name] = name
            except WheelError as error:
                problems += error.problems
        if problems:
            raise WheelError(problems)
        if missing:
            self._download(missing)
        return found

    def _copy(self, one: Chosen, name: str, line: str) -> None:
        """Copy a wheel from the package, where this host bundles wheels; pip takes half a second to do the same.

        Raises:
            WheelError: If it is missing, or not the one in the lock.
        """
        path = Path(url2pathname(urlsplit(line.partition(" @ ")[2]).path))
        try:
            content = path.read_bytes()
        except OSError as error:
            raise WheelError([f"{one}: {name}: {error.strerror}"]) from None
        hashes: Mapping[str, str] = getattr(one.source, "hashes", {})
        if any(hashlib.new(kind, content).hexdigest() != value for kind, value in hashes.items()):
            raise WheelError([f"{one}: {name}: its hash is not the one that the lock names"])
        (self.path / name).write_bytes(content)

    def _download(self, missing: Sequence["_Download"]) -> None:
        """Let pip download wheels by their URLs, or if these cannot be reached, by their hashes from this machine's index."""
        tags = {tag for one in missing for tag in parse_wheel_filename(one.name)[3]}
        # Even `any` is a platform to pip, and without one it takes this machine's.
        options = [f"--platform={name}" for name in sorted({tag.platform for tag in tags})]
        options += [f"--abi={name}" for name in sorted({tag.abi for tag in tags})]
        options += [f"--python-version={PYTHON_VERSION}", "--implementation=cp"]
        command = ("download", "--only-binary=:all:", *options, "--dest", str(self.path))
        try:
            self._pip(*command, lines=[one.line for one in missing])
        except WheelError as error:
            try:
                self._pip(*command, lines=map(_line_by_hash, missing))
            except WheelError:
                raise error from None

    def _build(self, one: Chosen, line: str, platform: Platform) -> str:
        """Build a wheel that runs everywhere, and return its file name."""
        # Built once for all platforms; that it failed is remembered as well.
        if line not in self._built:
            self._built[line] = self._build_line(one, line)
        name = self._built[line]
        if isinstance(name, WheelError):
            raise name
        if not name.endswith("-any.whl"):
            text = f"{one}: has no wheel for {platform.name}, and its source builds one for a single machine only"
            raise WheelError([f"{text} ({name})"])
        return name

    def _build_line(self, one: Chosen, line: str) -> "str | WheelError":
        folder = Path(tempfile.mkdtemp(dir=self.path.parent))
        try:
            self._pip("wheel", "--wheel-dir", str(folder), lines=[line])
        except WheelError as error:
            return WheelError([f"{one}: has no wheel, and building one failed: {error}"])
        (wheel,) = folder.glob("*.whl")
        return wheel.rename(self.path / wheel.name).name

    def _line(self, one: Chosen) -> str:
        """Return the line of a requirements.txt that names exactly this source.

        Raises:
            WheelError: If it is outside of the package.
        """
        source = one.source
        if isinstance(source, PackageVcs):
            where = self._credentials.add_to(source.url or self._inside(one, source.path))
            return f"{one.name} @ {source.type}+{where}@{source.commit_id}{_fragment(source)}"
        if isinstance(source, PackageDirectory):
            return f"{one.name} @ {self._inside(one, source.path)}{_fragment(source)}"
        if source.url and not source.url.startswith("file:"):
            where = self._credentials.add_to(source.url)
        elif isinstance(source, PackageArchive):
            where = self._inside(one, source.path or source.url)
        else:
            where = self._uri(source.path or source.url)
        return f"{one.name} @ {where}{_fragment(source)}"

    def _uri(self, path: str | None) -> str:
        text = str(path)
        return text if text.startswith("file:") else (self._plugin / text).resolve().as_uri()

    def _inside(self, one: Chosen, path: str | None) -> str:
        """Return the URI of a path in the package; refuse one outside."""
        uri = self._uri(path)
        own = self._plugin.as_uri()
        if uri != own and not uri.startswith(f"{own}/"):
            text = f"{one}: comes from {path!r}, outside of the plugin; expected an index or a file of the plugin"
            raise WheelError([text])
        return uri

    def _pip(self, command: str, *options: str, lines: Iterable[str]) -> None:
        listed = self.path.with_name("listed.txt")
        listed.write_text("\n".join(lines), encoding="utf-8")
        # No dependencies, because the lock has all of them.
        done = run_program(
            *(sys.executable, "-m", "pip", command, "--quiet", "--no-deps", *_ATTEMPTS, *options),
            *("--requirement", str(listed)),
            cwd=self.path.parent,
            environment=_environment(),
        )
        if done.returncode:
            output = (line.strip() for line in done.stderr.splitlines())
            shown = [line for line in output if line and not line.startswith(_CHATTER)]
            raise WheelError([redact_text("; ".join(shown[-_SHOWN_LINES:]))])


def _environment() -> dict[str, str]:
    """Return this process's environment, with uv's index for pip unless pip has its own."""
    index = os.environ.get("UV_DEFAULT_INDEX") or os.environ.get("UV_INDEX_URL")
    fallback = {"PIP_INDEX_URL": index} if index else {}
    quiet = {"PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "GIT_TERMINAL_PROMPT": "0"}
    return {**fallback, **os.environ, **neutral_environment(), **quiet}


def _wheel_name(one: Chosen) -> str | None:
    """Return the file name of a source if it is already a wheel."""
    if isinstance(one.source, PackageWheel):
        return one.source.filename
    if isinstance(one.source, PackageArchive):
        path = (one.source.path or one.source.url or "").partition("#")[0]
        return path.rpartition("/")[2] if path.endswith(".whl") else None
    return None


def _runs_on(wheel: str, platform: Platform) -> bool:
    *_, tags = parse_wheel_filename(wheel)
    return not tags.isdisjoint(platform.tags)


def _is_in_a_folder(line: str) -> bool:
    return line.partition(" @ ")[2].startswith("file:")


def _line_by_hash(download: _Download) -> str:
    """Return a line that takes the same file from any index, or for a source that no index has, the same line again."""
    one = download.what
    if not isinstance(one.source, PackageWheel):
        return download.line
    hashes = [f"--hash={name}:{value}" for name, value in one.source.hashes.items()]
    return " ".join([f"{one.name}=={one.version}", *hashes])


def _fragment(source: Source) -> str:
    """Return the fragment of a source's URL: a hash, and the folder of the project."""
    parts: list[str] = []
    if not isinstance(source, PackageVcs | PackageDirectory):
        parts += [f"{name}={value}" for name, value in source.hashes.items()][:1]
    if not isinstance(source, PackageWheel | PackageSdist) and source.subdirectory:
        parts.append(f"subdirectory={source.subdirectory}")
    return f"#{'&'.join(parts)}" if parts else ""
