"""The check of a package, stage by stage."""

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dify_plugin_host._errors import PluginHostError
from dify_plugin_host.installation import ROUTES, Route, install
from dify_plugin_packager import PackageError
from dify_plugin_packager.packaging import Archive, Contents
from dify_plugin_packager.rules import Finding, PackageRules, findings, iter_marketplace_rules

from .health import describe, figures, find_problems
from .result import CheckResult
from .smoke_test import find_load_problems, smoke_test
from .soak import SoakSettings, soak
from .targets import DifyTarget, Target
from .versions import check_versions


# The file that each route installs from.
_NEEDED: Mapping[Route, str] = {"uv.lock": "pyproject.toml", "requirements.txt": "requirements.txt"}


def check_package(  # noqa: PLR0913 - a check has these settings
    path: Path,
    *,
    quick: bool,
    start: Path,
    against: Sequence[Target] = (),
    for_marketplace: bool = False,
    soaking: SoakSettings | None = None,
) -> Iterator[CheckResult]:
    """Check a package in all stages; one that the platform refuses is not installed.

    Args:
        path: The package.
        quick: Whether to leave out the installation.
        start: A folder in the workspace, if any, whose members must not come from an index.
        against: Versions to check against. If releases of Dify are among them, what breaks in Dify is told of these alone; otherwise of
            all known ones that the manifest does not rule out.
        for_marketplace: Whether to check by the marketplace's rules as well, after the platform's.
        soaking: The length of a soak of the plugin, installed by the first route on which it starts; None for none.

    Raises:
        PackageError: If there is no such file.
        TargetError: If one of the versions cannot be asked.
        InstallError: If a release of the SDK, as one of the versions, cannot be installed.
    """
    try:
        archive = Archive.read(path)
    except PackageError as error:
        # A file that is not an archive is a finding; only a missing one is bad usage.
        if not path.is_file():
            raise
        yield CheckResult(name="archive entries", findings=(Finding("refused", str(error)),))
        return
    names_dify = any(isinstance(target, DifyTarget) for target in against)
    rules = PackageRules(archive, start, judges_use=not names_dify)
    can_go_on = rules.is_readable
    for name, rule in (*rules.of_archive(), *(rules.of_contents() if rules.is_readable else ())):
        result = CheckResult(name=name, findings=tuple(rule()))
        can_go_on = can_go_on and all(one.kind != "refused" for one in result.findings)
        yield result
    if not rules.is_readable:
        yield from (CheckResult(name=name, is_skipped=True) for name, _ in rules.of_contents())
    for route in () if quick else ROUTES:
        if not can_go_on or _NEEDED[route] not in archive.files:
            yield from _skipped(route)
            continue
        for result in _try_route(archive, route, soaking):
            yield result
            soaking = None if result.stage == "health" else soaking
    if soaking:
        yield CheckResult(name="soak", stage="health", is_skipped=True)
    yield from check_versions(archive, rules, against, can_unpack=can_go_on)
    if for_marketplace and rules.is_readable:
        yield from _check_for_marketplace(archive, rules.contents)


def _steps(route: Route) -> tuple[str, str]:
    return f"install from {route}", f"start and call, from {route}"


def _skipped(route: Route) -> Iterator[CheckResult]:
    return (_installation(name, is_skipped=True) for name in _steps(route))


def _try_route(
    archive: Archive, route: Route, soaking: SoakSettings | None
) -> Iterator[CheckResult]:
    """Install the package in an empty folder and try the plugin there; if it can be called, soak it as well."""
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
        if problems := find_load_problems(folder):
            yield _installation(trying, findings=tuple(findings("broken", problems)))
            return
        try:
            tested = smoke_test(folder)
        except PluginHostError as error:
            yield _installation(trying, findings=(Finding("broken", str(error)),))
            return
        heartbeat = f"first heartbeat after {tested.start_seconds:.1f} s"
        note = "; ".join(filter(None, [heartbeat, ", ".join(tested.calls)]))
        yield _installation(trying, findings=tested.findings, note=note)
        if soaking:
            yield _soak(folder, soaking)


def _soak(folder: Path, settings: SoakSettings) -> CheckResult:
    try:
        result = soak(folder, settings)
    except PluginHostError as error:
        finding = Finding("broken", str(error))
        return CheckResult(name="soak", stage="health", findings=(finding,))
    return CheckResult(
        name="soak",
        stage="health",
        findings=tuple(find_problems(result, settings)),
        note=describe(result, settings),
        figures=figures(result, settings),
    )


def _installation(name: str, **more: Any) -> CheckResult:
    return CheckResult(name=name, stage="installation", **more)


def _check_for_marketplace(archive: Archive, contents: Contents) -> Iterator[CheckResult]:
    for name, rule in iter_marketplace_rules(archive, contents):
        found = tuple(rule())
        yield CheckResult(name=f"marketplace: {name}", findings=found, stage="marketplace")
