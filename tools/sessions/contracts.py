"""The import contracts of the root pyproject.toml, with the packages that there are, so that a new one is held by them without an edit.

In a list of packages `*` stands for all packages of the workspace, and `-NAME` leaves one out of them again.
A folder such as `servers/` stands for those in it, there and in a layer. As a layer `*` stands for those that no other
layer names. What a contract forbids to somebody is never that somebody itself.
"""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any


_LISTS = ("root_packages", "source_modules", "forbidden_modules")


def write_contracts(pyproject: Path, packages: Mapping[str, str], target: Path) -> None:
    """Write the contracts for import-linter, to which `*` means nothing.

    Args:
        pyproject: The file whose `[tool.importlinter]` has the contracts.
        packages: The names under which the packages are imported, each with the folder of the root that it lies in.
        target: The TOML file to write.

    Raises:
        ValueError: If a contract leaves out a package that there is not.
    """
    read = tomllib.loads(pyproject.read_text(encoding="utf-8"))["tool"]["importlinter"]
    contracts = read.pop("contracts")
    text = "[tool.importlinter]\n" + _write(_fill(read, packages))
    for contract in contracts:
        text += "\n[[tool.importlinter.contracts]]\n" + _write(_fill(contract, packages))
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")


def _fill(table: dict[str, Any], packages: Mapping[str, str]) -> dict[str, Any]:
    filled, known = dict(table), set(packages)
    shelves = {
        f"{shelf}/": sorted(name for name, lies_in in packages.items() if lies_in == shelf)
        for shelf in packages.values()
    }
    if layers := filled.get("layers"):
        named = {name for layer in layers for name in layer.split(" | ")}
        unnamed = {"*": " | ".join(sorted(known - named))}
        words = unnamed | {shelf: " : ".join(names) for shelf, names in shelves.items()}
        filled["layers"] = [
            " : ".join(words.get(word, word) for word in layer.split(" : ")) for layer in layers
        ]
    for key in _LISTS:
        if key not in filled:
            continue
        if "*" not in filled[key]:
            filled[key] = [one for name in filled[key] for one in shelves.get(name, [name])]
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
