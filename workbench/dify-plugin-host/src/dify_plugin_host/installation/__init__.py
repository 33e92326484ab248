"""Installation of packages in the way of the daemon, and packages as sources of plugins."""

from ._install import PackageSource, install, install_sdk, installed
from ._install_settings import ROUTES, InstallSettings, Route


__all__ = [
    "ROUTES",
    "InstallSettings",
    "PackageSource",
    "Route",
    "install",
    "install_sdk",
    "installed",
]
