"""The check of a package against versions that were named: of Dify, of the plugin SDK and of the plugin daemon."""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from packaging.version import Version

from dify_plugin_host._errors import InstallError, TargetError
from dify_plugin_host.installation import install_sdk
from dify_plugin_packager.packaging import Archive
from dify_plugin_packager.rules import Finding, PackageRules, findings, nearest_sdks, read_sdk

from .daemon_program import ask_daemon
from .result import CheckResult
from .smoke_test import find_load_problems
from .targets import DifyTarget, SdkTarget, Target


def check_versions(
    archive: Archive, rules: PackageRules, targets: Sequence[Target], *, can_unpack: bool
) -> Iterator[CheckResult]:
    """Check a package against versions.

    Args:
        archive: The package.
        rules: The rules for its files.
        targets: The versions.
        can_unpack: Whether the platform does not refuse it; a release of the SDK is only asked about what can be unpacked.

    Raises:
        TargetError: If one of them cannot be asked.
        InstallError: If a release of the SDK cannot be installed.
    """
    for target in targets:
        match target:
            case DifyTarget():
                yield _check_dify(rules, target)
            case SdkTarget(version=version) if can_unpack:
                yield _check_sdk(archive, rules, version)
            case SdkTarget(version=version):
                yield _result(f"plugin SDK {version}", is_skipped=True)
            case _:
                yield _check_daemon(archive.path, target.program)


def _result(name: str, **more: Any) -> CheckResult:
    return CheckResult(name=name, stage="versions", **more)


def _check_dify(rules: PackageRules, target: DifyTarget) -> CheckResult:
    release = target.release
    name = f"Dify {release}"
    if not rules.is_readable:
        return _result(name, is_skipped=True)
    if rules.minimum > release.version and not target.is_named:
        asked = ".".join(map(str, rules.minimum))
        return _result(name, is_skipped=True, note=f"the manifest asks for {asked}")
    found = tuple(rules.check_against(release))
    return _result(name, findings=found, note=f"by langgenius/dify at {release.commit}")


def _check_sdk(archive: Archive, rules: PackageRules, version: Version) -> CheckResult:
    with tempfile.TemporaryDirectory(prefix="dify-host-") as temporary:
        folder = Path(temporary) / "plugin"
        archive.extract(folder)
        problems = find_load_problems(folder, python=_install_sdk(version))
    if problems is None:
        raise TargetError(f"sdk:{version}", "its loader of declarations is not known")
    found = list(findings("broken", problems))
    asked = read_sdk(rules.contents)
    if asked and not asked.specifier.contains(version, prereleases=True):
        text = f"{asked.file}: 'dify-plugin': allows {asked.specifier}, not {version}, so it is never installed"
        found.append(Finding("advice", text))
    return _result(f"plugin SDK {version}", findings=tuple(found))


def _install_sdk(version: Version) -> Path:
    """Return the Python of an environment with a release of the SDK.

    Raises:
        InstallError: If it cannot be installed; the text names releases that can.
    """
    try:
        return install_sdk(str(version))
    except InstallError as error:
        near = " or ".join(f"sdk:{one}" for one in nearest_sdks(version))
        raise InstallError(
            f"--against sdk:{version}: {error}; expected one such as {near}"
        ) from None


def _check_daemon(package: Path, program: Path) -> CheckResult:
    version, problem = ask_daemon(program, package)
    found = () if problem is None else (Finding("refused", problem),)
    return _result(f"plugin daemon {version}", findings=found, note=f"by {program.name}")
