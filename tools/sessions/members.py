"""The packages and plugins of the repository, found by looking, and what their pyproject.toml says."""

import tomllib
from pathlib import Path
from typing import Any


ROOT = Path(__file__).parents[2]


def find_members(root: Path = ROOT) -> dict[str, Path]:
    """Map the published name of each member of a workspace to its folder, relative to the root."""
    read = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    shelves = read["tool"]["uv"]["workspace"]["members"]
    found = [path for shelf in shelves for path in root.glob(f"{shelf}/pyproject.toml")]
    return {
        tomllib.loads(path.read_text(encoding="utf-8"))["project"]["name"]: path.parent.relative_to(
            root
        )
        for path in sorted(found)
    }


MEMBERS = find_members()
PLUGINS = {name: folder for name, folder in MEMBERS.items() if folder.parts[0] == "plugins"}
PACKAGES = {name: folder for name, folder in MEMBERS.items() if name not in PLUGINS}
IMPORT_NAMES: dict[str, str] = tomllib.loads(
    (ROOT / "tools" / "repository" / "distributions.toml").read_text(encoding="utf-8")
)["packages"]  # published name -> import name
SHELVES = {
    IMPORT_NAMES[name]: folder.parts[0] for name, folder in PACKAGES.items()
}  # import name -> the folder of the root that it lies in
PLUGIN_NAMES = {
    folder.name: name for name, folder in PLUGINS.items()
}  # Dify's name -> published name


def sources(folder: Path) -> list[str]:
    """List what is a member's own code: `src` of a package, everything but the tests of a plugin."""
    if (folder / "src").is_dir():
        return [str(folder / "src")]
    entries = sorted((ROOT / folder).iterdir())
    return [
        str(entry.relative_to(ROOT))
        for entry in entries
        if entry.suffix == ".py" or (entry.name != "tests" and any(entry.rglob("*.py")))
    ]


def siblings(package: str, *, for_tests: bool) -> list[str]:
    """List the packages of the workspace that a member needs, directly or not, to run and perhaps to be tested, with all its extras."""
    found: list[str] = []
    waiting = [package]
    while waiting:
        declared = pyproject(waiting.pop())
        needs = declared["project"].get("dependencies", [])
        if for_tests:
            needs = needs + declared["dependency-groups"]["test"]
            for extra in declared["project"].get("optional-dependencies", {}).values():
                needs = needs + extra
        names = [need.split(">=")[0].partition("[")[0] for need in needs]
        new = [name for name in names if name in PACKAGES and name not in (package, *found)]
        found += new
        waiting += new
    return found


def extras(package: str) -> str:
    """Write a package's extras as an installer takes them: `[server]`, or nothing."""
    names = ",".join(pyproject(package)["project"].get("optional-dependencies", {}))
    return f"[{names}]" if names else ""


def pyproject(package: str) -> dict[str, Any]:
    """Read a member's pyproject.toml."""
    return tomllib.loads((ROOT / MEMBERS[package] / "pyproject.toml").read_text(encoding="utf-8"))
