"""The packages as wheels, as they would be published: built, installed without an index, their READMEs' examples run."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import nox

from .members import PACKAGES, ROOT, siblings


def build_wheels(session: nox.Session, *packages: str) -> list[str]:
    """Build the packages' wheels as they would be published, and return their paths.

    They are installed by path: by name, an index could offer somebody else's package instead of ours.
    """
    # Not `create_tmp`, which would move the tests' own temporary files into the repository.
    folder = Path(session.virtualenv.location) / "wheels"
    for package in packages:
        session.run(
            *("uv", "build", "--quiet", "--wheel", "--package", package, "--no-sources"),
            *("-o", str(folder)),
            external=True,
        )
    return sorted(map(str, folder.glob("*.whl")))


def install_without_index(session: nox.Session, package: str, wheel_file: str) -> None:
    """Install a wheel beside those that it needs: its siblings', built here, and third parties', brought first."""
    needed, third = session.create_tmp() + "/needed.txt", session.create_tmp() + "/third"
    session.run(
        *("uv", "export", "--quiet", "--locked", "--package", package, "--no-default-groups"),
        *("--no-emit-workspace", "--no-hashes", "-o", needed),
        external=True,
        silent=True,
    )
    session.run(
        *("uv", "run", "--quiet", "--isolated", "--no-project", "--with", "pip", "python", "-m"),
        *("pip", "download", "--quiet", "--only-binary=:all:", "--dest", third, "-r", needed),
        external=True,
    )
    wheels = build_wheels(session, *siblings(package, for_tests=False))
    session.install("--no-index", "--find-links", third, wheel_file, *wheels)


def run_readme(session: nox.Session, package: str) -> None:
    """Run the examples of a package's README in a folder that holds a plugin, and with a simulator where they ask a server."""
    readme = ROOT / PACKAGES[package] / "README.md"
    plugins = ROOT / "workbench/dify-plugin-host/tests/plugins"
    if not Path("plugin").exists():
        shutil.copytree(plugins / "echo_model", "plugin")
        shutil.copy(plugins / "wire.py", "plugin")
    with (
        _simulator(session)
        if "os.environ[" in readme.read_text(encoding="utf-8")
        else nullcontext({}) as variables
    ):
        session.run("python", "-I", "-c", _RUN_README, str(readme), env=variables)


@contextmanager
def _simulator(session: nox.Session) -> Iterator[dict[str, str]]:
    """Run the simulator, from an environment of its own, and give out the variables that name it."""
    command = (
        "uv",
        "run",
        "--quiet",
        "--package",
        "gpt5-simulator",
        "--no-default-groups",
        "gpt5-simulator",
    )
    place = str(Path(session.virtualenv.location) / "simulator")
    with subprocess.Popen(  # noqa: S603 - our own command
        command,
        cwd=ROOT,
        env={**os.environ, "UV_PROJECT_ENVIRONMENT": place},
        stdout=subprocess.PIPE,
        text=True,
    ) as simulator:
        try:
            url = simulator.stdout.readline().strip() if simulator.stdout else ""
            yield {"OPENAI_API_KEY": "sk-simulator-any-key", "OPENAI_BASE_URL": url}
        finally:
            simulator.terminate()


# Run with the package's name, the module's and the version, in isolated mode.
IMPORT_ALONE = """
import importlib, importlib.metadata, importlib.resources, sys
package, module, version = sys.argv[1:]
importlib.import_module(module)
assert importlib.metadata.version(package) == version
assert importlib.resources.files(module).joinpath("py.typed").is_file()
"""

# Run with the path of a README, in isolated mode.
_RUN_README = r"""
import pathlib, re, sys
text = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")
blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
assert blocks
for block in blocks:
    exec(compile(block, sys.argv[1], "exec"), {"__name__": "example"})
"""
