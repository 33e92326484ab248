"""Reading and writing of package files, also of those for machines without an index."""

from ._archive import (
    SIZE_LIMIT_BYTES,
    Archive,
    build_archive,
    entry_path,
    iter_entry_problems,
    write_package,
)
from ._build import Judge, Package, build_package
from ._bundled import BundledWheel, build_requirements
from ._contents import ContentError, Contents
from ._identity import VersionOrder, identifier_of, read_identity, validate_identifier
from ._offline.build import OfflinePackage, build_offline
from ._offline.platforms import PLATFORMS, Platform
from ._requirements import Requirements
from ._toml import write_toml
from ._uv import UvError, neutral_environment, run_program, run_uv, search_path
from ._variant import with_variant
from ._workspace import Workspace, reach


__all__ = [
    "PLATFORMS",
    "SIZE_LIMIT_BYTES",
    "Archive",
    "BundledWheel",
    "ContentError",
    "Contents",
    "Judge",
    "OfflinePackage",
    "Package",
    "Platform",
    "Requirements",
    "UvError",
    "VersionOrder",
    "Workspace",
    "build_archive",
    "build_offline",
    "build_package",
    "build_requirements",
    "entry_path",
    "identifier_of",
    "iter_entry_problems",
    "neutral_environment",
    "reach",
    "read_identity",
    "run_program",
    "run_uv",
    "search_path",
    "validate_identifier",
    "with_variant",
    "write_package",
    "write_toml",
]
