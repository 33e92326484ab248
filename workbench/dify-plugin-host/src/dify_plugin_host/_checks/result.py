"""The result of one check, as every stage gives it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from dify_plugin_packager.rules import Finding


type Stage = Literal["package", "installation", "versions", "health", "marketplace"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """The result of one check.

    Attributes:
        stage: The stage of the check: the platform's, of the files, of their installation, of versions that were named
            or of the plugin's health, or the marketplace's.
        name: The check.
        findings: Its findings.
        note: A remark, such as how long it took.
        figures: What was measured, each by a name that says its unit.
        is_skipped: Whether it was skipped, because there is nothing to check or the platform refuses the package.
    """

    name: str
    findings: tuple[Finding, ...] = ()
    note: str = ""
    figures: Mapping[str, float] = field(default_factory=dict[str, float])
    is_skipped: bool = False
    stage: Stage = "package"
