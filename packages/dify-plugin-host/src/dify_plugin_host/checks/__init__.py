"""The check of a package: the rules for its files, an installation, and a smoke test."""

from ._check import CheckResult, check_package


__all__ = [
    "CheckResult",
    "check_package",
]
