#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox>=2026.8.10"]
# ///
"""Every check of the repository, one session each.

`uv run nox` runs the default ones; `uv run nox -l` lists all; one package: `uv run nox -s "tests(gpt5-payloads)"`.
Packages and plugins are found by looking, so that a new one is covered the day it appears.
"""

import atexit
import os
import shutil
import signal
import sys
from functools import partial
from itertools import chain as join
from pathlib import Path

import nox


ROOT = Path(__file__).parent
sys.path.insert(0, str(ROOT / "tools"))

from sessions import cache, cpu, reference  # noqa: E402 - from the folder above
from sessions.checked import find_unchecked  # noqa: E402
from sessions.contracts import write_contracts  # noqa: E402
from sessions.environments import sync  # noqa: E402
from sessions.members import (  # noqa: E402
    IMPORT_NAMES,
    MEMBERS,
    PACKAGES,
    PLUGIN_NAMES,
    PLUGINS,
    SHELVES,
    extras,
    pyproject,
    siblings,
    sources,
)
from sessions.wheels import (  # noqa: E402
    IMPORT_ALONE,
    build_wheels,
    install_without_index,
    run_readme,
)


REPORT = ROOT / ".nox" / "report.json"
CPU = ROOT / ".nox" / "cpu"
PROGRAMS = str(ROOT / ".nox" / "programs")
PYTEST = ("python", "-P", str(ROOT / "tools" / "sessions" / "run_pytest.py"))

# `.ci/run` sets it, so that no test has to run once for itself and once for its coverage.
_MEASURES = "MEASURE_COVERAGE" in os.environ
# Tests start hundreds of processes, and compiling what each of them imports costs more than most tests do.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Sessions and tests read what programs print, and would read its colours. Of a hook of git, theirs would be the hook's repository.
for _name in ("CLICOLOR_FORCE", "FORCE_COLOR", "GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
    os.environ.pop(_name, None)
# A shell that runs this in the background has it ignore Ctrl-C, and all that tests start would ignore it as well.
signal.signal(signal.SIGINT, signal.default_int_handler)
# Hypothesis builds its table of characters once here, and not once for each package.
os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(ROOT / ".nox" / "hypothesis"))

nox.needs_version = ">=2026.8.10"
nox.options.default_venv_backend = "uv"
# `sync` leaves nothing in an environment that does not belong there.
nox.options.reuse_venv = "yes"
nox.options.report = str(REPORT)
nox.options.allow_parallel = True
# Two more than the cores of a small machine: sessions wait for processes and servers a third of their time. With three more
# the same tests took a fifth more CPU, and the suite no less time.
nox.options.parallel = 4
nox.options.error_on_external_run = True
nox.options.error_on_missing_interpreters = True
nox.options.stop_on_first_error = False

# Sessions begin in the order in which they stand here: what takes a minute or more must not be the last.
_LONG = (
    "dify-agent",
    "dify-plugin-host",
    "dify-plugin-packager",
    "gpt5-agent-driver",
    "gpt5-agent-runner",
    "gpt5-agent-server",
    "gpt5-agent-temporal",
    "gpt5-responses",
)
_LONGEST_FIRST = sorted(PACKAGES, key=lambda name: name not in _LONG)


@nox.session
def lint(session: nox.Session) -> None:
    """Check format, lint rules, every pyproject.toml and the lock."""
    sync(session, "--only-group", "dev")
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
    """Type-check all members, their callers, and the programs of all pages and examples, strictly.

    `-- NAME` checks only that member.
    """
    sync(session, "--all-packages", "--all-extras", "--group", "dev")
    python = f"{session.bin}/python"
    chosen = {name: MEMBERS[name] for name in session.posargs or MEMBERS}
    callers = {
        name: [str(path) for path in folder.glob("typing_tests/*.py")]
        for name, folder in chosen.items()
    }
    files = {name: [*sources(folder), *callers[name]] for name, folder in chosen.items()}
    # What pages and examples show has to be right as well, at least where it is a whole program.
    told = session.run("python", "tools/repository/programs.py", PROGRAMS, silent=True)
    examples = [str(path) for path in sorted((ROOT / "examples").rglob("*.py"))]
    programs = [] if session.posargs else [*str(told).splitlines(), *examples]
    files["programs"] = programs
    unchecked = find_unchecked(files)
    if paths := [path for name in unchecked for path in files[name]]:
        # Told where, it does not take the `.venv` beside it, which holds what `uv run nox` needs and no more.
        session.run("basedpyright", "--pythonpath", python, *paths)
        for note in unchecked.values():
            note.touch()
    if called := [*join.from_iterable(callers.values()), *programs]:
        # mypy knows by itself what has changed.
        own, shared = ROOT / ".nox" / "mypy", cache.FOLDER / "mypy" / "cache"
        cache.bring(shared, own)
        options = ("--strict", "--cache-dir", str(own), "--python-executable", python)
        session.run("mypy", *options, *called, silent=True)
        cache.keep(own, shared)


@nox.session
def imports(session: nox.Session) -> None:
    """Hold who may import whom, that whoever imports something declares it, and that all siblings take each other's versions."""
    sync(session, "--all-packages", "--all-extras", "--group", "dev")
    # Which the lock does not show: inside a workspace uv ignores the version bounds between siblings.
    place = f"--python={session.virtualenv.location}"
    session.run("uv", "pip", "check", "--quiet", place, external=True)
    contracts = ROOT / ".nox" / "contracts.toml"
    write_contracts(ROOT / "pyproject.toml", SHELVES, contracts)
    session.run("lint-imports", "--no-cache", "--config", str(contracts), silent=True)
    names = ",".join(f"{package}={module}" for package, module in IMPORT_NAMES.items())
    session.run(
        *("python", "-P", "tools/sessions/run_deptry.py", names, *map(str, PACKAGES.values())),
        silent=True,
    )


@nox.session
@nox.parametrize("name", list(PLUGIN_NAMES), ids=list(PLUGIN_NAMES))
def plugin(session: nox.Session, name: str) -> None:
    """Run a plugin's tests: the real plugin process, driven through the real protocol."""
    package = PLUGIN_NAMES[name]
    sync(session, "--package", package, "--group", "test")
    with session.chdir(PLUGINS[package]):
        session.run(*PYTEST, *session.posargs)


@nox.session
def chain(session: nox.Session) -> None:
    """Run agents through everything at once: dify-agent, `dify-host serve`, real plugins, the simulator.

    Our packages also go through the table of what may go wrong.
    """
    # With the first of the others Pydantic AI speaks the Responses API.
    sync(session, "--all-packages", "--all-extras", also="openai pytest")
    paths = "checks checks/chain checks/compatible workbench/dify-plugin-host/tests/exchanges tools"
    session.run(
        *(*PYTEST, "--import-mode=importlib", "-o", f"pythonpath={paths}", "-W", "error"),
        *("checks/chain", "checks/harness", *session.posargs),
    )


@nox.session
def docs(session: nox.Session) -> None:
    """Write the reference of all packages to `build/reference`, or take that of the same sources.

    It fails if a public name is not described or a link leads nowhere.
    """
    sync(session, "--all-packages", "--all-extras", "--group", "docs")
    session.run(*PYTEST, "-o", "pythonpath=docs/reference", "--quiet", "docs/reference")
    folder, place = ROOT / "build" / "reference", reference.find_place()
    if not reference.bring(place, folder):
        session.run("python", "docs/reference/build.py", str(folder))
        reference.keep(folder, place)


@nox.session
def release_tests(session: nox.Session) -> None:
    """Test the release itself, on a clone of the repository, and what documents say of installing, with the wheels of all packages."""
    session.install("packaging", "pip>=26.1", "pytest", "pyyaml")
    cache.share_bytecode(Path(session.virtualenv.location))
    session.run(*PYTEST, "-o", "pythonpath=tools tools/release", "tools/release", *session.posargs)


@nox.session
def graphon(session: nox.Session) -> None:
    """Try both plugins under Dify's own runtime; with `-- --daemon PROGRAMS` on the real plugin daemon as well."""
    sync(session, "--all-packages", "--all-extras", "--group", "graphon")
    everything = "--daemon" in session.posargs
    tests = ["checks/real_dify", "--graphon"] if everything else _WITHOUT_DAEMON
    session.run(*_REAL_DIFY, *tests, *session.posargs)


@nox.session
@nox.parametrize("package", _LONGEST_FIRST, ids=_LONGEST_FIRST)
def tests(session: nox.Session, package: str) -> None:
    """Run a package's tests where only what it declares is installed; `-- -k WORD` a few."""
    sync(session, "--package", package, "--all-extras", "--group", "test")
    with session.chdir(PACKAGES[package]):
        if not _MEASURES:
            session.run(*PYTEST, *session.posargs)
            return
        _hold_coverage(session, package)
        traced = _traced(package)
        if "untraced" in traced:
            # All else that runs here otherwise.
            _, _, usual = " ".join(pyproject(package)["tool"]["pytest"]["addopts"]).partition("-m ")
            session.run(*PYTEST, "-m", " and ".join(filter(None, (f"not ({traced})", usual))))


def _tests_of(shelf: str) -> list[str]:
    return [f"tests({name})" for name in _LONGEST_FIRST if PACKAGES[name].parts[0] == shelf]


@nox.session(default=False, venv_backend="none", requires=_tests_of("packages"))
def parts(_: nox.Session) -> None:
    """Run the tests of `packages/`, each package's as `tests(NAME)` does."""


@nox.session(default=False, venv_backend="none", requires=_tests_of("servers"))
def servers(_: nox.Session) -> None:
    """Run the tests of `servers/`, each package's as `tests(NAME)` does."""


@nox.session(default=False, venv_backend="none", requires=_tests_of("workbench"))
def workbench(_: nox.Session) -> None:
    """Run the tests of `workbench/`, each package's as `tests(NAME)` does."""


@nox.session(default=False, venv_backend="none")
@nox.parametrize("package", _LONGEST_FIRST, ids=_LONGEST_FIRST)
def coverage(session: nox.Session, package: str) -> None:
    """Hold that a package's tests take every branch of it, in the environment of `tests`."""
    place = ROOT / ".nox" / f"tests-{package}"
    sync(session, "--package", package, "--all-extras", "--group", "test", place=place)
    with session.chdir(PACKAGES[package]):
        _hold_coverage(session, package, python=str(place / "bin" / "python"))


def _hold_coverage(session: nox.Session, package: str, *, python: str = "python") -> None:
    run = partial(session.run, python, "-P", "-m", "coverage", external=python != "python")
    run("run", PYTEST[-1], "-q", "-m", _traced(package))
    run("report")


def _traced(package: str) -> str:
    """Return which tests coverage is measured by."""
    declared = pyproject(package)["tool"]["pytest"].get("markers", [])
    return " and ".join(f"not {line.partition(':')[0]}" for line in declared)


@nox.session
def prices(session: nox.Session) -> None:
    """Compare the prices of gpt5-prices with those that genai-prices has."""
    sync(session, "--package", "gpt5-prices", "--group", "prices")
    session.run("python", "checks/prices/compare.py")


_CHROMIUM = "chromium-headless-shell"


@nox.session(default=False)
def browser(session: nox.Session) -> None:
    """Try the run page and the chat page in Chromium, which it installs if there is none.

    `-- --pictures` draws the pictures of the READMEs anew.
    """
    sync(session, "--all-packages", "--all-extras", "--group", "browser")
    if not (shutil.which(_CHROMIUM) or shutil.which("chromium")):
        root = () if os.geteuid() == 0 else ("sudo",)
        for step in (("update", "-qq"), ("install", "-qq", "--no-install-recommends", _CHROMIUM)):
            session.run_install(*root, "apt-get", *step, external=True, silent=True)
    session.run(
        *("pytest", "--import-mode=importlib", "-o", "pythonpath=checks/browser", "-W", "error"),
        *("-n", "2", "--dist", "worksteal", "checks/browser", *session.posargs),
    )


@nox.session(default=False)
def clients(session: nox.Session) -> None:
    """Hold conversations with openai-agents, Pydantic AI and langchain, each in an environment of its own, and go on with ours."""
    sync(session, "--package", "gpt5-responses", "--group", "test")
    session.run(
        "pytest", "--import-mode=importlib", "-W", "error", "checks/clients", *session.posargs
    )


@nox.session(name="dify-backend", default=False)
def dify_backend(session: nox.Session) -> None:
    """Have the versions of Pydantic AI that Dify has had read what `dify-agent serve` sends.

    `-- --checkout DIFY` tries Dify's own client, too.
    """
    sync(session, "--package", "dify-agent", "--all-extras", also="pytest")
    paths = "pythonpath=checks/dify_backend checks/durability"
    session.run(
        *("pytest", "--import-mode=importlib", "-W", "error", "-o", paths, "checks/dify_backend"),
        *session.posargs,
    )


_FACES = (
    *("agent-framework-openai>=1.17", "inspect-ai>=0.3.285", "langchain-openai>=1.7"),
    *("litellm>=1.110", "openai>=3.57", "openai-agents>=0.24"),
    *("pydantic-ai-slim[openai]>=2.68", "pytest>=9.0"),
)
_JAVASCRIPT_FACES = (
    *("ai@7", "@ai-sdk/openai@4", "ai-6@npm:ai@6", "ai-6-openai@npm:@ai-sdk/openai@3"),
    # Open Responses is written for zod 3.
    *("@openai/agents@0.20", "openai@>=7.59", "tsx@>=4", "ws@8", "zod@4", "zod-3@npm:zod@3"),
)


@nox.session(default=False)
def faces(session: nox.Session) -> None:
    """Try served agents with the clients that people have; `-- --open-responses CHECKOUT` runs the compliance tests of Open Responses too.

    Needs `npm`.
    """
    sync(session, "--all-packages", "--all-extras")
    session.install(*_FACES)
    place = Path(session.create_tmp())
    npm = ("npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix", str(place))
    session.run_install(*npm, "node@>=22", external=True)
    # With it npm itself runs, which else takes an older client for the machine's own node.
    path = os.pathsep.join((str(place / "node_modules/.bin"), os.environ["PATH"]))
    session.run_install(*npm, *_JAVASCRIPT_FACES, external=True, env={"PATH": path})
    session.run(
        *("pytest", "--import-mode=importlib", "-W", "error", "-W", "ignore::ResourceWarning"),
        *("-o", "pythonpath=checks/faces", "-o", "anyio_mode=auto", "checks/faces"),
        *("--packages", str(place / "node_modules"), *session.posargs),
    )


@nox.session(default=False)
def compatible(session: nox.Session) -> None:
    """Hold conversations through common gateways, and ask servers' own classes about our requests.

    All have environments of their own (2 GB); `-- --ollama PROGRAM --llama-converter PROGRAM` tries these, too.
    """
    sync(session, "--all-packages", "--all-extras", also="anyio pytest")
    place = Path(session.create_tmp())
    for listed in sorted(Path("checks/compatible/environments").glob("*.txt")):
        # Of what stands in `NAME-alone` nothing that it depends on: that would be another 10 GB.
        name, _, is_alone = listed.stem.partition("-")
        if not (place / name).exists():
            session.run_install(
                "uv", "venv", "-q", "--python", "3.12", str(place / name), external=True
            )
        alone = ("--no-deps",) if is_alone else ()
        into = ("--python", str(place / name), *alone, "-r", str(listed))
        session.run_install("uv", "pip", "install", "-q", *into, external=True)
    session.run(
        *("pytest", "--import-mode=importlib", "-W", "error", "-o", "anyio_mode=auto"),
        *("-o", "pythonpath=checks/compatible", "checks/compatible"),
        *("--environments", str(place), *session.posargs),
    )


@nox.session(name="real-daemon", default=False)
def real_daemon(session: nox.Session) -> None:
    """Try both plugins on the real plugin daemon; `-- --daemon PROGRAMS` names the folder with its programs."""
    if "--daemon" not in session.posargs:
        session.error("expected -- --daemon PROGRAMS, the folder with the daemon's programs")
    sync(session, "--all-packages", "--all-extras", "--group", "graphon")
    others = [f"--ignore={path}" for path in _WITHOUT_DAEMON]
    session.run(*_REAL_DIFY, "checks/real_dify", *others, *session.posargs)


@nox.session(name="whole-dify", default=False)
def whole_dify(session: nox.Session) -> None:
    """Install both plugins in a running Dify and use them; `-- --dify URL --email EMAIL --password PASSWORD` says where it is."""
    sync(session, "--all-packages", "--all-extras", "--group", "browser")
    session.run(
        *(
            "pytest",
            "--import-mode=importlib",
            "-o",
            "pythonpath=checks/whole_dify",
            "checks/whole_dify",
        ),
        *session.posargs,
    )


@nox.session(default=False)
@nox.parametrize("member", list(MEMBERS), ids=list(MEMBERS))
def long(session: nox.Session, member: str) -> None:
    """Run what is long by nature: the tests marked `long`, of which the others are the short form."""
    sync(session, "--package", member, "--all-extras", "--group", "test")
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
    """Kill agent servers sixty times each, alone and in pairs, on SQLite and PostgreSQL.

    Then try kills, outages, backups, upgrades and new keys on both commands.
    """
    if not session.posargs:
        _run_agent_server(session, "-m", "long", "-s", "tests/test_kills.py")
    sync(session, "--all-packages", "--all-extras", also="psutil pytest")
    paths = "pythonpath=checks/durability servers/agent-server/tests servers/agent-endpoint/tests"
    session.run(
        *("pytest", "--import-mode=importlib", "-W", "error", "-o", paths, "-s"),
        *("checks/durability", *session.posargs),
    )


_TEMPORAL = "go.temporal.io/server/cmd/server@v1.32.1"
# What tries routes, waiting and conversations; the rest does not touch what executes runs.
_ON_TEMPORAL = {
    "gpt5-agent-server": (
        *("tests/test_engine.py", "tests/test_execution.py", "tests/test_http_events.py"),
        *("tests/test_http_runs.py", "tests/test_http_waiting.py", "tests/test_responses.py"),
        "tests/test_waiting.py",
        # Temporal remembers for minutes who has polled a queue.
        "--deselect=tests/test_waiting.py::test_a_version_that_cannot_go_on_ends_a_waiting_run_at_its_start",
    ),
    "gpt5-agent-endpoint": (
        *("tests/test_runs.py", "tests/test_responses.py"),
        # Refused: the steps of a run are made in many processes.
        "--deselect=tests/test_runs.py::test_each_attempt_has_a_log_if_there_is_a_folder_for_it",
    ),
    "gpt5-agent-runner": ("tests/server",),
    "dify-agent": (
        "tests/test_dify_routes.py",
        "tests/test_durable_runs.py",
        "tests/test_waiting.py",
    ),
}


@nox.session(default=False)
def temporal(session: nox.Session) -> None:
    """Try agents and servers on Temporal's own server: long runs, kills, versions, and the route tests of all servers.

    The server is built from its Go module, which needs `go`.
    """
    sync(session, "--all-packages", "--all-extras")
    session.install("anyio", "hypothesis", "openai", "psutil", "pytest", "standardwebhooks")
    folder = ROOT / ".nox" / "temporal-server"
    if not (program := folder / "server").exists():
        session.run("go", "install", _TEMPORAL, external=True, env={"GOBIN": str(folder)})
    there = {"TEMPORAL_SERVER": str(program)}
    paths = "pythonpath=checks/temporal servers/agent-endpoint/tests"
    session.run(
        *("pytest", "--import-mode=importlib", "-W", "error", "-o", paths, "-s"),
        *("-o", "anyio_mode=auto", "checks/temporal", *session.posargs),
        env=there,
    )
    if session.posargs:
        return
    there["PYTHONPATH"] = str(ROOT / "checks" / "temporal")
    for name, tests in _ON_TEMPORAL.items():
        with session.chdir(MEMBERS[name]):
            session.run("pytest", "-p", "each_namespace", *tests, env=there)


@nox.session(default=False)
def schemathesis(session: nox.Session) -> None:
    """Ask an agent server whatever its OpenAPI description allows and forbids, and compare its answers with that; `-- -s` shows what was tried."""
    sync(session, "--package", "gpt5-agent-server", "--all-extras", "--group", "test")
    session.install("schemathesis")
    with session.chdir(MEMBERS["gpt5-agent-server"]):
        session.run("pytest", "-m", "schemathesis", "tests/test_schemathesis.py", *session.posargs)


def _run_agent_server(session: nox.Session, *arguments: str) -> None:
    name = "gpt5-agent-server"
    sync(session, "--package", name, "--all-extras", "--group", "test")
    with session.chdir(MEMBERS[name]):
        session.run("pytest", *arguments, *session.posargs)


@nox.session(default=False, reuse_venv=False)
@nox.parametrize("package", list(PACKAGES), ids=list(PACKAGES))
def lowest(session: nox.Session, package: str) -> None:
    """Run a package's tests with the lowest versions that it says it takes, siblings included."""
    folder = PACKAGES[package]
    # Inside the workspace uv would take the siblings from the tree whatever the bounds say: hence wheels, and no sources.
    session.install(
        *("--no-sources", "--resolution", "lowest-direct", f"./{folder}{extras(package)}"),
        *("--group", f"{folder}/pyproject.toml:test"),
        *build_wheels(session, *siblings(package, for_tests=True)),
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
    install_without_index(session, package, wheel_file)
    with session.chdir(session.create_tmp()):
        version = pyproject(package)["project"]["version"]
        session.run("python", "-I", "-c", IMPORT_ALONE, package, IMPORT_NAMES[package], version)
        run_readme(session, package)


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
    session.run("python", "tools/release/release.py", str(MEMBERS[member]), *session.posargs)


@nox.session
def repository(session: nox.Session) -> None:
    """Hold what no member can: the names of all distributions, links, where each `Source:` leads, and what strains tests."""
    sync(session, "--only-group", "repository")
    places = ("tools/repository", "tools/sessions")
    session.run(*PYTEST, "-o", "pythonpath=tools", *places, *session.posargs)


_UNSTOPPED = (
    # It stops a server itself, which nobody else may resume.
    "server/test_command.py::test_a_server_that_wakes_after_its_lease_ends_no_script_of_the_next_attempt",
)


@nox.session(default=False)
def strained(session: nox.Session) -> None:
    """Run every check where others have filled the environment, with late threads, with processes stopped at random, and beside busy ones.

    `-- -s "tests(gpt5-run-log)"` runs only that session.
    """
    session.install("psutil")
    checks = (sys.executable, "-m", "nox", *session.posargs)
    spared = {"PYTEST_ADDOPTS": " ".join(f"--deselect=tests/{name}" for name in _UNSTOPPED)}
    session.run("python", "tools/sessions/strain.py", "others", *checks)
    session.run(*checks, env={"STRAIN_LATE": "1"}, external=True)
    session.run("python", "tools/sessions/strain.py", "stops", *checks, env=spared)
    session.run("python", "tools/sessions/strain.py", "busy", *checks)


@nox.session(default=False)
def blocking(session: nox.Session) -> None:
    """Write the blocking twins of asynchronous modules anew."""
    sync(session, "--only-group", "repository")
    session.run("python", "tools/repository/blocking.py")


@nox.session(default=False)
def author(session: nox.Session) -> None:
    """Name the plugins' author of the root pyproject.toml wherever another one stands."""
    session.run("python", "tools/repository/author.py")


@nox.session(default=False)
def bench(session: nox.Session) -> None:
    """Measure the plugins; `-- --official PATH` measures the official ones of that checkout beside them."""
    sync(session, "--all-packages", "--all-extras", "--group", "browser")
    session.run("python", "-m", "benchmarks", *session.posargs, env=_MODULES)


@nox.session(name="tool-search", default=False)
def tool_search(session: nox.Session) -> None:
    """Measure how well a model finds a tool among many, on the data of the package bfcl-eval."""
    sync(session, "--package", "gpt5-agent-driver", also="--no-deps bfcl-eval")
    session.run("python", "-m", "benchmarks.tool_search", env=_MODULES)


@nox.session(default=False)
def harness(session: nox.Session) -> None:
    """Make the table of what agent harnesses do when everything misbehaves.

    `-- --tau2 CHECKOUT --official CHECKOUT` takes all tasks and harnesses, `-- --harness NAME --mutation NAME` makes
    one cell and shows its transcript.
    """
    sync(session, "--all-packages", "--all-extras")
    # Of the data's own requirements those of what is read of them.
    session.install("--no-deps", "bfcl-eval==2026.3.23")
    session.install("addict", "deepdiff", "docstring-parser", "loguru", "mpmath", "pyyaml")
    session.install("python-dotenv", "toml")
    place = Path(session.create_tmp()) / "environments"
    session.run(
        "python", "-m", "harness", "--environments", str(place), *session.posargs, env=_MODULES
    )


@nox.session
def fuzz(session: nox.Session) -> None:
    """Try what holds for any input; `-- --minutes 120` goes on for that long, with other cases, and with all processes."""
    sync(session, "--all-packages", "--all-extras", also="hypothesis openai psutil pytest")
    session.run("python", "-m", "fuzz", *session.posargs, env=_MODULES)


@nox.session(default=False)
def pictures(session: nox.Session) -> None:
    """Draw the pictures of runs in the README anew, from what `dify-host chat` prints."""
    sync(session, "--all-packages")
    session.run("python", "docs/pictures/draw.py")


@nox.session(default=False)
def catalog(session: nox.Session) -> None:
    """Write anew what openai_gpt5_responses has from its catalog, its parameters and the prices: the model files, and lists on its pages."""
    name = PLUGIN_NAMES["openai_gpt5_responses"]
    sync(session, "--package", name)
    with session.chdir(PLUGINS[name]):
        session.run("python", "generate_models.py", *session.posargs)
    session.run("python", "tools/repository/parameter_pages.py")


if "--parallel-worker" in sys.argv:  # a process of nox's own for one session
    atexit.register(cpu.record, CPU)
else:
    REPORT.unlink(missing_ok=True)
    shutil.rmtree(CPU, ignore_errors=True)
    atexit.register(lambda: cpu.print_table(REPORT, CPU) if REPORT.exists() else None)

_WITHOUT_DAEMON = ["checks/real_dify/test_graphon.py", "checks/real_dify/test_examples.py"]
# Where what runs as `python -m …` stands.
_MODULES = {"PYTHONPATH": os.pathsep.join((str(ROOT / "checks"), str(ROOT / "tools")))}
_REAL_DIFY = (*PYTEST, "--import-mode=importlib", "-o", "pythonpath=checks/real_dify")
