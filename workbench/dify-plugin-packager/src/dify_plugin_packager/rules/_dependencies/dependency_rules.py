"""Rules for the dependencies of a package: its wheels, and the three files that should agree.

Source: `internal/core/local_runtime/` of langgenius/dify-plugin-daemon at bdb5642a, read 2026-11: uv installs from pyproject.toml, or if the
operator names a mirror, from requirements.txt; one of the two is enough, and uv.lock is used if it is there.
"""

import contextlib
import hashlib
import posixpath
import re
from collections.abc import Iterable, Iterator

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from dify_plugin_packager.json_access import JsonObject, list_at, object_at, objects_at
from dify_plugin_packager.packaging import ContentError, Contents, Requirements, reach
from dify_plugin_packager.rules._finding import Finding

from .wheels import Wheel, read_wheels


PUBLIC_INDEX = "https://pypi.org/simple"

_PYTHON = "3.12"  # the daemon's
_DEPENDENCY_FILES = ("pyproject.toml", "uv.lock", "requirements.txt")
# Keys of [tool.uv] that make an installation depend on where it happens.
_OF_THE_MACHINE = {
    "index",
    "index-url",
    "extra-index-url",
    "index-strategy",
    "cache-dir",
    "find-links",
}
_INDEX_OPTION = re.compile(r"(-i(?=\W)|--index-url|--extra-index-url|--pypi-url)[\s=]*(\S*)")
_SHOWN = 5  # of the requirements of one kind
# Into older ones the daemon copies files of its own; it takes the version from the file's text.
_OLDEST_UNPATCHED_SDK = Version("0.1.1")
# A plugin's folder comes first on its path, so a module of one of these names would never be
# imported from a wheel.
_DIFYS_FOLDERS = {"main", "models", "provider", "strategies", "tools", "wheels"}
# How the daemon finds the SDK's version in the text of a file, in this order.
_EXACT_SDK = re.compile(r"dify[_-]plugin(?:~=|==)([0-9.a-z]+)")
_SDK_RANGE = re.compile(r"dify[_-]plugin(?:[><]=?|==)([0-9.a-z]+)(?:,(?:[><]=?|==)([0-9.a-z]+))?")


class Dependencies:
    """The checks of a package's dependencies.

    Args:
        contents: The package.
        siblings: Names of workspace packages, which must not come from an index.
    """

    def __init__(self, contents: Contents, siblings: frozenset[str]) -> None:
        self._contents = contents
        self._pyproject = contents.any_toml("pyproject.toml")
        self._project = object_at(self._pyproject, "project")
        self._uv = object_at(self._pyproject, "tool", "uv")
        self._made_here = object_at(self._pyproject, "tool", "dify-host")
        named = list_at(self._made_here, "workspace")
        self._internal = siblings | {canonicalize_name(str(name)) for name in named}
        self._locked = objects_at(contents.any_toml("uv.lock"), "package")
        self._read_wheels = read_wheels(contents)
        found = self._read_wheels.values()
        self._wheels = {wheel.name: wheel for wheel in found if isinstance(wheel, Wheel)}
        self._own_folders = self._find_own_folders()

    def _find_own_folders(self) -> set[str]:
        """Return the folders from which an offline package takes its wheels; an empty set if it uses an index."""
        folders = {posixpath.normpath(str(path)) for path in list_at(self._uv, "find-links")}
        is_inside = all(map(self._is_there, folders))
        return folders if self._uv.get("no-index") is True and is_inside else set()

    def _is_there(self, path: str) -> bool:
        clean = posixpath.normpath(path)
        files = self._contents.files
        return any(file == clean or file.startswith(f"{clean}/") for file in files)

    def check_wheels(self) -> Iterator[Finding]:
        """Check that the wheels work on every machine and shadow none of the plugin's own modules."""
        own = {path.partition("/")[0].removesuffix(".py") for path in self._contents.files}
        for path, wheel in self._read_wheels.items():
            if isinstance(wheel, ContentError):
                # A wheel that nothing installs has no effect.
                texts = map(self._contents.any_text, _DEPENDENCY_FILES)
                is_used = any(path in text for text in texts)
                yield Finding("broken" if is_used else "advice", str(wheel))
                continue
            if not wheel.is_universal and not self._own_folders:
                text = "is not for every machine; expected py3-none-any, or a wheel for each"
                yield Finding("advice", f"{path}: {text}")
            for module in sorted(wheel.modules & (own | _DIFYS_FOLDERS)):
                text = f"its module {module!r} has the name of a file or folder of the plugin"
                yield Finding("advice", f"{path}: {text}")

    def check_siblings(self) -> Iterator[Finding]:
        """Check that the workspace packages that the wheels need are bundled.

        Some of those names belong to somebody else on the public index, from where a missing wheel would come.
        """
        wheels = self._wheels
        for wheel in wheels.values():
            for requirement in wheel.requirements:
                name = canonicalize_name(requirement.name)
                if name in wheels and not requirement.specifier.contains(wheels[name].version):
                    text = f"needs {requirement}, but {wheels[name].version} is bundled"
                    yield Finding("broken", f"{wheel.path} {text}")
                elif name in self._internal - wheels.keys():
                    yield Finding("broken", f"{wheel.path} needs {name!r}, which is not bundled")
        for entry in self._locked:
            name = str(entry.get("name"))
            if name in self._internal & wheels.keys() and "registry" in object_at(entry, "source"):
                text = f"uv.lock: takes {name!r} from an index; expected a bundled wheel"
                yield Finding("broken", text)

    def check_pyproject(self) -> Iterator[Finding]:
        """Check that the dependencies are listed, and that pyproject.toml works outside a workspace."""
        has_list = "requirements.txt" in self._contents.files
        if "pyproject.toml" not in self._contents.files:
            if has_list:
                text = "expected a file 'pyproject.toml'; without it only requirements.txt is installed"
                yield Finding("advice", text)
            else:
                yield Finding("broken", "expected a file 'pyproject.toml' or 'requirements.txt'")
            return
        try:
            self._contents.toml("pyproject.toml")
        except ContentError as error:
            yield Finding("broken", str(error))
            return
        yield from self._check_project()
        if "dev" not in object_at(self._pyproject, "dependency-groups") and not has_list:
            text = "expected 'dev', which Dify's own packager leaves out by name"
            yield Finding("advice", f"pyproject.toml: 'dependency-groups': {text}")
        if "build-system" in self._pyproject and self._uv.get("package") is not False:
            text = "expected false, so that the plugin itself is not built"
            yield Finding("advice", f"pyproject.toml: 'tool.uv.package': {text}")
        own = {"find-links"} if self._own_folders else set[str]()
        for key in sorted(self._uv.keys() & _OF_THE_MACHINE - own):
            text = "expected no setting that depends on the machine"
            yield Finding("advice", f"pyproject.toml: 'tool.uv.{key}': {text}")
        yield from self._check_sources()
        yield from self._check_sdk("pyproject.toml")

    def _check_project(self) -> Iterator[Finding]:
        where, project = "pyproject.toml: 'project", self._project
        if not project:
            yield Finding("broken", f"{where}': expected a table")
            return
        if project.get("version") != self._manifest_version():
            yield Finding("advice", f"{where}.version': expected the version of manifest.yaml")
        try:
            wanted = SpecifierSet(str(project.get("requires-python", "")))
            if not wanted.contains(_PYTHON):
                text = f"expected to allow Python {_PYTHON}"
                yield Finding("broken", f"{where}.requires-python': {text}")
        except InvalidSpecifier as error:
            yield Finding("broken", f"{where}.requires-python': {error}")
        for text in list_at(project, "dependencies"):
            try:
                Requirement(str(text))
            except InvalidRequirement as error:
                yield Finding("broken", f"{where}.dependencies': {error}")

    def _manifest_version(self) -> str | None:
        try:
            return str(self._contents.manifest.get("version"))
        except ContentError:
            return None

    def _direct(self) -> dict[str, Requirement]:
        """Return the direct dependencies by name, without those that cannot be parsed."""
        found: dict[str, Requirement] = {}
        for text in list_at(self._project, "dependencies"):
            with contextlib.suppress(InvalidRequirement):
                requirement = Requirement(str(text))
                found[canonicalize_name(requirement.name)] = requirement
        return found

    def _check_sources(self) -> Iterator[Finding]:
        where, direct = "pyproject.toml: 'tool.uv.sources", self._direct()
        sources = object_at(self._uv, "sources")
        for name, wheel in self._wheels.items() if self._made_here else ():
            if str(direct.get(name)) != f"{name}=={wheel.version}":
                text = f"pyproject.toml: 'project.dependencies': expected '{name}=={wheel.version}'"
                yield Finding("broken", text)
            if sources.get(name) != {"path": wheel.path}:
                yield Finding("broken", f"{where}.{name}': expected the path {wheel.path!r}")
        for name in sorted(sources):
            source = object_at(sources, name)
            path = source.get("path")
            if path is not None and not self._is_there(str(path)):
                yield Finding("broken", f"{where}.{name}': expected a file {path!r}")
            elif "index" in source:
                text = "expected no index: whoever installs the package chooses it"
                yield Finding("advice", f"{where}.{name}': {text}")
            elif "workspace" in source:
                text = "expected no member of a workspace: a package belongs to none"
                yield Finding("broken", f"{where}.{name}': {text}")

    def _check_sdk(self, file: str) -> Iterator[Finding]:
        """Check that the daemon does not take the SDK for an old version, whose files it overwrites."""
        text = self._contents.any_text(file)
        if exact := _EXACT_SDK.search(text):
            version = exact[1]
        else:
            ranges = _SDK_RANGE.findall(text)
            read = [end or start for start, end in ranges]
            version = max((one for one in read if _is_version(one)), key=Version, default="")
        if _is_version(version) and Version(version) < _OLDEST_UNPATCHED_SDK:
            expected = "expected a pin such as 'dify-plugin>=0.10.1,<0.11'"
            read_as = f"the daemon reads it as {version} and overwrites files of the SDK"
            yield Finding("advice", f"{file}: 'dify-plugin': {expected}; {read_as}")

    def check_lock(self) -> Iterator[Finding]:
        """Check that uv.lock agrees with pyproject.toml and the wheels, and works on every network."""
        if "pyproject.toml" not in self._contents.files:
            return
        if "uv.lock" not in self._contents.files:
            text = "expected a file 'uv.lock'; without it an installation takes the newest versions"
            yield Finding("advice", text)
            return
        try:
            version = self._contents.toml("uv.lock").get("version")
        except ContentError as error:
            yield Finding("broken", str(error))
            return
        if version != 1:
            yield Finding("broken", f"uv.lock: 'version': expected 1, got {version!r}")
        locked = {str(entry.get("name")): entry for entry in self._locked}
        for entry in locked.values():
            yield from self._check_locked(entry)
        others = {
            str(object_at(entry, "source").get("registry", PUBLIC_INDEX))
            for entry in locked.values()
        }
        for registry in sorted(others - {PUBLIC_INDEX} - self._own_folders):
            text = f"packages come from {registry!r}; expected {PUBLIC_INDEX!r}"
            yield Finding("advice", f"uv.lock: {text}")
        own = locked.get(canonicalize_name(str(self._project.get("name"))), {})
        if _names(object_at(own, "metadata"), "requires-dist") != self._direct().keys():
            yield Finding("advice", "uv.lock: expected the dependencies of pyproject.toml")

    def _check_locked(self, entry: JsonObject) -> Iterator[Finding]:
        """Check that a locked file is in the package and has the locked hash."""
        source, name = object_at(entry, "source"), entry.get("name")
        if (folder := source.get("registry")) in self._own_folders:
            for wheel in objects_at(entry, "wheels"):
                if not self._is_there(path := f"{folder}/{wheel.get('path')}"):
                    yield Finding("broken", f"uv.lock: {name!r}: expected a file {path!r}")
        path = source.get("path")
        if path is None:
            return
        content = self._contents.files.get(posixpath.normpath(str(path)))
        if content is None:
            yield Finding("broken", f"uv.lock: {name!r}: expected a file {path!r}")
            return
        hashes = [str(one.get("hash")) for one in objects_at(entry, "wheels")]
        if hashes and f"sha256:{hashlib.sha256(content).hexdigest()}" not in hashes:
            yield Finding("broken", f"uv.lock: {name!r}: expected the hash of {path!r}")
        wheel = self._wheels.get(str(name))
        if wheel and wheel.path == path and entry.get("version") != wheel.version:
            yield Finding("broken", f"uv.lock: {name!r}: expected the version {wheel.version!r}")

    def check_requirements(self) -> Iterator[Finding]:
        """Check that requirements.txt, which the daemon uses with a mirror, installs the same as uv.lock."""
        if "requirements.txt" not in self._contents.files:
            text = "expected a file 'requirements.txt', which mirrors install from and the marketplace tests"
            yield Finding("advice", text)
            return
        try:
            requirements = Requirements.parse(self._contents.text("requirements.txt"))
        except ContentError as error:
            yield Finding("broken", str(error))
            return
        files = {line for line in requirements.named if line.startswith("./")}
        for path in sorted(files):
            if not self._is_there(path):
                yield Finding("broken", f"requirements.txt: {path!r}: expected this file")
        for found in filter(None, map(_INDEX_OPTION.match, requirements.options)):
            option, index = found.groups()  # The index is not shown: it may contain a password.
            if index.rstrip("/") != PUBLIC_INDEX:
                text = f"{option!r}: expected no index: whoever installs the package chooses it"
                yield Finding("advice", f"requirements.txt: {text}")
        if not self._own_folders:  # otherwise the check of the lock has found what is missing
            if "uv.lock" in self._contents.files:
                for wheel in self._wheels.values():
                    yield from _check_listed(wheel, requirements)
            others = [line for line in requirements.named if line not in files]
            yield from self._check_pins([*others, *_loose_options(requirements)])
        yield from self._check_sdk("requirements.txt")

    def _check_pins(self, lines: list[str]) -> Iterator[Finding]:
        """Check that the requirements from an index are pinned as in uv.lock."""
        pins: dict[str, str] = {}
        loose: list[str] = []
        for line in lines:
            try:
                requirement = Requirement(line)
                (specifier,) = requirement.specifier
                pins[canonicalize_name(requirement.name)] = specifier.version
            except ValueError:
                loose.append(line)
        if loose:
            shown = ", ".join(map(repr, loose[:_SHOWN]))
            yield Finding("advice", f"requirements.txt: expected 'name==version', got {shown}")
        only_for_work = _names_for_work(self._locked)
        locked = {
            name: str(entry.get("version"))
            for entry in self._locked
            if "registry" in object_at(entry, "source")
            and ((name := str(entry.get("name"))) in pins or name not in only_for_work)
        }
        asked = {name: version for name, version in pins.items() if name not in self._wheels}
        differing = sorted({name for name, _ in asked.items() ^ locked.items()})
        if locked and not loose and differing:
            text = f"expected the versions of uv.lock; {', '.join(differing[:_SHOWN])} differ"
            yield Finding("advice", f"requirements.txt: {text}")


def _is_version(text: str) -> bool:
    try:
        Version(text)
    except InvalidVersion:
        return False
    return True


def _check_listed(wheel: Wheel, requirements: Requirements) -> Iterator[Finding]:
    """Check that a bundled wheel is installed, and that no index can replace it."""
    if f"./{wheel.path}" in requirements.named:
        return
    folder, pin = posixpath.dirname(wheel.path), f"{wheel.name}=={wheel.version}"
    is_found = folder in map(posixpath.normpath, requirements.find_links)
    if pin not in requirements.named or not is_found:
        text = f"expected a line './{wheel.path}', or '{pin}' and '--find-links ./{folder}', for that wheel"
        yield Finding("broken", f"requirements.txt: {text}")
    elif requirements.uses_index and not Version(wheel.version).local:
        text = f"{pin!r}: expected a local version such as '{wheel.version}+bundle', which no index has"
        yield Finding("advice", f"requirements.txt: {text}")


def _loose_options(requirements: Requirements) -> list[str]:
    """Return the options that install packages."""
    return [line for line in requirements.options if line.startswith(("-e", "--editable", "-r"))]


def _names_for_work(entries: Iterable[JsonObject]) -> set[str]:
    """Return the packages of a lock that only dependency groups such as `dev` need.

    The official command line leaves them out of requirements.txt.
    """
    wanted: dict[str, set[str]] = {}
    groups: set[str] = set()
    own: set[str] = set()
    for entry in entries:
        name = str(entry.get("name"))
        extras = object_at(entry, "optional-dependencies")
        wanted.setdefault(name, set()).update(_names(entry, "dependencies"))
        wanted[name].update(each for extra in extras for each in _names(extras, extra))
        if "registry" not in object_at(entry, "source"):
            own.add(name)
            found = object_at(entry, "dev-dependencies")
            groups.update(each for group in found for each in _names(found, group))
    return reach(groups, wanted) - reach(own, wanted)


def _names(value: JsonObject, key: str) -> set[str]:
    return {str(each.get("name")) for each in objects_at(value, key)}
