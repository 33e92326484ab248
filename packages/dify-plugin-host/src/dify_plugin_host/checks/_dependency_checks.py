"""Checks of what a package installs: its wheels, and the three files that must all mean the same."""

import hashlib
import io
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.parser import HeaderParser

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import Version

from dify_plugin_host._json import JsonObject, list_at, object_at, objects_at
from dify_plugin_host.packaging import ContentError, Contents


PUBLIC_INDEX = "https://pypi.org/simple"

_PYTHON = "3.12"  # what the daemon installs for
_OLDEST_UNPATCHED_SDK = Version("0.1.1")
_DIFYS_FOLDERS = {"main", "models", "provider", "strategies", "tools", "wheels"}
_EXTRA = re.compile(r"\bextra\s*==")
# How the daemon finds the SDK's version in the text of a file, in this order.
_EXACT_SDK = re.compile(r"dify[_-]plugin(?:~=|==)([0-9.a-z]+)")
_SDK_RANGE = re.compile(r"dify[_-]plugin(?:[><]=?|==)([0-9.a-z]+)(?:,(?:[><]=?|==)([0-9.a-z]+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheel:
    """A bundled wheel.

    Attributes:
        path: Its path in the package.
        name: Its published name, normalised.
        version: Its version.
        sha256: Its hash, in hex.
        requirements: What it needs without extras.
        modules: The import names that it brings.
    """

    path: str
    name: str
    version: str
    sha256: str
    requirements: tuple[Requirement, ...]
    modules: frozenset[str]

    @classmethod
    def parse(cls, path: str, content: bytes) -> "Wheel":
        """Parse a wheel.

        Raises:
            ContentError: If it is none, or is not for every machine.
        """
        try:
            name, version, _, tags = parse_wheel_filename(path.rpartition("/")[2])
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                names = archive.namelist()
                (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
                headers = HeaderParser().parsestr(archive.read(metadata).decode())
            requirements = map(Requirement, headers.get_all("Requires-Dist", []))
        except (InvalidWheelFilename, InvalidRequirement, zipfile.BadZipFile, ValueError) as error:
            raise ContentError(f"{path}: expected a wheel: {error}") from None
        if {str(tag) for tag in tags} != {"py3-none-any"}:
            raise ContentError(f"{path}: expected a wheel for every platform, py3-none-any")
        if canonicalize_name(headers["Name"]) != name or Version(headers["Version"]) != version:
            raise ContentError(
                f"{path}: expected the name and version of its metadata in its file name"
            )
        return cls(
            path=path,
            name=name,
            version=str(version),
            sha256=hashlib.sha256(content).hexdigest(),
            requirements=tuple(one for one in requirements if not _EXTRA.search(str(one.marker))),
            modules=frozenset(_modules(names)),
        )


def _modules(names: list[str]) -> Iterator[str]:
    for name in names:
        top = name.partition("/")[0]
        if not top.endswith((".dist-info", ".data")):
            yield top.removesuffix(".py")


def read_wheels(contents: Contents) -> dict[str, Wheel]:
    """Return the bundled wheels by published name.

    Raises:
        ContentError: If one cannot be read.
    """
    wheels = [Wheel.parse(path, contents.files[path]) for path in contents.wheels]
    return {wheel.name: wheel for wheel in wheels}


def check_wheels(contents: Contents) -> Iterator[str]:
    """Check that the wheels fit every machine and hide nothing of the plugin's own."""
    own = {path.partition("/")[0].removesuffix(".py") for path in contents.files}
    for wheel in read_wheels(contents).values():
        if wheel.path != f"wheels/{wheel.path.rpartition('/')[2]}":
            yield f"{wheel.path}: expected it in 'wheels/'"
        for module in sorted(wheel.modules & (own | _DIFYS_FOLDERS)):
            yield f"{wheel.path}: its module {module!r} has the name of a file or folder of the plugin"


def check_siblings(contents: Contents, siblings: frozenset[str]) -> Iterator[str]:
    """Check that what the wheels need of their own repository is bundled.

    Some of those names belong to somebody else on the public index; what is not bundled would come from there.
    """
    table = object_at(object_at(contents.pyproject, "tool"), "dify-host")
    internal = siblings | {canonicalize_name(str(name)) for name in list_at(table, "workspace")}
    wheels = read_wheels(contents)
    for wheel in wheels.values():
        for requirement in wheel.requirements:
            name = canonicalize_name(requirement.name)
            if name in wheels and not requirement.specifier.contains(wheels[name].version):
                yield f"{wheel.path} needs {requirement}, but {wheels[name].version} is bundled"
            elif name in internal - wheels.keys():
                yield f"{wheel.path} needs {name!r}, which is not bundled"
    for entry in objects_at(contents.toml("uv.lock"), "package"):
        if entry.get("name") in internal and "registry" in object_at(entry, "source"):
            yield f"uv.lock: takes {entry['name']!r} from an index; expected a bundled wheel"


def check_pyproject(contents: Contents) -> Iterator[str]:
    """Check that pyproject.toml installs outside of any workspace, and every wheel from its path."""
    pyproject = contents.pyproject
    project, uv = object_at(pyproject, "project"), object_at(object_at(pyproject, "tool"), "uv")
    if project.get("version") != contents.manifest.get("version"):
        yield "pyproject.toml: project.version: expected the version of manifest.yaml"
    if not SpecifierSet(str(project.get("requires-python", ""))).contains(_PYTHON):
        yield f"pyproject.toml: project.requires-python: expected to allow Python {_PYTHON}"
    if "dev" not in object_at(pyproject, "dependency-groups"):
        yield "pyproject.toml: dependency-groups: expected 'dev', which the daemon leaves out by name"
    if uv.get("package") is not False:
        yield "pyproject.toml: tool.uv.package: expected false, so that the plugin itself is not built"
    for key in sorted(uv.keys() - {"package", "sources", "constraint-dependencies"}):
        yield f"pyproject.toml: tool.uv.{key}: expected no setting that depends on the machine"
    yield from _check_sources(contents, object_at(uv, "sources"), _direct(contents))
    yield from _check_sdk(contents, "pyproject.toml")


def _direct(contents: Contents) -> dict[str, Requirement]:
    """Return the direct dependencies by name.

    Raises:
        ContentError: If one of them is no requirement.
    """
    listed = list_at(object_at(contents.pyproject, "project"), "dependencies")
    try:
        requirements = [Requirement(str(text)) for text in listed]
    except InvalidRequirement as error:
        raise ContentError(f"pyproject.toml: dependencies: {error}") from None
    return {canonicalize_name(requirement.name): requirement for requirement in requirements}


def _check_sources(
    contents: Contents, sources: JsonObject, direct: Mapping[str, Requirement]
) -> Iterator[str]:
    wheels = read_wheels(contents)
    for name, wheel in wheels.items():
        if str(direct.get(name)) != f"{name}=={wheel.version}":
            yield f"pyproject.toml: dependencies: expected '{name}=={wheel.version}'"
        if sources.get(name) != {"path": wheel.path}:
            yield f"pyproject.toml: tool.uv.sources.{name}: expected the path {wheel.path!r}"
    for name in sorted(sources.keys() - wheels.keys()):
        yield f"pyproject.toml: tool.uv.sources.{name}: expected only names of bundled wheels"


def _check_sdk(contents: Contents, file: str) -> Iterator[str]:
    """Check that the daemon reads the SDK's version as it is, for it overwrites files of an old SDK."""
    if "dify-plugin" in read_wheels(contents):
        return
    text = contents.text(file)
    if exact := _EXACT_SDK.search(text):
        version = exact[1]
    else:
        ranges = _SDK_RANGE.findall(text)
        version = max((end or start for start, end in ranges), key=Version, default="0")
    if Version(version) < _OLDEST_UNPATCHED_SDK:
        yield f"{file}: expected a pin such as 'dify-plugin>=0.10.1,<0.11', without spaces"


def check_lock(contents: Contents) -> Iterator[str]:
    """Check that uv.lock fits pyproject.toml, the wheels' bytes and every network."""
    lock = contents.toml("uv.lock")
    if lock.get("version") != 1:
        yield f"uv.lock: version: expected 1, got {lock.get('version')!r}"
    locked = {str(entry.get("name")): entry for entry in objects_at(lock, "package")}
    for name, wheel in read_wheels(contents).items():
        yield from _check_locked_wheel(wheel, locked.get(name))
    for name, entry in locked.items():
        registry = object_at(entry, "source").get("registry", PUBLIC_INDEX)
        if registry != PUBLIC_INDEX:
            yield f"uv.lock: {name!r} comes from {registry!r}; expected {PUBLIC_INDEX!r}"
    yield from _check_locked_project(contents, locked)


def _check_locked_wheel(wheel: Wheel, entry: JsonObject | None) -> Iterator[str]:
    if entry is None or object_at(entry, "source") != {"path": wheel.path}:
        yield f"uv.lock: {wheel.name!r}: expected the path {wheel.path!r} as source"
        return
    if entry.get("version") != wheel.version:
        yield f"uv.lock: {wheel.name!r}: expected the version {wheel.version!r}"
    hashes = [str(one.get("hash")) for one in objects_at(entry, "wheels")]
    if hashes != [f"sha256:{wheel.sha256}"]:
        yield f"uv.lock: {wheel.name!r}: expected the hash of {wheel.path!r}"


def _check_locked_project(contents: Contents, locked: Mapping[str, JsonObject]) -> Iterator[str]:
    name = canonicalize_name(str(object_at(contents.pyproject, "project").get("name")))
    metadata = object_at(locked.get(name, {}), "metadata")
    listed = {str(one.get("name")) for one in objects_at(metadata, "requires-dist")}
    if listed != _direct(contents).keys():
        yield "uv.lock: expected the dependencies of pyproject.toml"


def check_requirements(contents: Contents) -> Iterator[str]:
    """Check that requirements.txt installs the same as uv.lock."""
    lines = [line for line in contents.text("requirements.txt").splitlines() if line.strip()]
    listed = {line for line in lines if line.startswith("./")}
    bundled = {f"./{wheel.path}" for wheel in read_wheels(contents).values()}
    for path in sorted(bundled - listed):
        yield f"requirements.txt: expected a line {path!r} for that wheel"
    for path in sorted(listed - bundled):
        yield f"requirements.txt: {path!r}: expected only bundled wheels as files"
    third_party = {_pin(line) for line in lines if line not in listed}
    locked = {
        (str(entry.get("name")), str(entry.get("version")))
        for entry in objects_at(contents.toml("uv.lock"), "package")
        if "registry" in object_at(entry, "source")
    }
    for name, version in sorted(locked - third_party):
        yield f"requirements.txt: expected '{name}=={version}', as in uv.lock"
    for name, version in sorted(third_party - locked):
        yield f"requirements.txt: '{name}=={version}': expected only what is in uv.lock"
    yield from _check_sdk(contents, "requirements.txt")


def _pin(line: str) -> tuple[str, str]:
    """Return name and version of a pinned requirement.

    Raises:
        ContentError: If the line is something else.
    """
    try:
        requirement = Requirement(line)
        (specifier,) = requirement.specifier
    except ValueError:
        raise ContentError(f"requirements.txt: expected 'name==version', got {line!r}") from None
    return canonicalize_name(requirement.name), specifier.version
