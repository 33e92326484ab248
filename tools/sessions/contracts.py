"""The import contracts of the root pyproject.toml, with the packages that there are, so that a new one is held by them without an edit.

In a list of packages `*` stands for all packages of the workspace, and `-NAME` leaves one out of them again. As a layer
`*` stands for those that no other layer names. What a contract forbids to somebody is never that somebody itself.
"""

import json
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any


_LISTS = ("root_packages", "source_modules", "forbidden_modules")


def write_contracts(pyproject: Path, packages: Iterable[str], target: Path) -> None:
    """Write the contracts for import-linter, to which `*` means nothing.

    Args:
        pyproject: The file whose `[tool.importlinter]` has the contracts.
        packages: The names under which the packages are imported.
        target: The TOML file to write.

    Raises:
        ValueError: If a contract leaves out a package that there is not.
    """
    read = tomllib.loads(pyproject.read_text(encoding="utf-8"))["tool"]["importlinter"]
    contracts = read.pop("contracts")
    known = set(packages)
    text = "[tool.importlinter]\n" + _write(_fill(read, known))
    for contract in contracts:
        text += "\n[[tool.importlinter.contracts]]\n" + _write(_fill(contract, known))
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")


def _fill(table: dict[str, Any], known: set[str]) -> dict[str, Any]:
    filled = dict(table)
    if "*" in filled.get("layers", ()):
        named = {name for layer in filled["layers"] for name in layer.split(" | ")}
        others = " | ".join(sorted(known - named))
        filled["layers"] = [others if layer == "*" else layer for layer in filled["layers"]]
    for key in _LISTS:
        if "*" not in filled.get(key, ()):
            continue
        left_out = {name.removeprefix("-") for name in filled[key] if name != "*"}
        if unknown := left_out - known:
            raise ValueError(f"{table.get('name')}: expected packages, got {sorted(unknown)}")
        others = set(table["source_modules"]) if key == "forbidden_modules" else set[str]()
        filled[key] = sorted(known - left_out - others)
    return filled


def _write(table: dict[str, Any]) -> str:
    # Texts, lists and booleans are written alike in JSON and in TOML.
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items())
