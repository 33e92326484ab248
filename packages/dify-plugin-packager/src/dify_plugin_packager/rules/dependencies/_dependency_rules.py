"""Rules for what a package installs: its wheels, and the three files that should agree.

Source: `internal/core/local_runtime/` of langgenius/dify-plugin-daemon at bdb5642a, read 2026-11: pyproject.toml, or where an operator
names a mirror requirements.txt, is installed by uv; one of the two is enough, and uv.lock is used if it is there.
"""

import contextlib
import hashlib
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from dify_plugin_packager.json_access import JsonObject, list_at, object_at, objects_at
from dify_plugin_packager.packaging import ContentError, Contents, Requirements
from dify_plugin_packager.rules._finding import Finding

from ._wheels import Wheel, read_wheels


PUBLIC_INDEX = "https://pypi.org/simple"

_PYTHON = "3.12"  # what the daemon installs for
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
# Into older ones the daemon copies files of its own, by the version that it reads off the text.
_OLDEST_UNPATCHED_SDK = Version("0.1.1")
# A plugin's folder comes first on its path: a module of one of these names would never be imported from a wheel.
_DIFYS_FOLDERS = {"main", "models", "provider", "strategies", "tools", "wheels"}
# How the daemon finds the SDK's version in the text of a file, in this order.
_EXACT_SDK = re.compile(r"dify[_-]plugin(?:~=|==)([0-9.a-z]+)")
_SDK_RANGE = re.compile(r"dify[_-]plugin(?:[><]=?|==)([0-9.a-z]+)(?:,(?:[><]=?|==)([0-9.a-z]+))?")


def check_wheels(contents: Contents) -> Iterator[Finding]:
    """Check that the wheels work on every machine and shadow none of the plugin's own modules."""
    own = {path.partition("/")[0].removesuffix(".py") for path in contents.files}
    for path in contents.wheels:
        try:
            wheel = Wheel.parse(path, contents.files[path])
        except ContentError as error:
            # One that nothing installs is of no consequence.
            is_used = any(path in _text(contents, file) for file in _DEPENDENCY_FILES)
            yield Finding("broken" if is_used else "advice", str(error))
            continue
        if not wheel.is_universal and not _own_folders(contents):
            text = f"{path}: is not for every machine; expected py3-none-any, or a wheel for each"
            yield Finding("advice", text)
        for module in sorted(wheel.modules & (own | _DIFYS_FOLDERS)):
            text = f"{path}: its module {module!r} has the name of a file or folder of the plugin"
            yield Finding("advice", text)


def _own_folders(contents: Contents) -> set[str]:
    """Return the folders from which an offline package takes its wheels; an empty set if it uses an index."""
    uv = object_at(object_at(_toml(contents, "pyproject.toml"), "tool"), "uv")
    folders = {posixpath.normpath(str(path)) for path in list_at(uv, "find-links")}
    is_inside = all(_is_there(contents, folder) for folder in folders)
    return folders if uv.get("no-index") is True and is_inside else set()


def _text(contents: Contents, path: str) -> str:
    return contents.files.get(path, b"").decode(errors="replace")


def check_siblings(contents: Contents, siblings: frozenset[str]) -> Iterator[Finding]:
    """Check that the workspace packages that the wheels need are bundled.

    Some of those names belong to somebody else on the public index; what is not bundled would come from there.
    """
    table = object_at(object_at(_toml(contents, "pyproject.toml"), "tool"), "dify-host")
    internal = siblings | {canonicalize_name(str(name)) for name in list_at(table, "workspace")}
    wheels = read_wheels(contents)
    for wheel in wheels.values():
        for requirement in wheel.requirements:
            name = canonicalize_name(requirement.name)
            if name in wheels and not requirement.specifier.contains(wheels[name].version):
                text = f"{wheel.path} needs {requirement}, but {wheels[name].version} is bundled"
                yield Finding("broken", text)
            elif name in internal - wheels.keys():
                yield Finding("broken", f"{wheel.path} needs {name!r}, which is not bundled")
    for entry in objects_at(_toml(contents, "uv.lock"), "package"):
        name = str(entry.get("name"))
        if name in internal & wheels.keys() and "registry" in object_at(entry, "source"):
            text = f"uv.lock: takes {name!r} from an index; expected a bundled wheel"
            yield Finding("broken", text)


def _toml(contents: Contents, path: str) -> JsonObject:
    """Return the content of a TOML file; an empty table if it is missing or cannot be read."""
    try:
        return contents.toml(path)
    except ContentError:
        return {}


def check_pyproject(contents: Contents) -> Iterator[Finding]:
    """Check that there is something to install from, and that pyproject.toml works outside a workspace."""
    if "pyproject.toml" not in contents.files:
        if "requirements.txt" in contents.files:
            text = "expected a file 'pyproject.toml'; without it only requirements.txt is installed"
            yield Finding("advice", text)
        else:
            yield Finding("broken", "expected a file 'pyproject.toml' or 'requirements.txt'")
        return
    try:
        pyproject = contents.toml("pyproject.toml")
    except ContentError as error:
        yield Finding("broken", str(error))
        return
    yield from _check_project(contents, object_at(pyproject, "project"))
    if (
        "dev" not in object_at(pyproject, "dependency-groups")
        and "requirements.txt" not in contents.files
    ):
        text = "expected 'dev', which Dify's own packager leaves out by name"
        yield Finding("advice", f"pyproject.toml: 'dependency-groups': {text}")
    uv = object_at(object_at(pyproject, "tool"), "uv")
    if "build-system" in pyproject and uv.get("package") is not False:
        text = "expected false, so that the plugin itself is not built"
        yield Finding("advice", f"pyproject.toml: 'tool.uv.package': {text}")
    own = {"find-links"} if _own_folders(contents) else set[str]()
    for key in sorted(uv.keys() & _OF_THE_MACHINE - own):
        text = "expected no setting that depends on the machine"
        yield Finding("advice", f"pyproject.toml: 'tool.uv.{key}': {text}")
    yield from _check_sources(contents, object_at(uv, "sources"), pyproject)
    yield from _check_sdk(contents, "pyproject.toml")


def _check_project(contents: Contents, project: JsonObject) -> Iterator[Finding]:
    where = "pyproject.toml: 'project"
    if not project:
        yield Finding("broken", "pyproject.toml: 'project': expected a table")
        return
    if project.get("version") != _manifest_version(contents):
        yield Finding("advice", f"{where}.version': expected the version of manifest.yaml")
    try:
        wanted = SpecifierSet(str(project.get("requires-python", "")))
        if not wanted.contains(_PYTHON):
            yield Finding("broken", f"{where}.requires-python': expected to allow Python {_PYTHON}")
    except InvalidSpecifier as error:
        yield Finding("broken", f"{where}.requires-python': {error}")
    for text in list_at(project, "dependencies"):
        try:
            Requirement(str(text))
        except InvalidRequirement as error:
            yield Finding("broken", f"{where}.dependencies': {error}")


def _manifest_version(contents: Contents) -> str | None:
    try:
        return str(contents.mapping("manifest.yaml").get("version"))
    except ContentError:
        return None


def _direct(contents: Contents) -> dict[str, Requirement]:
    """Return the direct dependencies by name, without those that cannot be parsed."""
    found: dict[str, Requirement] = {}
    project = object_at(_toml(contents, "pyproject.toml"), "project")
    for text in list_at(project, "dependencies"):
        with contextlib.suppress(InvalidRequirement):
            requirement = Requirement(str(text))
            found[canonicalize_name(requirement.name)] = requirement
    return found


def _check_sources(
    contents: Contents, sources: JsonObject, pyproject: JsonObject
) -> Iterator[Finding]:
    wheels, direct = read_wheels(contents), _direct(contents)
    where = "pyproject.toml: 'tool.uv.sources"
    table = object_at(object_at(pyproject, "tool"), "dify-host")
    for name, wheel in wheels.items() if table else ():
        if str(direct.get(name)) != f"{name}=={wheel.version}":
            text = f"pyproject.toml: 'project.dependencies': expected '{name}=={wheel.version}'"
            yield Finding("broken", text)
        if sources.get(name) != {"path": wheel.path}:
            yield Finding("broken", f"{where}.{name}': expected the path {wheel.path!r}")
    for name, source in sorted(sources.items()):
        path = object_at({"source": source}, "source").get("path")
        if path is not None and not _is_there(contents, str(path)):
            yield Finding("broken", f"{where}.{name}': expected a file {path!r}")
        elif "index" in object_at({"source": source}, "source"):
            text = "expected no index but the one of whoever installs"
            yield Finding("advice", f"{where}.{name}': {text}")
        elif "workspace" in object_at({"source": source}, "source"):
            text = "expected no member of a workspace, which no package is"
            yield Finding("broken", f"{where}.{name}': {text}")


def _is_there(contents: Contents, path: str) -> bool:
    clean = posixpath.normpath(path)
    return any(file == clean or file.startswith(f"{clean}/") for file in contents.files)


def _check_sdk(contents: Contents, file: str) -> Iterator[Finding]:
    """Check that the daemon does not mistake the SDK for an old version, whose files it overwrites."""
    text = _text(contents, file)
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


def _is_version(text: str) -> bool:
    try:
        Version(text)
    except InvalidVersion:
        return False
    return True


def check_lock(contents: Contents) -> Iterator[Finding]:
    """Check that uv.lock agrees with pyproject.toml and the wheels, and works on every network."""
    if "pyproject.toml" not in contents.files or "uv.lock" not in contents.files:
        if "pyproject.toml" in contents.files:
            text = "expected a file 'uv.lock'; without it each installation takes what is newest"
            yield Finding("advice", text)
        return
    try:
        lock = contents.toml("uv.lock")
    except ContentError as error:
        yield Finding("broken", str(error))
        return
    if lock.get("version") != 1:
        yield Finding("broken", f"uv.lock: 'version': expected 1, got {lock.get('version')!r}")
    locked = {str(entry.get("name")): entry for entry in objects_at(lock, "package")}
    for entry in locked.values():
        yield from _check_locked(contents, entry)
    others = {
        str(object_at(entry, "source").get("registry", PUBLIC_INDEX)) for entry in locked.values()
    }
    for registry in sorted(others - {PUBLIC_INDEX} - _own_folders(contents)):
        text = f"uv.lock: packages come from {registry!r}; expected {PUBLIC_INDEX!r}"
        yield Finding("advice", text)
    yield from _check_locked_project(contents, locked)


def _check_locked(contents: Contents, entry: JsonObject) -> Iterator[Finding]:
    """Check that a locked file is in the package and has the locked hash."""
    source, name = object_at(entry, "source"), entry.get("name")
    if (folder := source.get("registry")) in _own_folders(contents):
        for wheel in objects_at(entry, "wheels"):
            if not _is_there(contents, path := f"{folder}/{wheel.get('path')}"):
                yield Finding("broken", f"uv.lock: {name!r}: expected a file {path!r}")
    path = source.get("path")
    if path is None:
        return
    content = contents.files.get(posixpath.normpath(str(path)))
    if content is None:
        yield Finding("broken", f"uv.lock: {name!r}: expected a file {path!r}")
        return
    hashes = [str(one.get("hash")) for one in objects_at(entry, "wheels")]
    if hashes and f"sha256:{hashlib.sha256(content).hexdigest()}" not in hashes:
        yield Finding("broken", f"uv.lock: {name!r}: expected the hash of {path!r}")
    wheel = read_wheels(contents).get(str(name))
    if wheel and wheel.path == path and entry.get("version") != wheel.version:
        yield Finding("broken", f"uv.lock: {name!r}: expected the version {wheel.version!r}")


def _check_locked_project(
    contents: Contents, locked: Mapping[str, JsonObject]
) -> Iterator[Finding]:
    project = object_at(_toml(contents, "pyproject.toml"), "project")
    entry = locked.get(canonicalize_name(str(project.get("name"))), {})
    listed = {
        str(one.get("name")) for one in objects_at(object_at(entry, "metadata"), "requires-dist")
    }
    if listed != _direct(contents).keys():
        yield Finding("advice", "uv.lock: expected the dependencies of pyproject.toml")


def check_requirements(contents: Contents) -> Iterator[Finding]:
    """Check that requirements.txt, which the daemon uses with a mirror, installs the same as uv.lock."""
    if "requirements.txt" not in contents.files:
        text = "expected a file 'requirements.txt', from which mirrors install and the marketplace tests"
        yield Finding("advice", text)
        return
    try:
        requirements = Requirements.parse(contents.text("requirements.txt"))
    except ContentError as error:
        yield Finding("broken", str(error))
        return
    files = {line for line in requirements.named if line.startswith("./")}
    for path in sorted(files):
        if not _is_there(contents, path):
            yield Finding("broken", f"requirements.txt: {path!r}: expected this file")
    for found in filter(None, map(_INDEX_OPTION.match, requirements.options)):
        option, index = found.groups()  # the index is not shown: it may contain a password
        if index.rstrip("/") != PUBLIC_INDEX:
            text = f"{option!r}: expected no index but the one of whoever installs"
            yield Finding("advice", f"requirements.txt: {text}")
    wheels = read_wheels(contents)
    if not _own_folders(contents):  # of which the lock has said what is missing
        if "uv.lock" in contents.files:
            for wheel in wheels.values():
                yield from _check_listed(wheel, requirements)
        others = [line for line in requirements.named if line not in files]
        yield from _check_pins(contents, [*others, *_loose_options(requirements)], bundled=wheels)
    yield from _check_sdk(contents, "requirements.txt")


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
    """Return the options that install something."""
    return [line for line in requirements.options if line.startswith(("-e", "--editable", "-r"))]


def _check_pins(
    contents: Contents, lines: list[str], *, bundled: Mapping[str, Wheel]
) -> Iterator[Finding]:
    """Check that what comes from an index is pinned as in uv.lock."""
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
    entries = objects_at(_toml(contents, "uv.lock"), "package")
    only_for_work = _names_for_work(entries)
    locked = {
        name: str(entry.get("version"))
        for entry in entries
        if "registry" in object_at(entry, "source")
        and ((name := str(entry.get("name"))) in pins or name not in only_for_work)
    }
    asked = {name: version for name, version in pins.items() if name not in bundled}
    differing = sorted({name for name, _ in asked.items() ^ locked.items()})
    if locked and not loose and differing:
        text = f"expected the versions of uv.lock; {', '.join(differing[:_SHOWN])} differ"
        yield Finding("advice", f"requirements.txt: {text}")


def _names_for_work(entries: Iterable[JsonObject]) -> set[str]:
    """Return the packages of a lock that only dependency groups such as `dev` need: the official command line leaves them out of requirements.txt."""
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
    return _reach(groups, wanted) - _reach(own, wanted)


def _names(value: JsonObject, key: str) -> set[str]:
    return {str(each.get("name")) for each in objects_at(value, key)}


def _reach(names: Iterable[str], wanted: Mapping[str, Iterable[str]]) -> set[str]:
    reached: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting.extend(wanted.get(name, ()))
    return reached
