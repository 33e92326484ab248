"""Rules for what a package installs: wheels, pyproject.toml, uv.lock and requirements.txt."""

from ._dependency_rules import (
    check_lock,
    check_pyproject,
    check_requirements,
    check_siblings,
    check_wheels,
)


__all__ = [
    "check_lock",
    "check_pyproject",
    "check_requirements",
    "check_siblings",
    "check_wheels",
]
