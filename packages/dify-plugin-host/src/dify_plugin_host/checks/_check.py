"""The checks of a package, stage by stage: what the daemon, Dify and the plugin SDK refuse, and what they overlook."""

import functools
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dify_plugin_host._errors import PluginHostError
from dify_plugin_host.packaging import ROUTES, Archive, Contents, Route, Workspace, install

from . import _declaration_checks as declarations
from . import _dependency_checks as dependencies
from . import _file_checks as files
from ._smoke_test import smoke_test


type Check = Callable[[], Iterable[str]]
type Checks = Sequence[tuple[str, Check]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """The result of one check.

    Attributes:
        name: The check.
        problems: What is wrong, in a sentence each.
        note: What else there is to say.
        is_skipped: Whether it was left out, because an earlier one failed.
    """

    name: str
    problems: tuple[str, ...] = ()
    note: str = ""
    is_skipped: bool = False


def check_package(path: Path, *, quick: bool, start: Path) -> Iterator[CheckResult]:
    """Check a package, from the outside in; after a stage with a problem the rest is skipped.

    Args:
        path: The package.
        quick: Whether to leave out the installation.
        start: A folder in the workspace, if any, whose members' names may come from no index.

    Raises:
        PackageError: If the file is no zip archive.
    """
    archive = Archive.read(path)
    contents = Contents(archive.files)
    workspace = Workspace.find(start)
    siblings = frozenset(workspace.members) if workspace else frozenset[str]()
    stages = [_outside(archive), _naming(archive, contents), _inside(contents, siblings)]
    is_sound = True
    for stage in stages:
        results = [_result(*check) if is_sound else _skipped(check[0]) for check in stage]
        is_sound = is_sound and not any(result.problems for result in results)
        yield from results
    if not quick:
        for route in ROUTES:
            yield from _try_route(archive, route) if is_sound else map(_skipped, _steps(route))


def _outside(archive: Archive) -> Checks:
    return (
        ("archive entries", functools.partial(files.check_entries, archive)),
        ("signature", functools.partial(files.check_signature, archive)),
        ("size", functools.partial(files.check_size, archive)),
        ("no unwanted files", functools.partial(files.check_leftovers, archive)),
    )


def _naming(archive: Archive, contents: Contents) -> Checks:
    return (
        ("manifest.yaml", functools.partial(declarations.check_manifest, contents)),
        ("unique identifier", functools.partial(files.check_identifier, archive)),
    )


def _inside(contents: Contents, siblings: frozenset[str]) -> Checks:
    of_contents = {
        "providers": declarations.check_providers,
        "models, tools and strategies": _check_declared,
        "icons": declarations.check_icons,
        "permissions": declarations.check_permissions,
        "documents": declarations.check_documents,
        "Python sources": declarations.check_sources,
        "model modules": declarations.check_model_modules,
        "wheels": dependencies.check_wheels,
        "pyproject.toml": dependencies.check_pyproject,
        "uv.lock": dependencies.check_lock,
        "requirements.txt": dependencies.check_requirements,
    }
    return (
        *((name, functools.partial(check, contents)) for name, check in of_contents.items()),
        ("workspace packages", functools.partial(dependencies.check_siblings, contents, siblings)),
    )


def _check_declared(contents: Contents) -> Iterator[str]:
    yield from declarations.check_models(contents)
    yield from declarations.check_tools(contents)
    yield from declarations.check_strategies(contents)


def _result(name: str, check: Check) -> CheckResult:
    try:
        problems = tuple(check())
    except PluginHostError as error:
        problems = (str(error),)
    return CheckResult(name=name, problems=problems)


def _skipped(name: str) -> CheckResult:
    return CheckResult(name=name, is_skipped=True)


def _steps(route: Route) -> tuple[str, str]:
    return f"install from {route}", f"start and call, from {route}"


def _try_route(archive: Archive, route: Route) -> Iterator[CheckResult]:
    """Install in an empty folder and try the plugin there."""
    installing, trying = _steps(route)
    with tempfile.TemporaryDirectory(prefix="dify-host-") as temporary:
        folder = Path(temporary) / "plugin"
        started = time.monotonic()
        try:
            archive.extract(folder)
            install(folder, route=route)
        except PluginHostError as error:
            yield CheckResult(name=installing, problems=(str(error),))
            yield _skipped(trying)
            return
        yield CheckResult(name=installing, note=f"{time.monotonic() - started:.1f} s")
        try:
            tested = smoke_test(folder)
        except PluginHostError as error:
            yield CheckResult(name=trying, problems=(str(error),))
            return
        heartbeat = f"first heartbeat after {tested.start_seconds:.1f} s"
        note = "; ".join(filter(None, [heartbeat, ", ".join(tested.calls)]))
        yield CheckResult(name=trying, note=note)
