"""The graded report of a check: what was found, by stage, with a grade for each and one in all.

A grade is the worst kind of finding, nothing else, so that everybody can work it out from the findings.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from dify_plugin_packager import PackageError
from dify_plugin_packager.json_access import list_at, object_at
from dify_plugin_packager.packaging import Archive, ContentError, Contents, identifier_of
from dify_plugin_packager.rules import Finding, read_sdk

from .result import CheckResult


type Grade = Literal["A", "B", "C", "D", "E"]

REPORT_VERSION = 1
"""The version of the report's form; another one means that readers have to change."""

GRADES: Mapping[Grade, str] = {
    "A": "nothing was found",
    "B": "it works, though we advise something",
    "C": "only the marketplace refuses it",
    "D": "something would break when used",
    "E": "the platform refuses it",
}
"""The grades, the best first, each with its worst finding."""

STAGES: Mapping[str, tuple[str, str]] = {
    "package": ("the files, by the rules of Dify and its plugin daemon", ""),
    "installation": (
        "installed in an empty folder, started and called",
        "left out by --quick, or because the platform refuses the package",
    ),
    "versions": ("against other versions of the platform", "asked for with --against"),
    "health": ("run for a while", "asked for with --soak"),
    "marketplace": ("the rules of Dify's marketplace", "asked for with --marketplace"),
}
"""The stages that a check can have, each with what it looks at and when it is not there."""

_KINDS: Mapping[str, Grade] = {"advice": "B", "rejected": "C", "broken": "D", "refused": "E"}
_WHERE = re.compile(r"(?P<file>[^\s:]+): (?:'(?P<field>[^']+)': )?(?P<text>.+)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """The package that a report is about.

    Attributes:
        file: Its file's name.
        size_bytes: Its file's size.
        sha256: Its file's checksum.
        identifier: The unique identifier by which Dify knows its content; None if its manifest cannot be read, as with all that follow.
        label: The name that people see.
        kinds: The kinds of plugin that it holds, as the manifest calls them, such as `tools`.
        sdk: The plugin SDK's versions that it allows.
        minimum_dify_version: The oldest version of Dify that it asks for.
    """

    file: str
    size_bytes: int
    sha256: str
    identifier: str | None = None
    label: str | None = None
    kinds: tuple[str, ...] = ()
    sdk: str | None = None
    minimum_dify_version: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StageReport:
    """A stage with its checks.

    Attributes:
        stage: The stage.
        grade: Its grade; None if nothing in it was checked.
        checks: Its results.
    """

    stage: str
    grade: Grade | None
    checks: tuple[CheckResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A report about a package.

    Attributes:
        package: The package.
        date: When it was checked.
        host_version: The version of dify-plugin-host that checked it.
        grade: The worst of the stages' grades.
        stages: The stages, in the order of `STAGES`, those that were not checked too.
    """

    package: Package
    date: datetime
    host_version: str
    grade: Grade
    stages: tuple[StageReport, ...]

    @property
    def not_checked(self) -> tuple[str, ...]:
        """The stages that were not checked."""
        return tuple(one.stage for one in self.stages if one.grade is None)

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON, in the form that docs/dify-plugin-host/check.md describes."""
        package = {name: value for name, value in asdict(self.package).items() if value is not None}
        return {
            "report_version": REPORT_VERSION,
            "date": self.date.isoformat(timespec="seconds"),
            "host_version": self.host_version,
            "package": package,
            "grade": self.grade,
            "not_checked": self.not_checked,
            "stages": [
                {
                    "stage": one.stage,
                    "grade": one.grade,
                    "checks": [
                        {
                            "name": check.name,
                            "is_skipped": check.is_skipped,
                            "note": check.note,
                            "figures": dict(check.figures),
                            "findings": [describe(finding) for finding in check.findings],
                        }
                        for check in one.checks
                    ],
                }
                for one in self.stages
            ],
        }


def build_report(path: Path, results: Sequence[CheckResult]) -> Report:
    """Build the report of a check.

    Args:
        path: The package, which is read again for its identity.
        results: What the check found.
    """
    of_stage = {name: [one for one in results if one.stage == name] for name in STAGES}
    stages = tuple(
        StageReport(stage=name, grade=_grade(checks), checks=tuple(checks))
        for name, checks in of_stage.items()
    )
    return Report(
        package=_read_package(path),
        date=datetime.now(UTC),
        host_version=version("dify-plugin-host"),
        grade=_worst(one.grade for one in stages) or "A",
        stages=stages,
    )


def describe(finding: Finding) -> dict[str, str]:
    """Return a finding with the file and the field that it names, if any, apart from the rest of its text."""
    found = _WHERE.fullmatch(finding.text)
    named = found.groupdict() if found else {"text": finding.text}
    return {"kind": finding.kind, **{key: value for key, value in named.items() if value}}


def _grade(checks: Iterable[CheckResult]) -> Grade | None:
    done = [check for check in checks if not check.is_skipped]
    worst = _worst(_KINDS[finding.kind] for check in done for finding in check.findings)
    return worst or "A" if done else None


def _worst(grades: Iterable[Grade | None]) -> Grade | None:
    given = set(grades)
    return next((grade for grade in reversed(tuple(GRADES)) if grade in given), None)


def _read_package(path: Path) -> Package:
    content = path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    package = Package(file=path.name, size_bytes=len(content), sha256=digest)
    try:
        archive = Archive.read(path)
        contents = Contents(archive.files)
        manifest = contents.manifest
        identifier = identifier_of(archive)
    except (PackageError, ContentError):
        return package
    sdk = read_sdk(contents)
    minimum = object_at(manifest, "meta").get("minimum_dify_version")
    plugins = object_at(manifest, "plugins")
    return replace(
        package,
        identifier=identifier,
        label=str(object_at(manifest, "label").get("en_US") or manifest.get("name")),
        kinds=tuple(kind for kind in plugins if list_at(plugins, kind)),
        sdk=str(sdk.specifier) if sdk else None,
        minimum_dify_version=str(minimum) if minimum else None,
    )
