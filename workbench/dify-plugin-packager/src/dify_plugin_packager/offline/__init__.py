"""Packages for machines without an index: every wheel is inside."""

from ._build import OfflinePackage, build_offline
from ._platforms import PLATFORMS, Platform


__all__ = ["PLATFORMS", "OfflinePackage", "Platform", "build_offline"]
