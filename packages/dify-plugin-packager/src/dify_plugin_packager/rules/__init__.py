"""The rules that need only a package's files: what the platform refuses, what would break when used, and what we advise."""

from ._finding import Finding, findings
from ._package_rules import PackageRules, find_refusals
from .marketplace import iter_marketplace_rules


__all__ = [
    "Finding",
    "PackageRules",
    "find_refusals",
    "findings",
    "iter_marketplace_rules",
]
