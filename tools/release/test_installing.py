"""What the documents say of installing, tried line by line with the wheels of this checkout, which are built once."""

import re
import shlex
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from release import read_members


ROOT = Path(__file__).parents[2]
PACKAGES = {member.name: member for member in read_members(ROOT) if not member.is_plugin}
BUILD = "uv build --all-packages --wheel --out-dir dist"
COMMAND = re.compile(r"(?:^(?:\$ )?|`)((?:uv )?(?:pip install|add) [^`\n]*)", re.MULTILINE)
FROM_GIT = re.compile(r" @ git\+URL#subdirectory=")


def documented() -> list[str]:
    """Collect what documents tell their readers to type to get a package of ours, each line once."""
    documents = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("p*s/*/README.md")]
    found = [line for path in documents for line in COMMAND.findall(path.read_text("utf-8"))]
    return sorted({line for line in found if any(name in line for name in PACKAGES)})


def containers() -> Iterator[str]:
    """Iterate over what a container of ours is made with: of itself, and with the argument that a document gives it."""
    text = (ROOT / "packages/agent-server/Containerfile").read_text("utf-8")
    (line,) = re.findall(r"RUN (pip install .*?) &&", text)
    named = re.findall(r"ARG PACKAGE=(.*)", text)
    named += re.findall(r"PACKAGE='(.*?)'", (ROOT / "docs/operate.md").read_text("utf-8"))
    for name in named:
        yield line.replace("$PACKAGE", name).replace("/wheels", "dist")


def run(folder: Path, *command: str, given: str = "") -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command, cwd=folder, input=given, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose `dist` the documented line has filled."""
    folder = tmp_path_factory.mktemp("clone")
    for name in ("README.md", "docs/operate.md"):
        assert f"```bash\n{BUILD}\n" in (ROOT / name).read_text("utf-8")
    run(ROOT, *BUILD.replace("dist", str(folder / "dist")).split())
    return folder


@cache  # Documents name the same packages again, for pip and for uv.
def resolve(clone: Path, *requirements: str) -> dict[str, str]:
    """Return what an installer would take for these, each name with where it comes from."""
    options = ("--no-header", "--no-annotate", "--emit-index-annotation", "--find-links", "dist")
    command = ("uv", "pip", "compile", *options, "--python", sys.executable, "-")
    done = run(clone, *command, given="\n".join(requirements))
    assert "does not have an extra" not in done.stderr
    return dict(re.findall(r"^(\S+)==.*\n    # from (.*)$", done.stdout, re.MULTILINE))


def assert_from_the_clone(found: dict[str, str], *names: str) -> None:
    assert set(names) <= found.keys()
    assert {found[name].rpartition("/")[2] for name in found.keys() & PACKAGES.keys()} == {"dist"}


@pytest.mark.parametrize("line", [*documented(), *sorted(set(containers()))])
def test_a_documented_line_finds_all_that_it_needs(line: str, clone: Path) -> None:
    words = [FROM_GIT.split(word) for word in shlex.split(line) if not word.startswith("-")]
    asked = [word for word in words if Requirement(word[0]).name in PACKAGES]
    for name, *folder in asked:
        # pip knows nothing of a workspace, and no index has its packages.
        assert line.startswith("uv add") if folder else "--find-links dist" in line
        assert folder in ([], [PACKAGES[Requirement(name).name].folder.as_posix()])

    names = [name for name, *_ in asked]
    assert_from_the_clone(resolve(clone, *names), *(Requirement(name).name for name in names))


def test_a_container_is_made_of_the_wheels_that_were_built() -> None:
    text = (ROOT / "packages/agent-server/Containerfile").read_text("utf-8")
    assert "COPY dist/*.whl /wheels/" in text


def test_siblings_agree_about_versions(clone: Path) -> None:
    assert_from_the_clone(resolve(clone, *PACKAGES), *PACKAGES)


def test_every_wheel_holds_the_licence(clone: Path) -> None:
    for path in (clone / "dist").glob("*.whl"):
        with zipfile.ZipFile(path) as wheel:
            (held,) = (name for name in wheel.namelist() if name.endswith("/licenses/LICENSE"))
            assert wheel.read(held) == (ROOT / "LICENSE").read_bytes()
