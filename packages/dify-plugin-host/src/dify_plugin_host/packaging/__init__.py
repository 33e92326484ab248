"""Package files: written, read, and installed as the daemon does it."""

from ._archive import (
    SIZE_LIMIT_BYTES,
    Archive,
    build_archive,
    entry_path,
    iter_entry_problems,
)
from ._build import Package, build_package
from ._bundled import BundledWheel, build_requirements
from ._contents import ContentError, Contents
from ._identity import VersionOrder, identifier_of, read_identity, validate_identifier
from ._install import install, installed
from ._install_settings import ROUTES, InstallSettings, Route
from ._requirements import Requirements
from ._source import PackageSource
from ._uv import UvError, neutral_environment, run_program, run_uv, search_path
from ._variant import with_variant
from ._workspace import Workspace


__all__ = [
    "ROUTES",
    "SIZE_LIMIT_BYTES",
    "Archive",
    "BundledWheel",
    "ContentError",
    "Contents",
    "InstallSettings",
    "Package",
    "PackageSource",
    "Requirements",
    "Route",
    "UvError",
    "VersionOrder",
    "Workspace",
    "build_archive",
    "build_package",
    "build_requirements",
    "entry_path",
    "identifier_of",
    "install",
    "installed",
    "iter_entry_problems",
    "neutral_environment",
    "read_identity",
    "run_program",
    "run_uv",
    "search_path",
    "validate_identifier",
    "with_variant",
]
