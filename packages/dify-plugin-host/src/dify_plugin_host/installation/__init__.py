"""Packages, installed as the daemon does it, and as where a plugin comes from."""

from ._install import install, installed
from ._install_settings import ROUTES, InstallSettings, Route
from ._package_source import PackageSource


__all__ = ["ROUTES", "InstallSettings", "PackageSource", "Route", "install", "installed"]
