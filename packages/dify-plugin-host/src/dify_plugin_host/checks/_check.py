"""The checks of a package, stage by stage: what the platform refuses, what would break when used, and what we advise."""

import dataclasses
import functools
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dify_plugin_host._errors import PackageError, PluginHostError
from dify_plugin_host.packaging import (
    ROUTES,
    SIZE_LIMIT_BYTES,
    Archive,
    Contents,
    Route,
    Workspace,
    install,
)

from . import _dependency_checks as dependencies
from . import _file_checks as files
from ._declaration_checks import Declarations
from ._finding import Finding
from ._marketplace import iter_marketplace_checks
from ._marketplace_install import install_elsewhere, start_serverless
from ._smoke_test import smoke_test
from ._upload import Upload


type Check = Callable[[], Iterable[Finding]]
type Stage = Literal["package", "installation", "marketplace"]

_ROUTES: Mapping[Route, tuple[str, ...]] = {
    "uv.lock": ("pyproject.toml",),
    "requirements.txt": ("requirements.txt",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """The result of one check.

    Attributes:
        stage: Whose check it is: the platform's, of the files or of an installation of them, or the marketplace's.
        name: The check.
        findings: What it found.
        note: What else there is to say.
        is_skipped: Whether it was left out: there is nothing to check, or no daemon would come that far.
    """

    name: str
    findings: tuple[Finding, ...] = ()
    note: str = ""
    is_skipped: bool = False
    stage: Stage = "package"


def check_package(
    path: Path, *, quick: bool, start: Path, for_marketplace: bool = False
) -> Iterator[CheckResult]:
    """Check a package, from the outside in, through all stages; only what the platform refuses is not installed.

    Args:
        path: The package.
        quick: Whether to leave out the installation.
        start: A folder in the workspace, if any, whose members' names may come from no index.
        for_marketplace: Whether to check by the marketplace's rules as well, after the platform's.

    Raises:
        PackageError: If there is no such file.
    """
    try:
        archive = Archive.read(path)
    except PackageError as error:
        if not path.is_file():
            raise
        yield CheckResult(name="archive entries", findings=(Finding("refused", str(error)),))
        return
    contents = Contents(archive.files)
    declarations = Declarations(contents)
    can_go_on = True
    for name, check in _checks_of_files(archive, declarations):
        result = CheckResult(name=name, findings=tuple(check()))
        can_go_on = can_go_on and not _is_refused(result)
        yield result
    for name, check in _checks_of_contents(contents, declarations, start):
        if declarations.upload.manifest is None:
            yield CheckResult(name=name, is_skipped=True)
            continue
        result = CheckResult(name=name, findings=tuple(check()))
        can_go_on = can_go_on and not _is_refused(result)
        yield result
    for route in () if quick else ROUTES:
        has_file = any(file in contents.files for file in _ROUTES[route])
        yield from _try_route(archive, route) if can_go_on and has_file else _skipped(route)
    if for_marketplace and declarations.upload.manifest is not None:
        yield from _check_for_marketplace(archive, contents, quick=quick or not can_go_on)


def find_refusals(files: Mapping[str, bytes]) -> Iterator[str]:
    """Iterate over why the platform would refuse a package of these files."""
    total = sum(map(len, files.values()))
    if total > SIZE_LIMIT_BYTES:
        yield f"expected at most {SIZE_LIMIT_BYTES} bytes, got {total}"
    for problems in Upload(Contents(files)).problems.values():
        yield from problems


def _is_refused(result: CheckResult) -> bool:
    return any(finding.kind == "refused" for finding in result.findings)


def _checks_of_files(archive: Archive, declarations: Declarations) -> Iterator[tuple[str, Check]]:
    yield "archive entries", functools.partial(files.check_entries, archive)
    yield "signature", functools.partial(files.check_signature, archive)
    yield "size", functools.partial(files.check_size, archive)
    yield "no unwanted files", functools.partial(files.check_leftovers, archive)
    yield "nothing unasked", functools.partial(files.check_unasked, archive)
    yield "manifest.yaml", declarations.check_manifest


def _checks_of_contents(
    contents: Contents, declarations: Declarations, start: Path
) -> Iterator[tuple[str, Check]]:
    yield "unique identifier", declarations.check_identifier
    yield "providers", declarations.check_providers
    yield "models, tools and strategies", declarations.check_declared
    yield "icons", declarations.check_icons
    yield "permissions", declarations.check_permissions
    yield "documents", declarations.check_documents
    yield "Python sources", declarations.check_sources
    yield "model modules", declarations.check_model_modules
    yield "wheels", functools.partial(dependencies.check_wheels, contents)
    yield "pyproject.toml", functools.partial(dependencies.check_pyproject, contents)
    yield "uv.lock", functools.partial(dependencies.check_lock, contents)
    yield "requirements.txt", functools.partial(dependencies.check_requirements, contents)
    workspace = Workspace.find(start)
    siblings = frozenset(workspace.members) if workspace else frozenset[str]()
    check_siblings = functools.partial(dependencies.check_siblings, contents, siblings)
    yield "workspace packages", check_siblings


def _steps(route: Route) -> tuple[str, str]:
    return f"install from {route}", f"start and call, from {route}"


def _skipped(route: Route) -> Iterator[CheckResult]:
    return (_installation(name, is_skipped=True) for name in _steps(route))


def _try_route(archive: Archive, route: Route) -> Iterator[CheckResult]:
    """Install in an empty folder and try the plugin there."""
    installing, trying = _steps(route)
    with tempfile.TemporaryDirectory(prefix="dify-host-") as temporary:
        folder = Path(temporary) / "plugin"
        started = time.monotonic()
        try:
            archive.extract(folder)
            install(folder, route=route)
        except PluginHostError as error:
            yield _installation(installing, findings=(Finding("broken", str(error)),))
            yield _installation(trying, is_skipped=True)
            return
        yield _installation(installing, note=f"{time.monotonic() - started:.1f} s")
        try:
            tested = smoke_test(folder)
        except PluginHostError as error:
            yield _installation(trying, findings=(Finding("broken", str(error)),))
            return
        heartbeat = f"first heartbeat after {tested.start_seconds:.1f} s"
        note = "; ".join(filter(None, [heartbeat, ", ".join(tested.calls)]))
        yield _installation(trying, findings=tested.findings, note=note)


def _installation(name: str, **more: Any) -> CheckResult:
    return CheckResult(name=name, stage="installation", **more)


def _check_for_marketplace(
    archive: Archive, contents: Contents, *, quick: bool
) -> Iterator[CheckResult]:
    """Check by the marketplace's rules, and try what it tries."""
    for name, check in iter_marketplace_checks(archive, contents):
        found = tuple(check())
        yield CheckResult(name=f"marketplace: {name}", findings=found, stage="marketplace")
    if quick:
        return
    with tempfile.TemporaryDirectory(prefix="dify-host-") as temporary:
        steps: tuple[tuple[str, Callable[[], float | None]], ...] = (
            ("install from another folder", lambda: install_elsewhere(archive, Path(temporary))),
            ("start in serverless form", lambda: start_serverless(Path(temporary))),
        )
        can_go_on = "requirements.txt" in contents.files
        for name, step in steps:
            result = CheckResult(name=f"marketplace: {name}", stage="marketplace")
            if can_go_on:
                result = _try_step(result, step)
                can_go_on = not result.findings
            else:
                result = dataclasses.replace(result, is_skipped=True)
            yield result


def _try_step(result: CheckResult, step: Callable[[], float | None]) -> CheckResult:
    started = time.monotonic()
    try:
        seconds = step()
    except PluginHostError as error:
        return dataclasses.replace(result, findings=(Finding("rejected", str(error)),))
    taken = time.monotonic() - started if seconds is None else seconds
    return dataclasses.replace(result, note=f"{taken:.1f} s")
