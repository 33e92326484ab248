"""What the daemon, Dify and the plugin SDK would refuse of a package."""

from ._check import CheckResult, check_package


__all__ = [
    "CheckResult",
    "check_package",
]
