"""The pytest plugin of dify-plugin-host. It imports the host only when a test uses one of its fixtures."""

import contextlib
import dataclasses
import functools
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest


if TYPE_CHECKING:
    from dify_plugin_host.testing import DifyPlugin, Recording

_RUNNING = pytest.StashKey[list["DifyPlugin"]]()
_MANIFEST = "manifest.yaml"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("dify-plugin-host")
    group.addoption(
        "--dify-plugin", metavar="PATH", help="The plugin under test: its folder or its package."
    )
    group.addoption(
        "--dify-with",
        metavar="PATH",
        action="append",
        help="A model plugin, by its folder or its package, whose models may be recorded; can be given several times.",
    )
    group.addoption(
        "--dify-record",
        action="store_true",
        help="Ask the models of dify_recording, and record their answers.",
    )
    parser.addini("dify_plugin", "The plugin under test: its folder or its package.")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Forget what earlier tests have left behind in running plugins."""
    for plugin in item.config.stash.get(_RUNNING, ()):
        plugin.begin_test()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add what the running plugins answered and logged to the report of a failed test, and take their credentials out of any."""
    report = yield
    for plugin in item.config.stash.get(_RUNNING, ()):
        if report.failed:
            told = {"Answers": "\n".join(map(repr, plugin.answered)), "Log": plugin.log}
            name = plugin.folder.name
            report.sections += [(f"{what} of {name}", text) for what, text in told.items() if text]
        report.sections = [(name, plugin.redact(text)) for name, text in report.sections]
        report.longrepr = _redacted(report.longrepr, plugin.redact)
    return report


def _redacted(shown: Any, redact: Callable[[str], str]) -> Any:
    """Return a failure as pytest shows it, made of texts in lists and dataclasses, without secrets."""
    if isinstance(shown, str):
        return redact(shown)
    if isinstance(shown, list | tuple):
        parts = [_redacted(part, redact) for part in cast("Iterable[Any]", shown)]
        return tuple(parts) if isinstance(shown, tuple) else parts
    if dataclasses.is_dataclass(shown):
        for name, part in vars(shown).items():
            setattr(shown, name, _redacted(part, redact))
    return shown


@pytest.fixture(scope="session")
def dify_credentials() -> Mapping[str, Any]:
    """Return the credentials of the plugin, by name, over those of environment variables; to be overridden in a conftest.py."""
    return {}


@pytest.fixture(scope="session")
def _start_dify_plugin(
    request: pytest.FixtureRequest,
) -> "Iterator[Callable[[Path, Mapping[str, Any]], DifyPlugin]]":
    from dify_plugin_host.testing import DifyPlugin  # noqa: PLC0415 - it takes half a second

    running: dict[str, DifyPlugin] = {}
    here = request.config.invocation_params.dir
    beside = [here / path for path in request.config.getoption("--dify-with") or ()]
    request.config.stash[_RUNNING] = []

    def start(path: Path, credentials: Mapping[str, Any]) -> DifyPlugin:
        key = repr((path, sorted(credentials.items())))
        if key not in running:
            plugin = DifyPlugin(path, credentials=credentials, beside=beside)
            running[key] = stack.enter_context(plugin)
            request.config.stash[_RUNNING].append(running[key])
        return running[key]

    with contextlib.ExitStack() as stack:
        yield start


@pytest.fixture(scope="module")
def dify_plugin(
    request: pytest.FixtureRequest,
    dify_credentials: Mapping[str, Any],
    _start_dify_plugin: "Callable[[Path, Mapping[str, Any]], DifyPlugin]",
) -> "DifyPlugin":
    """Return the plugin under test, which is started once and runs until the session's end."""
    return _start_dify_plugin(_find_plugin(request), dify_credentials)


def _find_plugin(request: pytest.FixtureRequest) -> Path:
    config = request.config
    if given := config.getoption("--dify-plugin"):
        return config.invocation_params.dir / given
    if named := str(config.getini("dify_plugin")):
        return config.rootpath / named
    for folder in (*request.path.parents, config.rootpath):
        if (folder / _MANIFEST).is_file():
            return folder
    expected = "--dify-plugin PATH, or dify_plugin in the configuration of pytest"
    raise pytest.UsageError(
        f"there is no {_MANIFEST} above {request.path} or in {config.rootpath}; expected {expected}"
    )


@pytest.fixture
def dify_recording(request: pytest.FixtureRequest, dify_plugin: "DifyPlugin") -> "Recording":
    """Return what records the models of this test once, with `--dify-record`, and gives their answers from then on."""
    from dify_plugin_host.testing import Recording  # noqa: PLC0415 - as above

    name = re.sub(r"\W+", "-", request.node.name).strip("-")
    path = request.path.parent / "__recordings__" / request.path.stem / name
    is_new = bool(request.config.getoption("--dify-record"))
    return Recording(path, is_new=is_new, redact=dify_plugin.redact)


@pytest.fixture
def dify_snapshot(request: pytest.FixtureRequest, dify_plugin: "DifyPlugin") -> Any:
    """Return a snapshot of syrupy for messages, with ids, times and links that change from run to run replaced."""
    if not request.config.pluginmanager.hasplugin("syrupy"):
        raise pytest.UsageError("dify_snapshot expects syrupy; install dify-plugin-host[pytest]")
    from dify_plugin_host.testing import normalize  # noqa: PLC0415 - as above

    matcher = functools.partial(normalize, redact=dify_plugin.redact)
    return request.getfixturevalue("snapshot").with_defaults(matcher=matcher)
