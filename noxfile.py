#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox>=2026.8.10"]
# ///
"""Every check of the repository, one session each.

`uv run nox` runs the default ones; `uv run nox -l` lists all; one package: `uv run nox -s "tests(gpt5-payloads)"`.
Packages and plugins are found by looking, so that a new one is covered the day it appears.
"""

import atexit
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import nox


ROOT = Path(__file__).parent
REPORT = ROOT / ".nox" / "report.json"
COVERAGE = ROOT / "repository" / "branch_coverage.py"

# Tests start hundreds of processes, and compiling what each of them imports costs more than most tests do.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# A shell that runs this in the background has it ignore Ctrl-C, and all that tests start would ignore it as well.
signal.signal(signal.SIGINT, signal.default_int_handler)
# Hypothesis builds its table of characters once here, and not once for each package.
os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(ROOT / ".nox" / "hypothesis"))

nox.needs_version = ">=2026.8.10"
nox.options.default_venv_backend = "uv"
# `_sync` leaves nothing in an environment that does not belong there.
nox.options.reuse_venv = "yes"
nox.options.report = str(REPORT)
nox.options.allow_parallel = True
# Two more than the cores of a small machine: sessions wait for processes and servers a third of their time.
nox.options.parallel = 4
nox.options.error_on_external_run = True
nox.options.error_on_missing_interpreters = True
nox.options.stop_on_first_error = False


def _members(folder: str) -> dict[str, Path]:
    """Map each member's published name to its folder, relative to the root."""
    return {
        tomllib.loads(path.read_text(encoding="utf-8"))["project"]["name"]: path.parent.relative_to(
            ROOT
        )
        for path in sorted(ROOT.glob(f"{folder}/*/pyproject.toml"))
    }


PACKAGES = _members("packages")
PLUGINS = _members("plugins")
MEMBERS = PACKAGES | PLUGINS
IMPORT_NAMES: dict[str, str] = tomllib.loads(
    (ROOT / "repository" / "distributions.toml").read_text(encoding="utf-8")
)["packages"]  # published name -> import name
# Sessions begin in the order in which they stand here: what takes a minute or more must not be the last.
_LONG = (
    "dify-plugin-host",
    "gpt5-agent-server",
    "gpt5-agent-runner",
    "dify-agent",
    "gpt5-responses",
)
_LONGEST_FIRST = sorted(PACKAGES, key=lambda name: name not in _LONG)
PLUGIN_NAMES = {
    folder.name: name for name, folder in PLUGINS.items()
}  # Dify's name -> published name


def _sync(session: nox.Session, *selection: str) -> None:
    """Fill the session's environment with what the lock says about `selection`, and nothing more.

    `uv pip check` then catches what the lock hides: inside a workspace uv ignores the version bounds between siblings.
    """
    python = f"--python={session.virtualenv.location}"
    env = {"UV_PROJECT_ENVIRONMENT": session.virtualenv.location}
    session.run_install(
        "uv",
        "sync",
        "--quiet",
        "--locked",
        "--exact",
        "--no-default-groups",
        *selection,
        python,
        env=env,
    )
    session.run_install("uv", "pip", "check", "--quiet", python, env=env)
    _share_bytecode(session)


@nox.session
def lint(session: nox.Session) -> None:
    """Check format, lint rules, every pyproject.toml and the lock."""
    _sync(session, "--only-group", "dev")
    session.run("ruff", "check", "--quiet")
    session.run("ruff", "format", "--check", "--quiet")
    session.run(
        "validate-pyproject",
        *(str(folder / "pyproject.toml") for folder in MEMBERS.values()),
        silent=True,
    )
    session.run("uv", "lock", "--check", "--quiet", external=True)


@nox.session
def types(session: nox.Session) -> None:
    """Type-check all members strictly, and what calls them as mypy sees it, too; `-- NAME` only that one."""
    _sync(session, "--all-packages", "--all-extras", "--group", "dev")
    members = [MEMBERS[name] for name in session.posargs or MEMBERS]
    paths = [path for folder in members for path in _sources(folder)]
    callers = [str(path) for folder in members for path in folder.glob("typing_tests/*.py")]
    python = f"{session.bin}/python"
    # Told where, it does not take the `.venv` beside it, which holds what `uv run nox` needs and no more.
    session.run("basedpyright", "--pythonpath", python, *paths, *callers)
    if callers:
        options = ("--strict", "--cache-dir", str(ROOT / ".nox" / "mypy"))
        session.run("mypy", *options, "--python-executable", python, *callers, silent=True)


@nox.session
def imports(session: nox.Session) -> None:
    """Hold who may import whom, and that whoever imports something declares it."""
    _sync(session, "--all-packages", "--all-extras", "--group", "dev")
    session.run("lint-imports", "--no-cache", silent=True)
    names = ",".join(f"{package}={module}" for package, module in IMPORT_NAMES.items())
    for folder in PACKAGES.values():
        with session.chdir(folder):
            session.run("deptry", "--package-module-name-map", names, "src", silent=True)


@nox.session
@nox.parametrize("name", list(PLUGIN_NAMES), ids=list(PLUGIN_NAMES))
def plugin(session: nox.Session, name: str) -> None:
    """Run a plugin's tests: the real plugin process, driven through the real protocol."""
    package = PLUGIN_NAMES[name]
    _sync(session, "--package", package, "--group", "test")
    with session.chdir(PLUGINS[package]):
        session.run("pytest", *session.posargs)


@nox.session
def chain(session: nox.Session) -> None:
    """Run agents through everything at once: dify-agent, `dify-host serve`, real plugins, the simulator."""
    _sync(session, "--all-packages", "--all-extras")
    session.install("pytest")
    paths = "pythonpath=chain packages/dify-plugin-host/tests/exchanges"
    session.run(
        *("pytest", "--import-mode=importlib", "-o", paths, "-W", "error", "chain"),
        *session.posargs,
    )


@nox.session
@nox.parametrize("package", _LONGEST_FIRST, ids=_LONGEST_FIRST)
def tests(session: nox.Session, package: str) -> None:
    """Run a package's tests, with branch coverage, where only what it declares is installed; `-- -k WORD` a few, without."""
    _sync(session, "--package", package, "--all-extras", "--group", "test")
    with session.chdir(PACKAGES[package]):
        if session.posargs:
            session.run("pytest", *session.posargs)
            return
        declared = _pyproject(package)["tool"]["pytest"].get("markers", [])
        markers = [line.split(":")[0] for line in declared]
        traced = " and ".join(f"not {marker}" for marker in markers)
        session.run("python", str(COVERAGE), "run", "-m", "pytest", "-m", traced)
        session.run("coverage", "report")
        if "untraced" in markers:
            session.run("pytest", "-m", traced.replace("not untraced", "untraced"))


@nox.session
def prices(session: nox.Session) -> None:
    """Compare the model plugin's prices with those that genai-prices has."""
    package = PLUGIN_NAMES["openai_gpt5_responses"]
    _sync(session, "--package", package, "--group", "prices")
    with session.chdir(PLUGINS[package]):
        session.run("python", "generate_models.py", "--prices")


_CHROMIUM = "chromium-headless-shell"


@nox.session(default=False)
def browser(session: nox.Session) -> None:
    """Try the page of runs in Chromium, which it installs where there is none; `-- --pictures` draws those of the READMEs anew."""
    _sync(session, "--all-packages", "--all-extras", "--group", "browser")
    if not (shutil.which(_CHROMIUM) or shutil.which("chromium")):
        root = () if os.geteuid() == 0 else ("sudo",)
        for step in (("update", "-qq"), ("install", "-qq", "--no-install-recommends", _CHROMIUM)):
            session.run_install(*root, "apt-get", *step, external=True, silent=True)
    session.run(
        *("pytest", "--import-mode=importlib", "-o", "pythonpath=browser", "-W", "error"),
        *("-n", "2", "--dist", "worksteal", "browser", *session.posargs),
    )


@nox.session(default=False)
def clients(session: nox.Session) -> None:
    """Hold conversations with openai-agents, Pydantic AI and langchain, each in an environment of its own, and go on with ours."""
    _sync(session, "--package", "gpt5-responses", "--group", "test")
    session.run("pytest", "--import-mode=importlib", "-W", "error", "clients", *session.posargs)


@nox.session(name="real-daemon", default=False)
def real_daemon(session: nox.Session) -> None:
    """Try both plugins on the real plugin daemon; `-- --daemon PROGRAMS` names the folder with its programs."""
    if "--daemon" not in session.posargs:
        session.error("expected -- --daemon PROGRAMS, the folder with the daemon's programs")
    _sync(session, "--all-packages", "--all-extras", "--group", "graphon")
    others = [f"--ignore={path}" for path in _WITHOUT_DAEMON]
    session.run(*_REAL_DIFY, "real_dify", *others, *session.posargs)


@nox.session
def graphon(session: nox.Session) -> None:
    """Try both plugins under Dify's own runtime; with `-- --daemon PROGRAMS` on the real plugin daemon as well."""
    _sync(session, "--all-packages", "--all-extras", "--group", "graphon")
    everything = "--daemon" in session.posargs
    tests = ["real_dify", "--graphon"] if everything else _WITHOUT_DAEMON
    session.run(*_REAL_DIFY, *tests, *session.posargs)


@nox.session(name="whole-dify", default=False)
def whole_dify(session: nox.Session) -> None:
    """Install both plugins in a running Dify and use them; `-- --dify URL --email EMAIL --password PASSWORD` says where it is."""
    _sync(session, "--all-packages", "--all-extras", "--group", "browser")
    session.run(
        *("pytest", "--import-mode=importlib", "-o", "pythonpath=whole_dify", "whole_dify"),
        *session.posargs,
    )


@nox.session(default=False)
@nox.parametrize("member", list(MEMBERS), ids=list(MEMBERS))
def long(session: nox.Session, member: str) -> None:
    """Run what is long by nature: the tests marked `long`, of which the others are the short form."""
    _sync(session, "--package", member, "--all-extras", "--group", "test")
    with session.chdir(MEMBERS[member]):
        session.run(
            "pytest", "-m", "long", *session.posargs, success_codes=[0, 5]
        )  # 5: it has none


@nox.session(default=False)
def postgresql(session: nox.Session) -> None:
    """Run the agent server's tests on PostgreSQL, in a cluster of their own; Debian's `postgresql` must be installed."""
    _run_agent_server(session, "-m", "postgresql and not long")


@nox.session(default=False)
def kills(session: nox.Session) -> None:
    """Kill agent servers sixty times each, one and two of them, on SQLite and on PostgreSQL; then try kills, outages, backups, upgrades and new keys on both commands."""
    if not session.posargs:
        _run_agent_server(session, "-m", "long", "-s", "tests/test_kills.py")
    _sync(session, "--all-packages", "--all-extras")
    session.install("psutil", "pytest")
    paths = "pythonpath=durability packages/agent-server/tests"
    session.run(
        *("pytest", "--import-mode=importlib", "-W", "error", "-o", paths, "-s"),
        *("durability", *session.posargs),
    )


@nox.session(default=False)
def schemathesis(session: nox.Session) -> None:
    """Ask an agent server whatever its OpenAPI description allows and forbids, and compare its answers with that; `-- -s` shows what was tried."""
    _sync(session, "--package", "gpt5-agent-server", "--all-extras", "--group", "test")
    session.install("schemathesis")
    with session.chdir(MEMBERS["gpt5-agent-server"]):
        session.run("pytest", "-m", "schemathesis", "tests/test_schemathesis.py", *session.posargs)


def _run_agent_server(session: nox.Session, *arguments: str) -> None:
    name = "gpt5-agent-server"
    _sync(session, "--package", name, "--all-extras", "--group", "test")
    with session.chdir(MEMBERS[name]):
        session.run("pytest", *arguments, *session.posargs)


@nox.session(default=False, reuse_venv=False)
@nox.parametrize("package", list(PACKAGES), ids=list(PACKAGES))
def lowest(session: nox.Session, package: str) -> None:
    """Run a package's tests with the lowest versions that it says it takes, siblings included."""
    folder = PACKAGES[package]
    # Inside the workspace uv would take the siblings from the tree whatever the bounds say: hence wheels, and no sources.
    session.install(
        *("--no-sources", "--resolution", "lowest-direct", f"./{folder}{_extras(package)}"),
        *("--group", f"{folder}/pyproject.toml:test"),
        *_build_wheels(session, *_siblings(package, for_tests=True)),
    )
    with session.chdir(folder):
        session.run("pytest", *session.posargs)


@nox.session(default=False, reuse_venv=False)
@nox.parametrize("package", list(PACKAGES), ids=list(PACKAGES))
def wheel(session: nox.Session, package: str) -> None:
    """Build a package, check its archives, install the wheel without any index, import it alone and run its README's examples."""
    built = session.create_tmp() + "/built"
    session.run(
        *("uv", "build", "--quiet", "--package", package, "--no-sources", "-o", built),
        external=True,
    )
    archives = sorted(str(path) for path in Path(built).glob("*-*"))
    session.run(
        *("uvx", "--quiet", "twine", "check", "--strict", *archives), external=True, silent=True
    )
    [wheel_file] = [path for path in archives if path.endswith(".whl")]
    session.run("uvx", "--quiet", "check-wheel-contents", wheel_file, external=True, silent=True)
    _install_without_index(session, package, wheel_file)
    with session.chdir(session.create_tmp()):
        version = _pyproject(package)["project"]["version"]
        session.run("python", "-I", "-c", _IMPORT_ALONE, package, IMPORT_NAMES[package], version)
        _run_readme(session, package)


@nox.session(default=False)
@nox.parametrize("package", list(PACKAGES), ids=list(PACKAGES))
def api(session: nox.Session, package: str) -> None:
    """Compare a package's public names with its last release: fails on a break."""
    tags = session.run(
        "git", "tag", "--sort=-v:refname", "--list", f"{package}-v*", external=True, silent=True
    )
    last = str(tags).split()
    if not last:
        session.skip(f"{package} has not been released yet")
    session.install("griffe")
    source = str(PACKAGES[package] / "src")
    session.run("griffe", "check", IMPORT_NAMES[package], "--search", source, "--against", last[0])


@nox.session(default=False)
@nox.parametrize("member", list(MEMBERS), ids=list(MEMBERS))
def release(session: nox.Session, member: str) -> None:
    """Check, bump, tag and build a release: `-- patch|minor|major|current [--dry-run]`. Publishes nothing."""
    session.install("packaging", "pyyaml")
    session.run("python", "release/release.py", str(MEMBERS[member]), *session.posargs)


@nox.session
def release_tests(session: nox.Session) -> None:
    """Test the release itself, on a clone of the repository, and what documents say of installing, with the wheels of all packages."""
    session.install("packaging", "pytest", "pyyaml")
    session.run("pytest", "-o", "pythonpath=release", "release", *session.posargs)


@nox.session
def repository(session: nox.Session) -> None:
    """Hold what no member can: the names of all distributions, links, and where each `Source:` leads."""
    session.install("coverage", "packaging", "pytest", "pyyaml")
    session.run("pytest", "repository", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """Write the reference of all packages to `build/reference`; fails where a public name is not described or a link leads nowhere."""
    _sync(session, "--all-packages", "--all-extras", "--group", "docs")
    session.run("pytest", "-o", "pythonpath=docs/reference", "--quiet", "docs/reference")
    session.run("python", "docs/reference/build.py", "build/reference")


@nox.session(default=False)
def author(session: nox.Session) -> None:
    """Name the plugins' author of the root pyproject.toml wherever another one stands."""
    session.run("python", "repository/author.py")


@nox.session(default=False)
def bench(session: nox.Session) -> None:
    """Measure the plugins; `-- --official PATH` measures the official ones of that checkout beside them."""
    _sync(session, "--all-packages", "--all-extras", "--group", "browser")
    session.run("python", "-m", "benchmarks", *session.posargs)


@nox.session(name="tool-search", default=False)
def tool_search(session: nox.Session) -> None:
    """Measure how well a model finds a tool among many, on the data of the package bfcl-eval."""
    _sync(session, "--package", "gpt5-agent-driver")
    session.install("--no-deps", "bfcl-eval")
    session.run("python", "-m", "benchmarks.tool_search")


@nox.session
def fuzz(session: nox.Session) -> None:
    """Try what holds for any input; `-- --minutes 120` goes on for that long, with other cases, and processes too."""
    _sync(session, "--all-packages", "--all-extras")
    session.install("hypothesis", "openai", "pytest")
    session.run("python", "-m", "fuzz", *session.posargs)


@nox.session(default=False)
def pictures(session: nox.Session) -> None:
    """Draw the pictures of runs in the README anew, from what `dify-host chat` prints."""
    _sync(session, "--all-packages")
    session.run("python", "docs/pictures/draw.py")


@nox.session(default=False)
def catalog(session: nox.Session) -> None:
    """Write the model files of openai_gpt5_responses anew from its catalog.yaml."""
    name = PLUGIN_NAMES["openai_gpt5_responses"]
    _sync(session, "--package", name)
    with session.chdir(PLUGINS[name]):
        session.run("python", "generate_models.py", *session.posargs)


def _share_bytecode(session: nox.Session) -> None:
    """Bring what other sessions have compiled of the same files, and leave what this one compiles to the next.

    uv links the same files into each environment, and to compile them anew in each takes seconds.
    Python itself leaves bytecode aside whose source has another time or size.
    """
    lock = hashlib.sha256((ROOT / "uv.lock").read_bytes()).hexdigest()
    shared = ROOT / ".nox" / "bytecode" / lock[:16]
    (own,) = Path(session.virtualenv.location).glob("lib/python*/site-packages")
    # Only where the package is: a folder of its name alone would be a package to Python.
    _link_bytecode(shared, own, lambda folder: folder.parent.is_dir())
    atexit.register(_link_bytecode, own, shared, lambda _: True)


def _link_bytecode(source: Path, target: Path, is_wanted: Callable[[Path], bool]) -> None:
    """Link the bytecode of each `__pycache__` below `source` to its place below `target`, and replace none."""
    for folder in source.rglob("__pycache__"):
        place = target / folder.relative_to(source)
        if is_wanted(place):
            place.mkdir(parents=True, exist_ok=True)
            for path in folder.glob("*.pyc"):
                with suppress(FileExistsError):
                    (place / path.name).hardlink_to(path)


def _sources(folder: Path) -> list[str]:
    """List what is a member's own code: `src` of a package, everything but the tests of a plugin."""
    if (folder / "src").is_dir():
        return [str(folder / "src")]
    entries = sorted((ROOT / folder).iterdir())
    return [
        str(entry.relative_to(ROOT))
        for entry in entries
        if entry.suffix == ".py" or (entry.name != "tests" and any(entry.rglob("*.py")))
    ]


def _build_wheels(session: nox.Session, *packages: str) -> list[str]:
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


def _install_without_index(session: nox.Session, package: str, wheel_file: str) -> None:
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
    wheels = _build_wheels(session, *_siblings(package, for_tests=False))
    session.install("--no-index", "--find-links", third, wheel_file, *wheels)


def _run_readme(session: nox.Session, package: str) -> None:
    """Run the examples of a package's README in a folder that holds a plugin, and with a simulator where they ask a server."""
    readme = ROOT / PACKAGES[package] / "README.md"
    plugins = ROOT / "packages/dify-plugin-host/tests/plugins"
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


def _siblings(package: str, *, for_tests: bool) -> list[str]:
    """List the packages of the workspace that a package needs, directly or not, to run and perhaps to be tested."""
    found: list[str] = []
    waiting = [package]
    while waiting:
        pyproject = _pyproject(waiting.pop())
        needs = pyproject["project"].get("dependencies", [])
        if for_tests:
            needs = needs + pyproject["dependency-groups"]["test"]
        names = [need.split(">=")[0].partition("[")[0] for need in needs]
        new = [name for name in names if name in PACKAGES and name not in (package, *found)]
        found += new
        waiting += new
    return found


def _extras(package: str) -> str:
    """Write a package's extras as an installer takes them: `[server]`, or nothing."""
    names = ",".join(_pyproject(package)["project"].get("optional-dependencies", {}))
    return f"[{names}]" if names else ""


def _pyproject(package: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / PACKAGES[package] / "pyproject.toml").read_text(encoding="utf-8"))


def _print_times() -> None:
    """Print how long each session took, the slowest first."""
    results = json.loads(REPORT.read_text(encoding="utf-8"))["sessions"]
    for result in sorted(results, key=lambda result: -result["duration"]):
        print(f"{result['duration']:7.1f} s  {result['signatures'][-1]}")  # noqa: T201 - what it is for


if "--parallel-worker" not in sys.argv:  # a process of nox's own for one session
    REPORT.unlink(missing_ok=True)
    atexit.register(lambda: _print_times() if REPORT.exists() else None)


_WITHOUT_DAEMON = ["real_dify/test_graphon.py", "real_dify/test_examples.py"]
_REAL_DIFY = ("pytest", "--import-mode=importlib", "-o", "pythonpath=real_dify")

# Run with the package's name, the module's and the version, in isolated mode.
_IMPORT_ALONE = """
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
