"""One good package of each kind, and many with a single fault each, which the right check has to name."""

import importlib.metadata
import io
import re
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest


MODEL, AGENT = "echo_model", "small_agent"
MANIFEST = "manifest.yaml"
PROVIDER = "provider/echo.yaml"
ECHO = "models/llm/echo-1.yaml"
STRATEGY = "strategies/steps.yaml"
BASE = "wheels/tiny_base-0.1.0-py3-none-any.whl"
TOP = "wheels/tiny_top-0.1.0-py3-none-any.whl"


@pytest.fixture
def check(monkeypatch, capsys, tmp_path):
    """Run the installed command on a package; return exit code and the table's rows as (mark, check, text)."""
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (command,) = importlib.metadata.entry_points(group="console_scripts", name="dify-host")

    def run(path, *options):
        monkeypatch.setattr(sys, "argv", ["dify-host", "check", str(path), *options])
        with pytest.raises(SystemExit) as ended:
            command.load()()
        out, err = capsys.readouterr()
        assert err == ""
        return ended.value.code or 0, list(rows(out))

    return run


@pytest.fixture
def read(packages):
    """Return the files of a good package, to be spoilt."""

    def run(name):
        with zipfile.ZipFile(packages / f"{name}.difypkg") as archive:
            return {path: archive.read(path) for path in archive.namelist()}

    return run


@pytest.fixture
def refused(check, tmp_path):
    """Write these files as a package; return what the quick checks say is wrong with it, by check."""

    def run(files, entries=(), comment=b""):
        path = tmp_path / "broken.difypkg"
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in [*files.items(), *entries]:
                archive.writestr(name, content)
            archive.comment = comment
        code, results = check(path, "--quick")
        assert code == 1
        return {name: text for mark, name, text in results if mark == "✗"}

    return run


def rows(table):
    """Iterate over the rows of a table; one that goes on in the next line stays one."""
    for row in re.split(r"\n(?! )", table.rstrip())[1:]:
        mark, name, text = (*re.split(r"  +", row, maxsplit=2), "", "")[:3]
        yield mark, name.rstrip(), re.sub(r"\s*\n\s*", "\n", text.strip())


def swap(path, old, new):
    """Make a fault: other text in one file."""

    def spoil(files):
        text = files[path].decode()
        assert old in text
        files[path] = text.replace(old, new, 1).encode()

    return spoil


def add(path, content=""):
    """Make a fault: one file more, or with another content."""
    return lambda files: files.update({path: content.encode()})


def drop(path):
    """Make a fault: one file less."""
    return lambda files: files.pop(path)


def rebuild(path, change, new_path=None):
    """Make a fault: a wheel with other files in it, under its own name or another."""

    def spoil(files):
        with zipfile.ZipFile(io.BytesIO(files.pop(path))) as archive:
            inner = {name: archive.read(name) for name in archive.namelist()}
        change(inner)
        target = io.BytesIO()
        with zipfile.ZipFile(target, "w") as archive:
            for name, content in inner.items():
                archive.writestr(name, content)
        files[new_path or path] = target.getvalue()

    return spoil


def metadata(old, new):
    """Change the METADATA of a wheel."""

    def change(inner):
        (name,) = (name for name in inner if name.endswith("METADATA"))
        swap(name, old, new)(inner)

    return change


# Each line: the package that gets the fault, the fault, the check that names it, and with which words.
FAULTS = [
    # The manifest
    (MODEL, drop(MANIFEST), "manifest.yaml", "expected a file 'manifest.yaml'"),
    (MODEL, add(MANIFEST, "a: ["), "manifest.yaml", "manifest.yaml: expected YAML"),
    (MODEL, add(MANIFEST, "- a"), "manifest.yaml", "Input should be a valid dictionary"),
    (MODEL, swap(MANIFEST, "type: plugin", "type: plugin\ntype: plugin"), "manifest.yaml", "the key 'type' appears twice"),
    (MODEL, swap(MANIFEST, "author: tests", "author: Tests"), "manifest.yaml", "'author': String should match pattern"),
    (MODEL, swap(MANIFEST, "author: tests", "author: 0b9f7c7e-14b6-4d3f-8a57-3d7a4f6d2f10"), "manifest.yaml", "'author': expected a name, not a UUID"),
    (MODEL, swap(MANIFEST, "name: echo_model", "name: echo.model"), "manifest.yaml", "'name': String should match pattern"),
    (MODEL, swap(MANIFEST, "version: 0.0.1", "version: 0.1"), "manifest.yaml", "'version': Input should be a valid string, got 0.1"),
    (MODEL, swap(MANIFEST, "version: 0.0.1", "version: 0.0.1-wild"), "manifest.yaml", "'version': expected a version such as 1.2.3"),
    (MODEL, swap(MANIFEST, "type: plugin", "type: bundle"), "manifest.yaml", "'type': Input should be 'plugin'"),
    (MODEL, swap(MANIFEST, "{ en_US: Echo }", "{ ja_JP: Echo }"), "manifest.yaml", "'label.en_US': Field required"),
    (MODEL, swap(MANIFEST, "en_US: Echo", f"en_US: {'e' * 1024}"), "manifest.yaml", "'label.en_US': String should have at most 1023 characters"),
    (MODEL, swap(MANIFEST, '"2026-11-21T00:00:00Z"', '"21 November"'), "manifest.yaml", "'created_at': expected an RFC 3339 time"),
    (MODEL, swap(MANIFEST, "type: plugin", "type: plugin\ntags: [ai]"), "manifest.yaml", "'tags.0': Input should be 'search', 'image'"),
    (MODEL, swap(MANIFEST, "memory: 1048576", "memory: 1GB"), "manifest.yaml", "'resource.memory': Input should be a valid integer"),
    (MODEL, swap(MANIFEST, "permission: {}", "permission: { storage: { enabled: true, size: 1 } }"), "manifest.yaml", "'resource.permission.storage.size': Input should be greater than or equal to 1024"),
    (MODEL, swap(MANIFEST, "models: [provider/echo.yaml]", "models: []"), "manifest.yaml", "'plugins': expected at least one provider"),
    (MODEL, swap(MANIFEST, "[provider/echo.yaml]", "[provider/echo.yaml, provider/echo.yaml]"), "manifest.yaml", "'plugins.models': List should have at most 1 item"),
    (MODEL, swap(MANIFEST, "[provider/echo.yaml]", "[provider/echo.yaml], agent_strategies: [a.yaml]"), "manifest.yaml", "expected one kind of provider, got models and agent_strategies"),
    (MODEL, swap(MANIFEST, "provider/echo.yaml", "p" * 129), "manifest.yaml", "'plugins.models.0': String should have at most 128 characters"),
    (MODEL, swap(MANIFEST, "amd64", "x86"), "manifest.yaml", "'meta.arch.0': Input should be 'amd64' or 'arm64'"),
    (MODEL, swap(MANIFEST, "language: python", "language: go"), "manifest.yaml", "'meta.runner.language': Input should be 'python'"),
    (MODEL, swap(MANIFEST, "arch: [amd64, arm64]", "arch: [arm64], minimum_dify_version: new"), "manifest.yaml", "'meta.minimum_dify_version': expected a version"),
    (MODEL, swap(MANIFEST, "type: plugin", "type: plugin\nrepo: github"), "manifest.yaml", "'repo': String should match pattern"),
    (MODEL, lambda files: files.update({MANIFEST: b"\xff"}), "manifest.yaml", "manifest.yaml: expected UTF-8 text"),
    (MODEL, swap(MANIFEST, "name: echo_model", "name: Echo"), "unique identifier", "expected author/name:version@checksum, got 'tests/Echo:0.0.1@"),
    # Permissions
    (AGENT, swap(MANIFEST, "tool: { enabled: true }", "tool: { enabled: false }"), "permissions", "resource.permission.tool.enabled: expected true"),
    (AGENT, swap(MANIFEST, "llm: true", "llm: false"), "permissions", "resource.permission.model.llm: expected true"),
    (AGENT, swap(MANIFEST, "version: 0.0.2", "version: 0.0.1"), "permissions", "meta.version: expected more than 0.0.1"),
    # A model provider and its models
    (MODEL, drop(PROVIDER), "providers", "expected a file 'provider/echo.yaml'"),
    (MODEL, add(PROVIDER, "[]"), "providers", "provider/echo.yaml: expected a mapping"),
    (MODEL, swap(PROVIDER, "[llm]", "[chat]"), "providers", "'supported_model_types.0': Input should be 'llm'"),
    (MODEL, swap(PROVIDER, "[predefined-model]", "[]"), "providers", "'configurate_methods': List should have at least 1 item"),
    (MODEL, swap(PROVIDER, "type: secret-input", "type: password"), "providers", "'provider_credential_schema.credential_form_schemas.0.type'"),
    (MODEL, swap(PROVIDER, 'default: "300"', "default: 300"), "providers", "default': Input should be a valid string, got 300"),
    (MODEL, swap(PROVIDER, "variable: request_timeout_seconds", "variable: openai_api_key"), "providers", "expected each variable once"),
    (MODEL, swap(PROVIDER, '"models/llm/*.yaml"', '"models/**/*.yaml"'), "providers", "expected a pattern without '**'"),
    (MODEL, swap(PROVIDER, "provider_source: provider/echo.py, ", ""), "providers", "'extra.python.provider_source': Field required"),
    (MODEL, swap(PROVIDER, "models/llm/*.yaml", "models/llms/*.yaml"), "models, tools and strategies", "'models/llms/*.yaml' matches no file"),
    (MODEL, drop("models/llm/_position.yaml"), "models, tools and strategies", "expected a file 'models/llm/_position.yaml'"),
    (MODEL, add("models/llm/_position.yaml", "llm: [echo-1]"), "models, tools and strategies", "expected a list of model names"),
    (MODEL, add("models/llm/_position.yaml", "[echo-9]"), "models, tools and strategies", "'echo-9' is no model of this package"),
    (MODEL, swap(ECHO, "model: echo-1", "model: echo-2"), "models, tools and strategies", "the model 'echo-2' is declared 2 times"),
    (MODEL, swap(ECHO, "features: [", "features: [telepathy, "), "models, tools and strategies", "'features.0': Input should be 'tool-call'"),
    (MODEL, swap(ECHO, "context_size", "context"), "models, tools and strategies", "'model_properties.context.[key]': Input should be 'mode'"),
    (MODEL, swap(ECHO, "options: [low, high]", "options: [low, 1]"), "models, tools and strategies", "'parameter_rules.0.options.1': Input should be a valid string, got 1"),
    (MODEL, swap(ECHO, "options: [low, high]", "default: huge, options: [low, high]"), "models, tools and strategies", "expected one of the options as default, got 'huge'"),
    (MODEL, swap(ECHO, "type: string, options: [low, high]", "type: int, default: 9, max: 5"), "models, tools and strategies", "expected a default between min and max, got 9"),
    (MODEL, swap(ECHO, "type: string, options: [low, high]", "type: int, default: true"), "models, tools and strategies", "expected a default of type int, got True"),
    (MODEL, swap(ECHO, "use_template: temperature", "use_template: heat"), "models, tools and strategies", "'parameter_rules.1.use_template': Input should be 'temperature'"),
    (MODEL, swap(ECHO, ", use_template: temperature, default: 0.3", ""), "models, tools and strategies", "expected a label and a type, or a use_template"),
    (MODEL, swap(ECHO, "name: temperature", "name: reasoning_effort"), "models, tools and strategies", "expected each parameter once"),
    (MODEL, swap(ECHO, 'input: "1"', "input: 1"), "models, tools and strategies", "'pricing.input': Input should be a valid string, got 1"),
    # An agent strategy provider and its strategies
    (AGENT, swap("provider/small.yaml", "icon: icon.svg", "picture: icon.svg"), "providers", "'identity.icon': Field required"),
    (AGENT, swap("provider/small.yaml", "name: small", "name: small agent"), "providers", "'identity.name': String should match pattern"),
    (AGENT, swap("provider/small.yaml", "strategies/quiet.yaml", "strategies/loud.yaml"), "models, tools and strategies", "expected a file 'strategies/loud.yaml'"),
    (AGENT, swap(STRATEGY, "name: steps", "name: quiet"), "models, tools and strategies", "the strategy 'quiet' is declared 2 times"),
    (AGENT, swap(STRATEGY, "[history-messages]", "[memory]"), "models, tools and strategies", "'features.0': Input should be 'history-messages'"),
    (AGENT, swap(STRATEGY, "type: boolean", "type: checkbox"), "models, tools and strategies", "'parameters.5.type': Input should be 'string', 'number'"),
    (AGENT, swap(STRATEGY, "type: boolean", "type: select"), "models, tools and strategies", "expected options for the type 'select'"),
    (AGENT, swap(STRATEGY, "default: 3", "default: [3]"), "models, tools and strategies", "'parameters.4.default"),
    (AGENT, swap(STRATEGY, "type: any", "type: any, scope: text"), "models, tools and strategies", "expected a scope of ['array[file]'"),
    (AGENT, swap(STRATEGY, "type: number", "type: number, scope: llm"), "models, tools and strategies", "expected no scope for the type 'number'"),
    (AGENT, swap(STRATEGY, "name: query", "name: instruction"), "models, tools and strategies", "expected each parameter once"),
    # Files that something names
    (MODEL, drop("_assets/icon.svg"), "icons", "manifest.yaml: icon: expected a file '_assets/icon.svg'"),
    (MODEL, swap(PROVIDER, "icon_small: { en_US: icon.svg", "icon_small: { en_US: small.svg"), "icons", "icon_small.en_US: expected a file '_assets/small.svg'"),
    (AGENT, swap("provider/small.yaml", "icon.svg", "agent.svg"), "icons", "identity.icon: expected a file '_assets/agent.svg'"),
    (MODEL, drop("README.md"), "documents", "expected a file 'README.md'"),
    (MODEL, drop("PRIVACY.md"), "documents", "privacy: expected a file 'PRIVACY.md'"),
    (MODEL, drop("main.py"), "Python sources", "meta.runner.entrypoint: expected a file 'main.py'"),
    (MODEL, drop("provider/echo.py"), "Python sources", "provider_source: expected a file 'provider/echo.py'"),
    (MODEL, drop("models/llm/llm.py"), "Python sources", "model_sources: expected a file 'models/llm/llm.py'"),
    (AGENT, drop("strategies/steps.py"), "Python sources", "source: expected a file 'strategies/steps.py'"),
    (MODEL, add("main.py", "def main(:"), "Python sources", "main.py: line 1: invalid syntax"),
    (MODEL, add("main.py", "def main[T = int](): ..."), "Python sources", "main.py: line 1: "),
    (MODEL, swap(PROVIDER, "models/llm/llm.py", "models/llm.py"), "model modules", "expected 'models/llm.py' two folders deep"),
    # Unwanted files
    (MODEL, add(".env", "KEY=secret"), "no unwanted files", "'.env': expected no hidden files, caches, tests or packages"),
    (MODEL, add("tests/test_it.py"), "no unwanted files", "'tests/test_it.py': expected no hidden files"),
    (MODEL, add("provider/__pycache__/echo.pyc"), "no unwanted files", "expected no hidden files, caches, tests or packages"),
    (MODEL, add("film.bin", "x" * 6_000_000), "size", "expected at most 5242880 bytes, got 6"),
    # Paths
    (MODEL, add("../evil.py"), "archive entries", "'../evil.py': expected a relative path"),
    (MODEL, add("/etc/evil.py"), "archive entries", "'/etc/evil.py': expected a relative path"),
    (MODEL, add("provider\\evil.py"), "archive entries", "expected a relative path with forward slashes"),
    (MODEL, add("./evil.py"), "archive entries", "'./evil.py': expected a relative path"),
    # Wheels
    (MODEL, add(BASE, "no zip"), "wheels", f"{BASE}: expected a wheel"),
    (MODEL, rebuild(BASE, lambda inner: inner.update({"models/__init__.py": b""})), "wheels", "its module 'models' has the name of a file or folder"),
    (MODEL, rebuild(BASE, lambda inner: inner.update({"wire.py": b""})), "wheels", "its module 'wire' has the name of a file or folder"),
    (MODEL, rebuild(BASE, metadata("Version: 0.1.0", "Version: 0.2.0")), "wheels", "expected the name and version of its metadata"),
    (MODEL, rebuild(BASE, dict.copy, BASE.replace("py3-none-any", "cp312-cp312-linux_x86_64")), "wheels", "expected a wheel for every platform"),
    (MODEL, rebuild(BASE, dict.copy, BASE.replace("wheels/", "lib/")), "wheels", "expected it in 'wheels/'"),
    # What they need
    (MODEL, drop(BASE), "workspace packages", f"{TOP} needs 'tiny-base', which is not bundled"),
    (MODEL, rebuild(TOP, metadata(">=0.1,<0.2", ">=0.2,<0.3")), "workspace packages", "needs tiny-base<0.3,>=0.2, but 0.1.0 is bundled"),
    (MODEL, swap("uv.lock", 'source = { path = "wheels/tiny_base-0.1.0-py3-none-any.whl" }', 'source = { registry = "https://pypi.org/simple" }'), "workspace packages", "takes 'tiny-base' from an index"),
    # The three files
    (MODEL, drop("pyproject.toml"), "pyproject.toml", "expected a file 'pyproject.toml'"),
    (MODEL, add("pyproject.toml", "[project"), "pyproject.toml", "pyproject.toml: expected TOML"),
    (MODEL, swap("pyproject.toml", 'version = "0.0.1"', 'version = "0.0.2"'), "pyproject.toml", "expected the version of manifest.yaml"),
    (MODEL, swap("pyproject.toml", ">=3.12", ">=3.13"), "pyproject.toml", "requires-python: expected to allow Python 3.12"),
    (MODEL, swap("pyproject.toml", "dev = []", ""), "pyproject.toml", "dependency-groups: expected 'dev'"),
    (MODEL, swap("pyproject.toml", "package = false", ""), "pyproject.toml", "tool.uv.package: expected false"),
    (MODEL, swap("pyproject.toml", "package = false", "package = false\nfind-links = ['x']"), "pyproject.toml", "tool.uv.find-links: expected no setting"),
    (MODEL, swap("pyproject.toml", '{ path = "wheels/tiny_base', '{ path = "../tiny_base'), "pyproject.toml", f"tool.uv.sources.tiny-base: expected the path '{BASE}'"),
    (MODEL, swap("pyproject.toml", "tiny-base = { path =", "tiny-bass = { path ="), "pyproject.toml", "tool.uv.sources.tiny-bass: expected only names of bundled wheels"),
    (MODEL, swap("pyproject.toml", "tiny-base==0.1.0", "tiny-base>=0.1.0"), "pyproject.toml", "dependencies: expected 'tiny-base==0.1.0'"),
    (MODEL, swap("pyproject.toml", "tiny-base==0.1.0", "!"), "pyproject.toml", "pyproject.toml: dependencies: "),
    (MODEL, swap("uv.lock", "version = 1", "version = 2"), "uv.lock", "uv.lock: version: expected 1, got 2"),
    (MODEL, drop("uv.lock"), "uv.lock", "expected a file 'uv.lock'"),
    (MODEL, rebuild(BASE, lambda inner: inner.update({"tiny_base/more.py": b""})), "uv.lock", f"'tiny-base': expected the hash of '{BASE}'"),
    (MODEL, swap("uv.lock", 'name = "tiny-base"\nversion = "0.1.0"', 'name = "tiny-base"\nversion = "0.1.1"'), "uv.lock", "'tiny-base': expected the version '0.1.0'"),
    (MODEL, swap("uv.lock", "[[package]]", '[[package]]\nname = "x"\nversion = "1"\nsource = { registry = "https://mirror.example/simple" }\n\n[[package]]'), "uv.lock", "'x' comes from 'https://mirror.example/simple'"),
    (MODEL, swap("uv.lock", "requires-dist = [", 'requires-dist = [{ name = "more" },'), "uv.lock", "expected the dependencies of pyproject.toml"),
    (MODEL, drop("requirements.txt"), "requirements.txt", "expected a file 'requirements.txt'"),
    (MODEL, swap("requirements.txt", f"./{BASE}\n", ""), "requirements.txt", f"expected a line './{BASE}'"),
    (MODEL, swap("requirements.txt", "./", "./wheels/other.whl\n./"), "requirements.txt", "'./wheels/other.whl': expected only bundled wheels as files"),
    (MODEL, swap("uv.lock", "[[package]]", '[[package]]\nname = "x"\nversion = "1"\nsource = { registry = "https://pypi.org/simple" }\n\n[[package]]'), "requirements.txt", "expected 'x==1', as in uv.lock"),
    (MODEL, swap("requirements.txt", "./", "requests==2.0\n./"), "requirements.txt", "'requests==2.0': expected only what is in uv.lock"),
    (MODEL, swap("requirements.txt", "./", "-e .\n./"), "requirements.txt", "expected 'name==version', got '-e .'"),
    (MODEL, swap("requirements.txt", "./", "requests>=2,<3\n./"), "requirements.txt", "expected 'name==version', got 'requests>=2,<3'"),
]  # fmt: skip


@pytest.mark.parametrize(
    "fault", FAULTS, ids=[f"{n}: {fault[3]}" for n, fault in enumerate(FAULTS)]
)
def test_a_package_with_one_fault_is_refused_for_it(read, refused, fault):
    name, spoil, check_name, reason = fault
    files = read(name)
    spoil(files)
    problems = refused(files)
    assert reason in problems.get(check_name, problems)


@pytest.mark.parametrize(
    ("pin", "is_read"),
    [
        ("dify-plugin==0.10.2", True),
        ("dify-plugin>=0.10.1,<0.11", True),
        ("dify_plugin~=0.10.1", True),
        ("dify-plugin >= 0.10.1", False),
        ("dify-plugin", False),
        ("dify-plugin==0.0.1b71", False),
    ],
)
def test_the_sdk_has_to_be_named_as_the_daemon_reads_it(read, refused, pin, is_read):
    files = read(MODEL)
    del files["wheels/dify_plugin-0.10.2-py3-none-any.whl"]
    swap("pyproject.toml", "dify-plugin==0.10.2", pin)(files)
    complaint = "pyproject.toml: expected a pin such as 'dify-plugin>=0.10.1,<0.11'"
    assert (complaint in refused(files)["pyproject.toml"]) is not is_read


def test_entries_that_the_daemon_cannot_extract_are_refused(read, refused):
    files = read(MODEL)
    link = zipfile.ZipInfo("link.py")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    link.create_system = 3
    assert "'wheels/' is a directory entry" in refused(files, [("wheels/", "")])["archive entries"]
    assert "'link.py' is a link" in refused(files, [(link, "main.py")])["archive entries"]


@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
def test_an_entry_that_appears_twice_is_refused(read, refused):
    problems = refused(read(MODEL), [("main.py", "print()")])
    assert problems["archive entries"] == "'main.py' appears 2 times; expected each entry once"


@pytest.mark.parametrize("comment", [b"hello", b"[]", b'{"signature": "x"}', b"[" * 60_000])
def test_a_comment_that_is_no_signature_is_refused(read, refused, comment):
    problems = refused(read(MODEL), comment=comment)
    assert "the archive's comment: expected nothing or a signature" in problems["signature"]


def test_what_comes_after_a_failed_stage_is_skipped(check, read, tmp_path):
    files = read(MODEL)
    swap(MANIFEST, "author: tests", "author: T")(files)
    path = tmp_path / "broken.difypkg"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        archive.comment = b'{"signature": "x", "time": 1}'
    _, results = check(path)
    marks = {name: mark for mark, name, _ in results}
    assert marks["signature"] == "✓"
    assert marks["manifest.yaml"] == "✗"
    assert {marks[name] for name in ("uv.lock", "install from uv.lock")} == {"-"}


@pytest.mark.parametrize("name", [MODEL, AGENT])
def test_a_good_package_passes_the_quick_checks(check, packages, name):
    code, results = check(packages / f"{name}.difypkg", "--quick")
    assert code == 0
    assert {mark for mark, _, _ in results} == {"✓"}


@pytest.mark.parametrize(("name", "called"), [(MODEL, "; echo-2"), (AGENT, "; steps, quiet")])
def test_a_good_package_is_installed_started_and_called_on_both_routes(
    check, packages, name, called
):
    code, results = check(packages / f"{name}.difypkg")
    assert code == 0
    notes = {check: note for mark, check, note in results if mark == "✓"}
    for route in ("uv.lock", "requirements.txt"):
        assert notes[f"install from {route}"].endswith(" s")
        assert notes[f"start and call, from {route}"].endswith(called)


TOOL_PROVIDER, WORDS = "provider/demo.yaml", "tools/words.yaml"
TOOL_FAULTS = [
    (swap(TOOL_PROVIDER, "tags: [utilities]", "tags: [tools]"), "providers", "'identity.tags.0': Input should be 'search'"),
    (swap(TOOL_PROVIDER, "type: secret-input", "type: password"), "providers", "'credentials_for_provider.token.type': Input should be 'secret-input'"),
    (swap(TOOL_PROVIDER, "icon: icon.svg", "icon: none.svg"), "icons", "provider/demo.yaml: identity.icon: expected a file '_assets/none.svg'"),
    (drop("provider/demo.py"), "Python sources", "provider/demo.yaml: extra.python.source: expected a file 'provider/demo.py'"),
    (drop("tools/words.py"), "Python sources", "tools/words.yaml: extra.python.source: expected a file 'tools/words.py'"),
    (drop(WORDS), "models, tools and strategies", "expected a file 'tools/words.yaml'"),
    (swap(WORDS, "name: words", "name: blob"), "models, tools and strategies", "the tool 'blob' is declared 2 times"),
    (swap(WORDS, "name: ending", "name: text"), "models, tools and strategies", "expected each parameter once"),
    (swap(WORDS, "type: string", "type: text"), "models, tools and strategies", "'parameters.0.type': Input should be 'string'"),
    (swap(WORDS, "type: string", "type: select"), "models, tools and strategies", "expected options for the type 'select'"),
    (swap(WORDS, "type: string", "type: string\n    multiple: true"), "models, tools and strategies", "expected no 'multiple' for the type 'string'"),
    (swap(WORDS, "default: space", "default: [space]"), "models, tools and strategies", "expected a list as default exactly when 'multiple' is true"),
    (swap(WORDS, "form: llm", "form: model"), "models, tools and strategies", "'parameters.0.form': Input should be 'schema', 'form' or 'llm'"),
]  # fmt: skip


@pytest.mark.parametrize(
    "fault", TOOL_FAULTS, ids=[f"{n}: {fault[2]}" for n, fault in enumerate(TOOL_FAULTS)]
)
def test_a_tool_package_with_one_fault_is_refused_for_it(tool_package, refused, fault):
    spoil, check_name, reason = fault
    with zipfile.ZipFile(tool_package) as archive:
        files = {path: archive.read(path) for path in archive.namelist()}
    spoil(files)
    assert reason in refused(files)[check_name]


def test_a_good_tool_package_passes_the_quick_checks(check, tool_package):
    code, results = check(tool_package, "--quick")
    assert (code, {mark for mark, _, _ in results}) == (0, {"✓"}), results


def failures(results):
    return {name: text for mark, name, text in results if mark == "✗"}


def test_an_sdk_that_cannot_be_imported_stops_no_installation(check, workshop):
    """The daemon imports it to warm up and goes on whatever comes of it; a plugin that needs it does not start."""
    sdk = workshop / "packages/dify-plugin/src/dify_plugin/__init__.py"
    sdk.write_text("import gone")
    command = [Path(sys.executable).with_name("dify-host"), "package", MODEL]
    subprocess.run(command, cwd=workshop, check=True, capture_output=True)
    code, results = check(workshop / "dist" / "echo_model-0.0.1.difypkg")
    marks = {name: mark for mark, name, _ in results if name.startswith("install from")}
    assert (code, marks) == (
        0,
        {f"install from {route}": "✓" for route in ("uv.lock", "requirements.txt")},
    )


@pytest.fixture
def check_spoilt(check, read, tmp_path):
    """Check a package with a fault in it; return exit code and what failed."""

    def run(fault, name=MODEL):
        files = read(name)
        fault(files)
        path = tmp_path / "spoilt.difypkg"
        with zipfile.ZipFile(path, "w") as archive:
            for entry, content in files.items():
                archive.writestr(entry, content)
        code, results = check(path)
        return code, failures(results)

    return run


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("import wire\n", "import gone\n", "before its first heartbeat; its stderr ends with"),
        (
            "chunk(request, said, usage=USAGE)",
            "pass",
            "echo-2: expected an answer with text, got none",
        ),
        ("chunk(request, said,", "chunk(request, None,", "content field is required"),
    ],
)
def test_a_plugin_that_does_not_start_or_answer_is_refused(check_spoilt, old, new, reason):
    code, problems = check_spoilt(swap("main.py", old, new))
    assert code == 1
    assert problems.keys() == {
        "start and call, from uv.lock",
        "start and call, from requirements.txt",
    }
    assert reason in problems["start and call, from uv.lock"]


def test_an_installation_that_fails_is_told_and_nothing_is_started(check, packages, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null")  # uv finds no place for its cache
    code, results = check(packages / f"{MODEL}.difypkg")
    problems = failures(results)
    assert code == 1
    assert problems.keys() == {"install from uv.lock", "install from requirements.txt"}
    assert "`uv venv .venv --python 3.12` failed" in problems["install from uv.lock"]


def test_a_strategy_that_keeps_the_models_answer_to_itself_is_refused(check_spoilt):
    said = 'text(request, delta["message"]["content"])'
    code, problems = check_spoilt(swap("main.py", said, 'text(request, "hm")'), AGENT)
    assert code == 1
    expected = "steps: expected 'hello world' in the answer, got 'hmhm'"
    assert set(problems.values()) == {expected}


def test_a_provider_without_predefined_models_cannot_be_called(check_spoilt):
    code, problems = check_spoilt(swap("provider/echo.yaml", *NO_MODELS))
    assert code == 1
    assert set(problems.values()) == {"expected at least one predefined model, to call it"}


NO_MODELS = (
    """models:
  llm:
    predefined: ["models/llm/*.yaml"]
    position: models/llm/_position.yaml
""",
    "models: { llm: { predefined: [] } }\n",
)


@pytest.fixture
def unreadable(monkeypatch, capsys):
    """Check a file that is no package at all; return exit code and complaint."""
    (command,) = importlib.metadata.entry_points(group="console_scripts", name="dify-host")

    def run(path):
        monkeypatch.setattr(sys, "argv", ["dify-host", "check", str(path)])
        with pytest.raises(SystemExit) as ended:
            command.load()()
        return ended.value.code, capsys.readouterr().err

    return run


def test_a_file_that_is_no_archive_is_named(unreadable, packages, tmp_path):
    path = tmp_path / "p.difypkg"
    assert unreadable(path)[1].endswith("no such file; expected a .difypkg file\n")
    path.write_text("hello")
    assert "expected a readable zip archive: File is not a zip file" in unreadable(path)[1]
    content = (packages / "echo_model.difypkg").read_bytes()
    path.write_bytes(content.replace(b"def main():", b"def niam():"))
    code, err = unreadable(path)
    assert code == 2
    assert "expected a readable zip archive: Bad CRC-32 for file 'main.py'" in err


def test_a_folder_is_no_package_but_can_be_made_one(unreadable, tmp_path):
    code, err = unreadable(tmp_path)
    assert code == 2
    assert err == (
        f"dify-host: error: {tmp_path}: expected a .difypkg file, found a folder; "
        f"`dify-host package {tmp_path}` makes one of a plugin's folder\n"
    )


def test_an_archive_that_grows_beyond_the_platforms_limit_is_not_even_read(unreadable, tmp_path):
    path = tmp_path / "p.difypkg"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", bytes(52_428_801))
    assert "expected at most 52428800 bytes uncompressed" in unreadable(path)[1]
