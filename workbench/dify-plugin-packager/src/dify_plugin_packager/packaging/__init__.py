"""Reading and writing of package files."""

from ._archive import (
    SIZE_LIMIT_BYTES,
    Archive,
    build_archive,
    entry_path,
    iter_entry_problems,
    write_package,
)
from ._build import Package, build_package
from ._bundled import BundledWheel, build_requirements
from ._contents import ContentError, Contents
from ._identity import VersionOrder, identifier_of, read_identity, validate_identifier
from ._requirements import Requirements
from ._toml import write_toml
from ._uv import UvError, neutral_environment, run_program, run_uv, search_path
from ._variant import with_variant
from ._workspace import Workspace, reach


__all__ = [
    "SIZE_LIMIT_BYTES",
    "Archive",
    "BundledWheel",
    "ContentError",
    "Contents",
    "Package",
    "Requirements",
    "UvError",
    "VersionOrder",
    "Workspace",
    "build_archive",
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
