"""The rules that need only a package's files: refusals by the platform, breaks in use, and our advice."""

from ._dependencies.sdk import SdkRequirement, read_sdk
from ._dify_releases import (
    DIFY_RELEASES,
    SDK_RELEASES,
    DifyRelease,
    find_release,
    nearest_sdks,
    newest_of_each_line,
)
from ._finding import Finding, findings
from ._marketplace.marketplace_rules import iter_marketplace_rules
from ._names import find_author_problem, find_marketplace_author_problem, find_name_problem
from ._package_rules import PackageRules, find_refusals


__all__ = [
    "DIFY_RELEASES",
    "SDK_RELEASES",
    "DifyRelease",
    "Finding",
    "PackageRules",
    "SdkRequirement",
    "find_author_problem",
    "find_marketplace_author_problem",
    "find_name_problem",
    "find_refusals",
    "find_release",
    "findings",
    "iter_marketplace_rules",
    "nearest_sdks",
    "newest_of_each_line",
    "read_sdk",
]
