"""The result of one check, as every stage gives it."""

from dataclasses import dataclass
from typing import Literal

from dify_plugin_packager.rules import Finding


type Stage = Literal["package", "installation", "versions", "marketplace"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """The result of one check.

    Attributes:
        stage: The stage of the check: the platform's, of the files, of their installation or of versions that were named, or the marketplace's.
        name: The check.
        findings: Its findings.
        note: A remark, such as how long it took.
        is_skipped: Whether it was skipped, because there is nothing to check or the platform refuses the package.
    """

    name: str
    findings: tuple[Finding, ...] = ()
    note: str = ""
    is_skipped: bool = False
    stage: Stage = "package"
