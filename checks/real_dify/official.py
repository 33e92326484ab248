"""Packages as the official command line makes them."""

import shutil
import subprocess
from pathlib import Path

import yaml


def official_package(programs: Path, plugin: Path, into: Path, name: str | None = None) -> Path:
    """Pack a plugin's folder below `into`, under another name if one is given, and return the package."""
    folder = into / (name or plugin.name)
    shutil.copytree(plugin, folder, ignore=shutil.ignore_patterns("__pycache__", ".venv"))
    if name:
        manifest = folder / "manifest.yaml"
        values = yaml.safe_load(manifest.read_text(encoding="utf-8"))
        manifest.write_text(yaml.safe_dump({**values, "name": name}), encoding="utf-8")
    package = folder.with_suffix(".difypkg")
    pack = [programs / "commandline", "plugin", "package", folder, "-o", package]
    subprocess.run(pack, check=True, stdout=subprocess.DEVNULL)
    return package
