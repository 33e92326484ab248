"""A package that is new is in every contract that speaks of all packages."""

import tomllib
from pathlib import Path

import pytest

from sessions.contracts import write_contracts
from sessions.members import ROOT, SHELVES


def contracts(path: Path) -> dict[str, dict[str, list[str]]]:
    read = tomllib.loads(path.read_text(encoding="utf-8"))["tool"]["importlinter"]
    return {one["name"]: one for one in read["contracts"]} | {"": read}


def test_a_new_package_is_in_every_contract_that_speaks_of_all(tmp_path: Path) -> None:
    packages = SHELVES | {"throw_away": "servers"}
    write_contracts(ROOT / "pyproject.toml", packages, tmp_path / "contracts.toml")

    declared, written = contracts(ROOT / "pyproject.toml"), contracts(tmp_path / "contracts.toml")
    for name, contract in declared.items():
        for key in {"root_packages", "source_modules", "forbidden_modules"} & contract.keys():
            value = contract[key]
            if "*" in value:
                assert "throw_away" in written[name][key], name
            elif value == ["servers/"]:
                assert written[name][key] == sorted(
                    name for name, shelf in packages.items() if shelf == "servers"
                )
            elif value != ["workbench/"]:
                assert written[name][key] == value
                # Who lists nearly all of them by hand will forget the next one.
                assert len(set(value) & set(packages)) < len(packages) / 2, name
    assert written[""]["root_packages"] == sorted(packages)
    (upper, lower) = written["Servers and workbench stand on the parts"]["layers"]
    assert "throw_away" in upper.split(" : ")
    assert "stream_text" in lower.split(" : ")
    (layers,) = (one["layers"] for one in declared.values() if "*" in one.get("layers", ()))
    names = [name for layer in layers for name in layer.split(" | ")]
    new = " | ".join(sorted({*packages} - {*names}))
    assert "throw_away" in new
    assert [new if layer == "*" else layer for layer in layers] in [
        one.get("layers") for one in written.values()
    ]


def test_what_a_contract_forbids_is_never_whom_it_is_about(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.importlinter]\nroot_packages = ["*"]\n[[tool.importlinter.contracts]]\nname = "it"\n'
        'type = "forbidden"\nsource_modules = ["a"]\nforbidden_modules = ["*", "-b"]\n',
        encoding="utf-8",
    )
    write_contracts(
        tmp_path / "pyproject.toml", dict.fromkeys("abcd", "packages"), tmp_path / "own.toml"
    )
    assert contracts(tmp_path / "own.toml")["it"]["forbidden_modules"] == ["c", "d"]

    with pytest.raises(ValueError, match=r"it: expected packages, got \['b'\]"):
        write_contracts(
            tmp_path / "pyproject.toml", dict.fromkeys("acd", "packages"), tmp_path / "own.toml"
        )
