# /// script
# requires-python = ">=3.12"
# ///
"""Build the wheels of all packages into `dist`, and `constraints.txt`, which holds installers to them: `uv run tools/release/wheels.py`.

`uv run tools/release/wheels.py --sdist packages/NAME` builds what is published of one package, without constraints.

A package is built from a copy whose README stands on its own: on an index no relative link leads anywhere, nor does an
anchor of the page. Links lead to `repository` of `[tool.dify-plugins]` in the root pyproject.toml, which the owner
fills in; while it is empty they stay as they are.
"""

import argparse
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from urllib.parse import quote, unquote


ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from sessions.members import find_members  # noqa: E402 - from the folder above


_PICTURES = (".gif", ".jpg", ".png", ".svg")
# Code, which is left alone; or where a link of the page leads, unless that is an address.
_LINK = re.compile(
    r"(?P<code>^ *```.*?^ *```$|`[^`\n]*`)|(?P<before>\]\(|^\[[^\]\n]+\]: )(?![\w+.-]+:|//)(?P<path>[^)\s#]*)(?P<anchor>#[^)\s]*)?",
    re.MULTILINE | re.DOTALL,
)


def build(root: Path, out: Path, *folders: Path, sdist: bool = False) -> None:
    """Build packages as they would be published.

    Args:
        root: The root of the repository.
        out: The folder to build into.
        folders: The packages' folders, relative to the root.
        sdist: Whether to build the source distributions beside the wheels.

    Raises:
        subprocess.CalledProcessError: If uv, which says why, cannot build one.
    """
    repository = read_repository(root)
    with tempfile.TemporaryDirectory(prefix="wheels-") as scratch:
        shutil.copy(root / "pyproject.toml", scratch)
        for folder in folders:
            _copy(root, folder, Path(scratch, folder), repository)
        kinds = ("--wheel", "--sdist") if sdist else ("--wheel",)
        command = ("uv", "build", "--quiet", "--all-packages", "--no-sources", *kinds)
        place = ("--python", sys.executable, "--out-dir", str(out.resolve()))
        subprocess.run([*command, *place], cwd=scratch, check=True)


def read_repository(root: Path) -> str:
    """Read the URL of the repository, as its owner has filled it in; empty if nobody has."""
    text = (root / "pyproject.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)["tool"]["dify-plugins"]["repository"].rstrip("/")


def make_absolute(page: str, folder: Path, repository: str, root: Path = ROOT) -> str:
    """Return a README in a folder, relative to the root, with links that lead to the repository from anywhere."""

    def replace(link: re.Match[str]) -> str:
        if link["code"]:
            return link["code"]
        place = (root / folder / (unquote(link["path"]) or "README.md")).resolve()
        path = quote(place.relative_to(root.resolve()).as_posix())
        kind = "tree" if place.is_dir() else "raw" if place.suffix in _PICTURES else "blob"
        return f"{link['before']}{repository}/{kind}/HEAD/{path}{link['anchor'] or ''}"

    return _LINK.sub(replace, page)


def _copy(root: Path, folder: Path, target: Path, repository: str) -> None:
    """Copy what a package is built from, and write in what it says of the repository."""
    shutil.copytree(root / folder / "src", target / "src")
    for name in ("LICENSE", "README.md", "pyproject.toml"):
        shutil.copy(root / folder / name, target)
    if not repository:
        return
    readme, project = target / "README.md", target / "pyproject.toml"
    page = make_absolute(readme.read_text(encoding="utf-8"), folder, repository, root)
    readme.write_text(page.replace(" @ git+URL#", f" @ git+{repository}#"), encoding="utf-8")
    changes = f"{repository}/blob/HEAD/{folder}/CHANGELOG.md"
    source = f"{repository}/tree/HEAD/{folder}"
    with project.open("a", encoding="utf-8") as file:
        file.write(f'\n[project.urls]\nChangelog = "{changes}"\nSource = "{source}"\n')


def build_all(root: Path, out: Path) -> None:
    """Build all wheels, and the constraints by which an installer takes them whatever an index has of the same names."""
    folders = [path for path in find_members(root).values() if path.parts[0] != "plugins"]
    with tempfile.TemporaryDirectory(prefix="wheels-") as scratch:
        build(root, Path(scratch), *folders)
        out.mkdir(parents=True, exist_ok=True)
        built = [Path(shutil.copy(path, out)) for path in sorted(Path(scratch).glob("*.whl"))]
    lines = [
        f"{wheel.name.partition('-')[0].replace('_', '-')} @ {wheel.resolve().as_uri()}\n"
        for wheel in built
    ]
    (out / "constraints.txt").write_text("".join(lines), encoding="utf-8")


def _main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="*", type=Path, help="packages/NAME and the like (all)")
    parser.add_argument("--out-dir", type=Path, default=ROOT / "dist", help="(dist)")
    parser.add_argument("--sdist", action="store_true", help="source distributions as well")
    options = parser.parse_args()
    if options.folders:
        build(ROOT, options.out_dir, *options.folders, sdist=options.sdist)
        return
    build_all(ROOT, options.out_dir)
    constraints = options.out_dir / "constraints.txt"
    print(f"pip install -c {shlex.quote(str(constraints))} NAME  # pip 26.1 or later, or uv pip")  # noqa: T201 - the answer


if __name__ == "__main__":
    _main()
