"""Packages, installed as the daemon does it, and as where a plugin comes from."""

from ._install import PackageSource, install, installed
from ._install_settings import ROUTES, InstallSettings, Route


__all__ = ["ROUTES", "InstallSettings", "PackageSource", "Route", "install", "installed"]
