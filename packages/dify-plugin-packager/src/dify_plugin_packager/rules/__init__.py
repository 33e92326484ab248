"""The rules that need only a package's files: refusals by the platform, breaks in use, and our advice."""

from ._finding import Finding, findings
from ._marketplace.marketplace_rules import iter_marketplace_rules
from ._names import find_author_problem, find_marketplace_author_problem, find_name_problem
from ._package_rules import PackageRules, find_refusals


__all__ = [
    "Finding",
    "PackageRules",
    "find_author_problem",
    "find_marketplace_author_problem",
    "find_name_problem",
    "find_refusals",
    "findings",
    "iter_marketplace_rules",
]
