"""Offline packages for `dify-host package --offline`, made of a plugin's folder or of anybody's package."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dify_plugin_packager._errors import PackageError
from dify_plugin_packager.declarations import build_identifier
from dify_plugin_packager.json_access import object_at
from dify_plugin_packager.packaging._archive import Archive, build_archive, write_package
from dify_plugin_packager.packaging._build import Judge, build_package
from dify_plugin_packager.packaging._contents import ContentError, Contents
from dify_plugin_packager.packaging._identity import names_in, validate_identifier

from .credentials import Credentials
from .dependency_files import DEPENDENCY_FILES, Wheels, write_dependency_files
from .locked import choose, read_locks
from .platforms import GLIBC, PYTHON_VERSION, Platform, needed_glibc
from .wheelhouse import WheelError, Wheelhouse


_SIGNATURE = ".verification.dify.json"
# They would send uv to another index, or to another Python.
_SETTINGS = ("uv.toml", ".python-version", ".python-versions")
# Files in which people write what to install, and from where.
_LISTS = (".txt", ".in", ".toml", ".lock", ".conf", ".cfg", ".ini")
_SHOWN_WHEELS = 3
_MB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class OfflinePackage:
    """An offline package that was written.

    Attributes:
        path: Its path.
        size_bytes: Its size.
        unpacked_bytes: The size of its content, which the daemon counts as well.
        identifier: The name by which Dify knows exactly this content.
        platforms: The platforms that it installs on.
        wheels: The number of its wheels.
        glibc: The oldest glibc that all of them run with, such as `2.17`; empty if none needs any.
        notes: Notes for the user about files that were left out.
    """

    path: Path
    size_bytes: int
    unpacked_bytes: int
    identifier: str
    platforms: tuple[Platform, ...]
    wheels: int
    glibc: str
    notes: tuple[str, ...]


def build_offline(  # noqa: PLR0913 - a package has these settings
    source: Path,
    output: Path,
    *,
    platforms: Sequence[Platform],
    limit_bytes: int,
    variant: str | None = None,
    judge: Judge = lambda _: (),
) -> tuple[OfflinePackage, ...]:
    """Write packages of a plugin that install without any index.

    Args:
        source: A plugin's folder, or a package.
        output: The file to write if it ends with `.difypkg`, else the folder for it.
        platforms: The platforms: one package is made for all if it stays within the limit, else one for each.
        limit_bytes: The most bytes of a package's content.
        variant: The variant to make of a plugin's folder, as for `build_package`; ignored for a package.
        judge: Returns the reasons for which the platform would refuse the files of a package.

    Raises:
        PluginFolderError: If the folder is not a plugin.
        PackageError: If it has no such variant, is not a package, is over the limit, or a wheel that it needs cannot be included.
        UvError: If its dependencies cannot be resolved.
    """
    with tempfile.TemporaryDirectory(prefix="dify-host-") as staging:
        notes: list[str] = []
        path = source
        if source.is_dir():
            built = build_package(source, Path(staging) / "online", variant=variant, judge=judge)
            notes += [f"left out: {', '.join(built.left_out)}"] if built.left_out else []
            path = built.path
        return _Maker(source, Archive.read(path), Path(staging), notes, judge).make(
            output, platforms, limit_bytes
        )


class _Maker:
    """A maker of the offline packages of one plugin."""

    def __init__(
        self, source: Path, archive: Archive, staging: Path, notes: Sequence[str], judge: Judge
    ) -> None:
        self._source, self._archive, self._staging = source, archive, staging
        contents = Contents(archive.files)
        try:
            self._manifest = contents.manifest
            pyproject = contents.toml("pyproject.toml") if "pyproject.toml" in archive.files else {}
        except ContentError as error:
            raise PackageError(source, str(error)) from None
        self._names = names_in(self._manifest)
        validate_identifier(source, build_identifier(*self._names, {}))
        for problem in judge(archive.files):
            raise PackageError(source, problem)
        texts = [
            content.decode(errors="replace")
            for name, content in archive.files.items()
            if name.endswith(_LISTS)
        ]
        self._credentials = Credentials(texts, pyproject)
        self._files, gone = self._kept_files()
        self._notes = (*notes, *gone)

    def make(
        self, output: Path, platforms: Sequence[Platform], limit: int
    ) -> tuple[OfflinePackage, ...]:
        wheels = self._bring(platforms)
        made = [self._assemble(wheels)]
        if len(platforms) > 1 and made[0].size > limit:
            parts = ({platform: names} for platform, names in wheels.names.items())
            made = [self._assemble(replace(wheels, names=part)) for part in parts]
        for one in made:
            self._validate_size(one, limit)
        if len(made) > 1 and output.suffix == ".difypkg":
            problem = f"its platforms do not fit into one package of {limit} bytes; expected a folder as output"
            raise PackageError(self._source, problem)
        return tuple(self._write(output, one) for one in made)

    def _kept_files(self) -> tuple[dict[str, bytes], list[str]]:
        """Return the files that stay as they are, and notes on the others."""
        files = dict(self._archive.files)
        notes: list[str] = []
        signature = files.pop(_SIGNATURE, b"") or self._archive.comment
        if signature:
            notes.append("its signature was removed, because it covers other files")
        dropped = [name for name in _SETTINGS if files.pop(name, None) is not None]
        # They are written anew.
        for name in DEPENDENCY_FILES:
            files.pop(name, None)
        with_key = [name for name, content in files.items() if self._credentials.are_in(content)]
        for name in with_key:
            del files[name]
        if dropped:
            notes.append(
                f"left out, because it would send uv to another index or Python: {', '.join(dropped)}"
            )
        if with_key:
            notes.append(f"left out, because it holds the key of an index: {', '.join(with_key)}")
        runner = object_at(self._manifest, "meta", "runner")
        if (python := str(runner.get("version", PYTHON_VERSION))) != PYTHON_VERSION:
            always = f"the daemon always uses {PYTHON_VERSION}"
            notes.append(f"manifest.yaml names Python {python}; {always}")
        return files, notes

    def _bring(self, platforms: Sequence[Platform]) -> Wheels:
        """Collect the wheels of all platforms."""
        plugin = self._staging / "plugin"
        self._archive.extract(plugin)
        locks = read_locks(plugin, platforms)
        house = Wheelhouse(self._staging / "wheels", plugin, self._credentials)
        names: dict[Platform, Mapping[str, str]] = {}
        problems: list[str] = []
        for platform in platforms:
            chosen, missing = choose(locks[platform], platform)
            problems += missing
            try:
                names[platform] = house.bring(chosen, platform)
            except WheelError as error:
                problems += error.problems
        if problems:
            raise PackageError(self._source, "; ".join(dict.fromkeys(problems)))
        return Wheels(folder=house.path, names=names)

    def _assemble(self, wheels: Wheels) -> "_Made":
        staging = Path(tempfile.mkdtemp(dir=self._staging))
        _, name, version = self._names
        written = write_dependency_files(wheels, name=name, version=version, staging=staging)
        files = self._files | wheels.files | written
        return _Made(wheels=wheels, files=files, content=build_archive(files))

    def _validate_size(self, made: "_Made", limit: int) -> None:
        if made.size <= limit:
            return
        sizes = {name: len(content) for name, content in made.wheels.files.items()}
        largest = sorted(sizes, key=lambda name: -sizes[name])[:_SHOWN_WHEELS]
        shown = ", ".join(f"{name} {sizes[name] / _MB:.1f} MB" for name in largest)
        problem = (
            f"for {made.named(' and ')} it holds {made.size / _MB:.1f} MB, over the {limit / _MB:g} MB that a daemon takes"
            f" unless its MAX_PLUGIN_PACKAGE_SIZE says otherwise; --max-size allows more. Largest: {shown}"
        )
        raise PackageError(self._source, problem)

    def _write(self, output: Path, made: "_Made") -> OfflinePackage:
        _, name, version = self._names
        file_name = f"{name}-{version}-offline-{made.named('-')}.difypkg"
        wheels = made.wheels.files
        needed = max((needed_glibc(Path(name).name) for name in wheels), default=0)
        return OfflinePackage(
            path=write_package(output, file_name, made.content),
            size_bytes=len(made.content),
            unpacked_bytes=made.unpacked,
            identifier=build_identifier(*self._names, made.files),
            platforms=tuple(made.wheels.names),
            wheels=len(wheels),
            glibc=f"{GLIBC[0]}.{needed}" if needed else "",
            notes=self._notes,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    """A package before it is written."""

    wheels: Wheels
    files: Mapping[str, bytes]
    content: bytes

    @property
    def unpacked(self) -> int:
        return sum(map(len, self.files.values()))

    @property
    def size(self) -> int:
        """The size that the daemon holds to its limit: the larger of the file and its content."""
        return max(self.unpacked, len(self.content))

    def named(self, between: str) -> str:
        return between.join(platform.name for platform in self.wheels.names)
