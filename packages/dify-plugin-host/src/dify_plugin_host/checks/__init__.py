"""What the platform refuses of a package, what would break when used, and what we advise."""

from ._check import CheckResult, check_package, find_refusals
from ._finding import Finding


__all__ = [
    "CheckResult",
    "Finding",
    "check_package",
    "find_refusals",
]
