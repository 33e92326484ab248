import functools
import hashlib
import http.server
import json
import threading
import zipfile
from pathlib import Path

import pytest

from dify_plugin_host.installation import installed


pytestmark = pytest.mark.usefixtures("state")

MANIFEST = "manifest.yaml"
LOCK, PROJECT, LIST = "uv.lock", "pyproject.toml", "requirements.txt"
SIGNATURE = b'{"signature":"c2lnbmVk","time":1795293407}'
# What builds itself with nothing but what is in the package, and writes down what is around it.
BACKEND = """
import json, os, zipfile

def build_wheel(folder, settings=None, metadata=None):
    with open(os.path.join(os.path.dirname(__file__), "environment.json"), "w") as out:
        json.dump(dict(os.environ), out)
    name = "probe-1-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(folder, name), "w") as wheel:
        wheel.writestr("probe-1.dist-info/METADATA", "Metadata-Version: 2.1\\nName: probe\\nVersion: 1\\n")
        wheel.writestr("probe-1.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr("probe-1.dist-info/RECORD", "")
    return name
"""
PROJECT_OF_PROBE = """
[project]
name = "probe"
version = "1"

[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""
PROBE = {"probe/pyproject.toml": PROJECT_OF_PROBE, "probe/backend.py": BACKEND}


@pytest.fixture
def package(packages, tmp_path):
    """Write the model plugin's package under another name, with some of its files changed; None drops one."""

    def write(name, files=None, *, comment=b""):
        with zipfile.ZipFile(packages / "echo_model.difypkg") as given:
            content = {path: given.read(path) for path in given.namelist()}
        content[MANIFEST] = content[MANIFEST].replace(b"name: echo_model", f"name: {name}".encode())
        content |= files or {}
        path = tmp_path / "packages" / f"{name}.difypkg"
        path.parent.mkdir(exist_ok=True)
        with zipfile.ZipFile(path, "w") as archive:
            archive.comment = comment
            for entry, kept in content.items():
                if kept is not None:
                    archive.writestr(entry, kept)
        return path

    return write


@pytest.fixture
def probe(package):
    """Write a package whose installation leaves its environment in `environment.json`."""
    return package("probe", {**PROBE, PROJECT: None, LOCK: None, LIST: "./probe"})


@pytest.fixture
def index(tmp_path):
    """Serve an index with one distribution, `only-here`; return its URL and the paths that were asked for."""
    wheel = "only_here-1.0-py3-none-any.whl"
    folder = tmp_path / "index" / "simple" / "only-here"
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / wheel, "w") as archive:
        info = "only_here-1.0.dist-info"
        archive.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: only-here\nVersion: 1.0\n"
        )
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    digest = hashlib.sha256((folder / wheel).read_bytes()).hexdigest()
    (folder / "index.html").write_text(f'<a href="{wheel}#sha256={digest}">{wheel}</a>')
    asked = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            asked.append(self.path)

    handler = functools.partial(Handler, directory=tmp_path / "index")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/simple", asked
        server.shutdown()
        thread.join()


def installed_environment(state):
    (path,) = state.glob("plugins*/*/*/probe/environment.json")
    return json.loads(path.read_text())


def test_packages_without_a_lock_with_a_list_only_and_signed_ones_are_served(serve, package):
    verified = {".verification.dify.json": '{"authorized_category":"community"}'}
    found = [
        package("only_project", {LOCK: None, LIST: None}),
        package("only_list", {LOCK: None, PROJECT: None}),
        package("signed", verified, comment=SIGNATURE),
    ]

    def talk(host):
        return {path.stem: host.ask("hello", plugin=f"tests/{path.stem}") for path in found}

    assert serve(*found, "--json", talk=talk) == {path.stem: "hello" for path in found}


def test_the_list_is_preferred_where_that_is_asked_for(serve, package, state):
    """Another way of installing makes another environment."""
    path = package("both", {**PROBE, LIST: "./probe"})
    for options in [], ["--requirements"], []:
        serve(path, *options, "--json", talk=lambda host: host.ready)
    by_lock, by_list = sorted(state.glob("plugins*/tests/both-*"))
    assert not (by_lock / "probe" / "environment.json").exists()
    assert (by_list / "probe" / "environment.json").exists()


def test_a_mirror_is_asked_for_what_a_list_or_a_project_names(serve, package, monkeypatch, index):
    url, asked = index
    monkeypatch.setenv("PIP_MIRROR_URL", url)
    project = '[project]\nname = "p"\nversion = "1"\ndependencies = ["only-here"]\n[tool.uv]\npackage = false\n'
    found = [
        package("listed", {LIST: "only-here==1.0\n"}),
        package("project", {PROJECT: project, LIST: None, LOCK: None}),
    ]

    def talk(host):
        return {path.stem: host.ask("hello", plugin=f"tests/{path.stem}") for path in found}

    assert serve(*found, "--json", talk=talk) == {path.stem: "hello" for path in found}
    assert any("/simple/only-here/" in line for line in asked)


def test_a_package_is_installed_where_a_relative_path_leads(package, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = installed(package("near", {LIST: "", PROJECT: None, LOCK: None}), state=Path("state"))
    monkeypatch.chdir("/")
    assert (folder / ".venv" / "bin" / "python").exists()


def test_a_lock_is_left_out_of_account_where_the_daemons_setting_says_so(
    serve, usage, package, monkeypatch
):
    path = package("stale", {LOCK: "version = 1\nrequires-python = '>=3.14'\n"})
    code, err = usage(path)
    assert code == 1
    assert "`uv sync --no-dev --frozen` failed" in err
    monkeypatch.setenv("PLUGIN_IGNORE_UV_LOCK", "true")
    assert (
        serve(path, "--json", talk=lambda host: host.ask("hello", plugin="tests/stale")) == "hello"
    )


def test_the_machines_own_index_is_used(serve, package, monkeypatch, index):
    url, _ = index
    monkeypatch.setenv("UV_DEFAULT_INDEX", url)
    path = package("own_index", {LIST: "only-here\n", PROJECT: None, LOCK: None})
    assert (
        serve(path, "--json", talk=lambda host: host.ask("hello", plugin="tests/own_index"))
        == "hello"
    )


@pytest.mark.parametrize("options", [(), ("--install-as-daemon",), ("--as-daemon",)])
def test_uv_gets_what_the_daemon_hands_on_and_no_settings_of_this_process(
    serve, probe, state, monkeypatch, options
):
    given = {
        "https_proxy": "http://127.0.0.1:9",
        "NO_PROXY": "127.0.0.1",
        "UV_INDEX_NEXUS_USERNAME": "me",
        "UV_DEFAULT_INDEX": "http://127.0.0.1:9/simple",
        "UV_PROJECT_ENVIRONMENT": "/nowhere",
        "PYTHONPATH": "/nowhere",
        "MY_SECRET": "sk-1",
    }
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    serve(probe, "--json", *options, talk=lambda host: host.ready)
    seen = installed_environment(state)
    assert (seen["HTTPS_PROXY"], seen["UV_INDEX_NEXUS_USERNAME"]) == ("http://127.0.0.1:9", "me")
    assert not {"UV_PROJECT_ENVIRONMENT", "MY_SECRET"} & set(seen)
    assert "/nowhere" not in seen.values()
    assert ({"HOME", "UV_DEFAULT_INDEX"} <= set(seen)) is not bool(options)


def test_further_arguments_reach_uv_and_no_secret_is_shown_when_it_fails(
    usage, package, monkeypatch
):
    monkeypatch.setenv("PIP_EXTRA_ARGS", "--frozen --no-such-option")
    monkeypatch.setenv("PIP_MIRROR_URL", "http://me:pa55-word@127.0.0.1:9/simple")
    code, err = usage(package("extra", {LIST: None}))
    assert code == 1
    assert (
        "`uv sync --no-dev --frozen -i http://[redacted]@127.0.0.1:9/simple --no-such-option` failed"
        in err
    )
    assert "pa55" not in err


def test_a_package_that_names_no_dependencies_is_refused(usage, package):
    code, err = usage(package("bare", {PROJECT: None, LIST: None, LOCK: None}))
    assert code == 1
    assert "expected a file 'pyproject.toml' or 'requirements.txt'" in err


def test_versions_with_a_suffix_are_compared(serve, package, tmp_path):
    """What the daemon takes as a version, Python's packages do not all take."""
    for name, version in ("a", "1.0.0-draft_1"), ("b", "1.0.0"), ("c", "0.9.10"):
        manifest = {
            "author": "tests",
            "name": "one",
            "version": version,
            "plugins": {"models": ["provider/echo.yaml"]},
            "meta": {"runner": {"entrypoint": "main"}},
        }
        package(name, {MANIFEST: json.dumps(manifest), LIST: "", PROJECT: None, LOCK: None})
    ready = serve("--packages", tmp_path / "packages", "--json", talk=lambda host: host.ready)
    assert [plugin["version"] for plugin in ready["plugins"]] == ["1.0.0"]
