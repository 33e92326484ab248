"""One good package of each kind, and many with a single fault each, which the right check has to name."""

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
BASE = "wheels/tiny_base-0.1.0+bundle-py3-none-any.whl"
PLAIN = "wheels/tiny_base-0.1.0-py3-none-any.whl"
TOP = "wheels/tiny_top-0.1.0+bundle-py3-none-any.whl"


@pytest.fixture
def check(monkeypatch, capsys, tmp_path, console_scripts):
    """Run the installed command on a package; return exit code and the table's rows as (mark, check, text)."""
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    command = console_scripts["dify-host"]

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
def found(quick_check, tmp_path):
    """Write these files as a package; return the findings of the quick checks as (kind, check, text)."""

    def run(files, entries=(), comment=b""):
        path = write(tmp_path / "broken.difypkg", files, entries, comment)
        return quick_check(path.read_bytes())[1]

    return run


def write(path, files, entries=(), comment=b""):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in [*files.items(), *entries]:
            archive.writestr(name, content)
        archive.comment = comment
    return path


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


def relabelled(inner):
    """Take the local label from a wheel's version."""
    metadata("Version: 0.1.0+bundle", "Version: 0.1.0")(inner)


# Each line: the package that gets the fault, the fault, the check that names it, the kind of finding, and with which words.
FAULTS = [
    (AGENT, swap(MANIFEST, "tool: { enabled: true }", "tool: { enabled: false }"), "permissions", "advice", "'resource.permission.tool.enabled': expected true"),
    (AGENT, swap(MANIFEST, "llm: true", "llm: false"), "permissions", "advice", "'resource.permission.model.llm': expected true"),
    (AGENT, swap(MANIFEST, "version: 0.0.2", "version: 0.0.1"), "permissions", "advice", "'meta.version': expected more than 0.0.1"),
    (MODEL, swap(MANIFEST, "[provider/echo.yaml]", "[provider/echo.yaml, provider/echo.yaml]"), "manifest.yaml", "advice", "'plugins.models': of several the last one counts"),
    (MODEL, swap(MANIFEST, "en_US: Echo", f"en_US: {'e' * 1024}"), "manifest.yaml", "advice", "'label.en_US': String should have at most 1023 characters"),
    (MODEL, swap(MANIFEST, "type: plugin", "type: plugin\ntags: [ai]"), "manifest.yaml", "advice", "'tags.0': Input should be 'search'"),
    (MODEL, swap(MANIFEST, "type: plugin", "type: plugin\nrepo: github"), "manifest.yaml", "advice", "'repo': String should match pattern"),
    (MODEL, swap(MANIFEST, "version: 0.0.1", "version: 0.0.1-wild"), "manifest.yaml", "broken", "'version': expected a version such as 1.2.3"),
    # What comes to nothing
    (MODEL, swap(PROVIDER, "[predefined-model]", "[]"), "providers", "advice", "'configurate_methods': expected at least one"),
    (MODEL, swap(PROVIDER, "variable: request_timeout_seconds", "variable: openai_api_key"), "providers", "advice", "'openai_api_key' appears more than once"),
    (MODEL, swap(PROVIDER, "models/llm/*.yaml", "models/llms/*.yaml"), "providers", "advice", "'models.llm': 'models/llms/*.yaml' matches no file"),
    (MODEL, swap(PROVIDER, 'llm:\n    predefined: ["models/llm/*.yaml"]\n    position: models/llm/_position.yaml', "llm: []"), "providers", "broken", "'models.llm': Input should be"),
    (MODEL, add("models/llm/_position.yaml", "[echo-9]"), "models, tools and strategies", "advice", "'echo-9' is no model of this package"),
    (MODEL, add("models/llm/_position.yaml", "[1]"), "models, tools and strategies", "broken", "'0': Input should be a valid string, got 1"),
    (MODEL, swap(ECHO, "model: echo-1", "model: echo-2"), "models, tools and strategies", "advice", "'echo-2' is declared more than once in models"),
    (MODEL, swap(ECHO, "options: [low, high]", "default: huge, options: [low, high]"), "models, tools and strategies", "advice", "'parameter_rules.0.default': expected one of the options, got 'huge'"),
    (MODEL, swap(ECHO, "type: string, options: [low, high]", "type: int, default: 9, max: 5"), "models, tools and strategies", "advice", "expected a number between min and max, got 9"),
    (MODEL, swap(ECHO, "type: string, options: [low, high]", "type: int, default: true"), "models, tools and strategies", "advice", "expected one of the type 'int', got True"),
    (MODEL, swap(ECHO, "name: temperature", "name: reasoning_effort"), "models, tools and strategies", "advice", "'parameter_rules': 'reasoning_effort' appears more than once"),
    (AGENT, swap(STRATEGY, "type: boolean", "type: select"), "models, tools and strategies", "advice", "'parameters.5.options': expected options for the type 'select'"),
    (AGENT, swap(STRATEGY, "type: any", "type: any, scope: text"), "models, tools and strategies", "advice", "'parameters.6.scope': expected one of string, number"),
    (AGENT, swap(STRATEGY, "type: number", "type: number, scope: llm"), "models, tools and strategies", "advice", "expected no scope for the type 'number'"),
    (MODEL, add(ECHO, "[" * 500), "models, tools and strategies", "refused", "models/llm/echo-1.yaml: expected YAML"),
    # Files that something names
    (MODEL, lambda files: (files.pop("_assets/icon.svg"), swap(MANIFEST, "icon: icon.svg\n", "")(files), swap(PROVIDER, "icon_small: { en_US: icon.svg }\n", "")(files)), "icons", "broken", "expected a folder '_assets'"),
    (MODEL, drop("README.md"), "documents", "advice", "expected a file 'README.md'"),
    (MODEL, drop("PRIVACY.md"), "documents", "advice", "'privacy': expected a file 'PRIVACY.md'"),
    (MODEL, drop("main.py"), "Python sources", "broken", "'meta.runner.entrypoint': expected a file 'main.py'"),
    (MODEL, drop("provider/echo.py"), "Python sources", "broken", "'extra.python.provider_source': expected a file 'provider/echo.py'"),
    (MODEL, drop("models/llm/llm.py"), "Python sources", "broken", "'extra.python.model_sources': expected a file 'models/llm/llm.py'"),
    (AGENT, drop("strategies/steps.py"), "Python sources", "broken", "'extra.python.source': expected a file 'strategies/steps.py'"),
    (MODEL, add("main.py", "def main(:"), "Python sources", "broken", "main.py: line 1: invalid syntax"),
    (MODEL, add("main.py", "def main[T = int](): ..."), "Python sources", "broken", "main.py: line 1: "),
    (MODEL, add("main.py", "a = '\0'"), "Python sources", "broken", "main.py: "),
    (MODEL, add("main.py", "-" * 100_000 + "1"), "Python sources", "broken", "main.py: expected Python: "),
    (MODEL, add("examples/old.py", "print 1"), "Python sources", "advice", "examples/old.py: line 1: "),
    (MODEL, swap(PROVIDER, "models/llm/llm.py", "models/llm.py"), "model modules", "advice", "expected 'models/llm.py' two folders deep"),
    # Unwanted files
    (MODEL, add(".env", "KEY=secret"), "no unwanted files", "advice", "'.env': expected no caches, tests, secrets or packages"),
    (MODEL, lambda files: files.update({f"tests/test_{n}.py": b"" for n in range(5)}), "no unwanted files", "advice", "'tests/test_2.py' and 2 more: expected no caches"),
    (MODEL, add("provider/__pycache__/echo.pyc"), "no unwanted files", "advice", "expected no caches, tests, secrets or packages"),
    (MODEL, add("film.bin", "x" * 6_000_000), "size", "advice", "expected at most 5242880 bytes, which every Dify takes, got 6"),
    # Wheels
    (MODEL, add(BASE, "no zip"), "wheels", "broken", f"{BASE}: expected a wheel"),
    (MODEL, add("wheels/other.whl", "no zip"), "wheels", "advice", "wheels/other.whl: expected a wheel"),
    (MODEL, rebuild(BASE, lambda inner: inner.update({"models/__init__.py": b""})), "wheels", "advice", "its module 'models' has the name of a file or folder"),
    (MODEL, rebuild(BASE, lambda inner: inner.update({"wire.py": b""})), "wheels", "advice", "its module 'wire' has the name of a file or folder"),
    (MODEL, rebuild(BASE, metadata("Version: 0.1.0", "Version: 0.2.0")), "wheels", "broken", "expected the name and version of its metadata"),
    (MODEL, rebuild(BASE, metadata("Name: tiny-base", "Name: tiny-base" + "\n" * 2_000_000)), "wheels", "broken", "expected METADATA of at most 1048576 bytes, got 2"),
    (MODEL, rebuild(BASE, dict.copy, "wheels/tiny_extra-0.1.0-cp312-cp312-linux_x86_64.whl"), "wheels", "advice", "tiny_extra-0.1.0-cp312-cp312-linux_x86_64.whl: expected the name"),
    (MODEL, rebuild(BASE, dict.copy, BASE.replace("py3-none-any", "cp312-cp312-linux_x86_64")), "wheels", "advice", "is not for every machine"),
    # What they need
    (MODEL, drop(BASE), "workspace packages", "broken", f"{TOP} needs 'tiny-base', which is not bundled"),
    (MODEL, rebuild(TOP, metadata(">=0.1,<0.2", ">=0.2,<0.3")), "workspace packages", "broken", "needs tiny-base<0.3,>=0.2, but 0.1.0+bundle is bundled"),
    (MODEL, swap("uv.lock", 'source = { path = "wheels/tiny_base-0.1.0+bundle-py3-none-any.whl" }', 'source = { registry = "https://pypi.org/simple" }'), "workspace packages", "broken", "takes 'tiny-base' from an index"),
    # The three files
    (MODEL, drop("pyproject.toml"), "pyproject.toml", "advice", "expected a file 'pyproject.toml'; without it only requirements.txt is installed"),
    (MODEL, lambda files: (files.pop("pyproject.toml"), files.pop("requirements.txt")), "pyproject.toml", "broken", "expected a file 'pyproject.toml' or 'requirements.txt'"),
    (MODEL, add("pyproject.toml", "[project"), "pyproject.toml", "broken", "pyproject.toml: expected TOML"),
    (MODEL, add("pyproject.toml", "[tool]"), "pyproject.toml", "broken", "'project': expected a table"),
    (MODEL, add("pyproject.toml", "a = " + "9" * 5000), "pyproject.toml", "broken", "pyproject.toml: expected TOML"),
    (MODEL, add("pyproject.toml", "a = " + "[" * 5000), "pyproject.toml", "broken", "pyproject.toml: expected TOML that is not nested so deeply"),
    (MODEL, swap("pyproject.toml", 'version = "0.0.1"', 'version = "0.0.2"'), "pyproject.toml", "advice", "'project.version': expected the version of manifest.yaml"),
    (MODEL, swap("pyproject.toml", ">=3.12", ">=3.13"), "pyproject.toml", "broken", "'project.requires-python': expected to allow Python 3.12"),
    (MODEL, swap("pyproject.toml", ">=3.12", "three"), "pyproject.toml", "broken", "'project.requires-python': Invalid specifier"),
    (MODEL, lambda files: (swap("pyproject.toml", "dev = []", "")(files), files.pop("requirements.txt")), "pyproject.toml", "advice", "'dependency-groups': expected 'dev'"),
    (MODEL, swap("pyproject.toml", "package = false", "[build-system]"), "pyproject.toml", "advice", "'tool.uv.package': expected false"),
    (MODEL, swap("pyproject.toml", "package = false", "package = false\nfind-links = ['x']"), "pyproject.toml", "advice", "'tool.uv.find-links': expected no setting"),
    (MODEL, swap("pyproject.toml", '{ path = "wheels/tiny_base', '{ path = "../tiny_base'), "pyproject.toml", "broken", f"'tool.uv.sources.tiny-base': expected the path '{BASE}'"),
    (MODEL, swap("pyproject.toml", "tiny-base = { path =", "tiny-bass = { path = 'gone' }\ntiny-base = { path ="), "pyproject.toml", "broken", "'tool.uv.sources.tiny-bass': expected a file 'gone'"),
    (MODEL, swap("pyproject.toml", "tiny-base = { path =", "tiny-bass = { workspace = true }\ntiny-base = { path ="), "pyproject.toml", "broken", "'tool.uv.sources.tiny-bass': expected no member of a workspace"),
    (MODEL, swap("pyproject.toml", "tiny-base = { path =", "tiny-bass = { index = 'other' }\ntiny-base = { path ="), "pyproject.toml", "advice", "'tool.uv.sources.tiny-bass': expected no index but the one of whoever installs"),
    (MODEL, swap("pyproject.toml", "tiny-base==0.1.0+bundle", "tiny-base>=0.1.0"), "pyproject.toml", "broken", "'project.dependencies': expected 'tiny-base==0.1.0+bundle'"),
    (MODEL, swap("pyproject.toml", "tiny-base==0.1.0+bundle", "!"), "pyproject.toml", "broken", "pyproject.toml: 'project.dependencies': "),
    (MODEL, swap("uv.lock", "version = 1", "version = 2"), "uv.lock", "broken", "uv.lock: 'version': expected 1, got 2"),
    (MODEL, drop("uv.lock"), "uv.lock", "advice", "expected a file 'uv.lock'"),
    (MODEL, add("uv.lock", "["), "uv.lock", "broken", "uv.lock: expected TOML"),
    (MODEL, rebuild(BASE, lambda inner: inner.update({"tiny_base/more.py": b""})), "uv.lock", "broken", f"'tiny-base': expected the hash of '{BASE}'"),
    (MODEL, drop(BASE), "uv.lock", "broken", f"'tiny-base': expected a file '{BASE}'"),
    (MODEL, swap("uv.lock", 'name = "tiny-base"\nversion = "0.1.0+bundle"', 'name = "tiny-base"\nversion = "0.1.1"'), "uv.lock", "broken", "'tiny-base': expected the version '0.1.0+bundle'"),
    (MODEL, swap("uv.lock", "[[package]]", '[[package]]\nname = "x"\nversion = "1"\nsource = { registry = "https://mirror.example/simple" }\n\n[[package]]'), "uv.lock", "advice", "packages come from 'https://mirror.example/simple'"),
    (MODEL, swap("uv.lock", "requires-dist = [", 'requires-dist = [{ name = "more" },'), "uv.lock", "advice", "expected the dependencies of pyproject.toml"),
    (MODEL, drop("requirements.txt"), "requirements.txt", "advice", "expected a file 'requirements.txt'"),
    (MODEL, lambda files: files.update({"requirements.txt": b"\xff"}), "requirements.txt", "broken", "requirements.txt: expected UTF-8 text"),
    (MODEL, swap("requirements.txt", "tiny-base==0.1.0+bundle", "tiny-base==0.1.0"), "requirements.txt", "broken", f"expected a line './{BASE}', or 'tiny-base==0.1.0+bundle' and '--find-links ./wheels'"),
    (MODEL, swap("requirements.txt", "--find-links ./wheels", "-f elsewhere"), "requirements.txt", "broken", f"expected a line './{BASE}', or"),
    (MODEL, lambda files: (rebuild(BASE, relabelled, PLAIN)(files), swap("requirements.txt", "tiny-base==0.1.0+bundle", "tiny-base==0.1.0")(files)), "requirements.txt", "advice", "'tiny-base==0.1.0': expected a local version such as '0.1.0+bundle', which no index has"),
    (MODEL, swap("requirements.txt", "--", "./wheels/other.whl\n--"), "requirements.txt", "broken", "'./wheels/other.whl': expected this file"),
    (MODEL, swap("uv.lock", "[[package]]", '[[package]]\nname = "x"\nversion = "1"\nsource = { registry = "https://pypi.org/simple" }\n\n[[package]]'), "requirements.txt", "advice", "expected the versions of uv.lock; x differ"),
    (MODEL, swap("requirements.txt", "--", "-e .\n--"), "requirements.txt", "advice", "expected 'name==version', got '-e .'"),
    (MODEL, swap("requirements.txt", "--", "--extra-index-url https://me:pw@x.example/simple\n--"), "requirements.txt", "advice", "requirements.txt: '--extra-index-url': expected no index but the one of whoever installs"),
    (MODEL, swap("requirements.txt", "--", "-i=https://x.example/simple\n--"), "requirements.txt", "advice", "requirements.txt: '-i': expected no index but the one of whoever installs"),
    (MODEL, lambda files: files.update({"uv.toml": b""}), "nothing unasked", "advice", "uv.toml: takes the place of 'tool.uv' of pyproject.toml, and may name another index"),
    (MODEL, lambda files: files.update({"provider/Pip.conf": b""}), "nothing unasked", "advice", "provider/Pip.conf: may name another index"),
    (MODEL, lambda files: files.update({"sitecustomize.py": b""}), "nothing unasked", "advice", "sitecustomize.py: Python runs it by itself"),
    (MODEL, lambda files: files.update({"usercustomize.py": b""}), "nothing unasked", "advice", "usercustomize.py: Python runs it by itself"),
    (MODEL, lambda files: files.update({"lib/run.pth": b""}), "nothing unasked", "advice", "lib/run.pth: Python may run it by itself"),
    (MODEL, swap("requirements.txt", "--", "requests>=2,<3\n--"), "requirements.txt", "advice", "expected 'name==version', got 'requests>=2,<3'"),
]  # fmt: skip


def test_naming_the_public_index_is_no_fault(read, found):
    files = read(MODEL)
    told = found(files)
    swap("requirements.txt", "--", "--index-url https://pypi.org/simple/\n--")(files)
    assert found(files) == told


@pytest.mark.parametrize(
    "fault", FAULTS, ids=[f"{n}: {fault[4]}" for n, fault in enumerate(FAULTS)]
)
def test_a_package_with_one_fault_is_told_of_it(read, found, fault):
    name, spoil, check_name, kind, reason = fault
    files = read(name)
    spoil(files)
    findings = found(files)
    assert any(
        row == check_name and kind == how and reason in text for how, row, text in findings
    ), findings


@pytest.mark.parametrize("options", ["--find-links ./wheels", "--no-index\n-f wheels"])
def test_a_wheel_that_is_found_beside_the_list_needs_no_line_of_its_own(read, found, options):
    files = read(MODEL)
    swap("requirements.txt", "--find-links ./wheels", options)(files)
    assert found(files) == []


def test_a_wheel_is_listed_by_its_path_as_well(read, found):
    files = read(MODEL)
    paths = sorted(path for path in files if path.endswith(".whl"))
    files["requirements.txt"] = "".join(f"./{path}\n" for path in paths).encode()
    assert found(files) == []


def test_what_only_a_group_of_the_lock_leads_to_is_not_expected_in_the_list(read, found):
    """The official command line writes no group into it."""
    files = read(MODEL)
    source = 'source = { registry = "https://pypi.org/simple" }'
    lock = (
        f'\n[[package]]\nname = "tester"\nversion = "1"\n{source}\n'
        'dependencies = [{ name = "helper" }, { name = "tester" }]\n'
        f'\n[[package]]\nname = "helper"\nversion = "1"\n{source}\n'
        '\n[[package]]\nname = "mine"\nversion = "1"\nsource = { virtual = "." }\n'
        '\n[package.dev-dependencies]\ndev = [{ name = "tester" }]\n'
    )
    files["uv.lock"] += lock.encode()
    assert not any("differ" in str(finding) for finding in found(files))


def test_where_no_index_is_asked_a_wheel_needs_no_label(read, found):
    files = read(MODEL)
    rebuild(BASE, relabelled, PLAIN)(files)
    swap("requirements.txt", "tiny-base==0.1.0+bundle", "tiny-base==0.1.0")(files)
    swap("requirements.txt", "--find", "--no-index\n--find")(files)
    assert not [text for _, row, text in found(files) if row == "requirements.txt"]


def test_advice_fails_only_when_it_is_asked_to(check, read, tmp_path):
    files = read(MODEL)
    del files["README.md"]
    path = write(tmp_path / "p.difypkg", files)
    assert [check(path, "--quick", *more)[0] for more in ((), ("--strict",))] == [0, 1]


def test_every_stage_is_reported_whatever_was_found(check, read, tmp_path):
    files = read(MODEL)
    swap(MANIFEST, "author: tests", "author: T")(files)
    add("main.py", "def (")(files)
    del files["README.md"]
    code, results = check(write(tmp_path / "p.difypkg", files))
    assert code == 1
    marks = {name: mark for mark, name, _ in results}
    expected = {
        "signature": "✓",
        "manifest.yaml": "✗",
        "Python sources": "✗",
        "documents": "!",
        "uv.lock": "✓",
    }
    assert expected.items() <= marks.items()
    assert marks["install from uv.lock"] == marks["start and call, from uv.lock"] == "-"


def test_findings_are_counted_by_kind(check, read, tmp_path):
    files = read(MODEL)
    swap(MANIFEST, "author: tests", "author: T")(files)
    add("main.py", "def (")(files)
    del files["README.md"]
    _, results = check(write(tmp_path / "p.difypkg", files), "--quick")
    assert results[-1][0] == "the platform refuses: 2; would break when used: 1; we advise: 1"


def test_without_a_manifest_there_is_nothing_more_to_check(check, read, tmp_path):
    files = read(MODEL)
    del files[MANIFEST]
    _, results = check(write(tmp_path / "p.difypkg", files), "--quick")
    marks = {name: mark for mark, name, _ in results}
    assert marks["manifest.yaml"] == "✗"
    assert marks["uv.lock"] == marks["providers"] == "-"


@pytest.mark.parametrize(
    ("pin", "is_old"),
    [
        ("dify-plugin==0.10.2", False),
        ("dify-plugin>=0.10.1,<0.11", False),
        ("dify_plugin~=0.10.1", False),
        ("dify-plugin >= 0.10.1", False),
        ("dify-plugin", False),
        ("dify-plugin>=odd.1", False),
        ("dify-plugin==odd.1", False),
        ("dify-plugin==0.0.1b71", True),
        ("dify-plugin>=0.0.1", True),
    ],
)
def test_an_sdk_that_the_daemon_takes_for_an_old_one_is_told(read, found, pin, is_old):
    files = read(MODEL)
    del files["wheels/dify_plugin-0.10.2+bundle-py3-none-any.whl"]
    swap("pyproject.toml", "dify-plugin==0.10.2", pin)(files)
    texts = [text for _, row, text in found(files) if row == "pyproject.toml"]
    assert any("overwrites files of the SDK" in text for text in texts) is is_old


def test_entries_that_the_daemon_makes_a_file_of_are_told(read, found):
    files = read(MODEL)
    link = zipfile.ZipInfo("link.py")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    link.create_system = 3
    (told,) = found(files, [(link, "main.py")])
    assert told[:2] == ("advice", "archive entries")
    assert "'link.py' is a link, of which the daemon makes a file" in told[2]


@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
def test_of_an_entry_that_appears_twice_the_first_counts(read, found):
    (told,) = found(read(MODEL), [("main.py", "def (")])
    assert told[2] == "'main.py' appears more than once; the daemon takes the first"


@pytest.mark.parametrize("comment", [b"hello", b"[]", b'{"signature": "x"}', b"[" * 60_000])
def test_a_comment_that_is_no_signature_is_told(read, found, comment):
    assert found(read(MODEL), comment=comment) == [
        ("advice", "signature", "the archive's comment: expected nothing or a signature")
    ]


def test_a_signed_package_is_as_good_as_another(read, found):
    files = read(MODEL) | {".verification.dify.json": b'{"authorized_category":"community"}'}
    assert found(files, comment=b'{"signature": "x", "time": 1}') == []


@pytest.mark.parametrize(
    ("version", "is_told"),
    [(None, True), ("1.14.9", True), ("0.99.0", True), ("1.15.0", False), ("2.0.0-rc1", False)],
)
def test_a_model_that_is_polled_is_kept_from_versions_of_dify_that_do_not_know_it(
    read, found, version, is_told
):
    files = read(MODEL)
    files[ECHO] = files[ECHO].replace(b"features: [", b"features: [polling, ")
    told = f"entrypoint: main }}, minimum_dify_version: {version} }}"
    if version:
        assert b"entrypoint: main } }" in files[MANIFEST]
        files[MANIFEST] = files[MANIFEST].replace(b"entrypoint: main } }", told.encode())
    about = [(kind, text) for kind, _, text in found(files) if "minimum_dify_version" in text]
    expected = f"expected at least 1.15.0, the first version of Dify that polls, as {ECHO} declares"
    text = f"manifest.yaml: 'meta.minimum_dify_version': {expected}; got {version!r}"
    assert about == ([("broken", text)] if is_told else [])


@pytest.mark.parametrize("name", [MODEL, AGENT])
def test_a_good_package_passes_the_quick_checks(check, packages, name):
    code, results = check(packages / f"{name}.difypkg", "--quick")
    assert code == 0
    assert {mark for mark, _, _ in results} == {"✓"}, results


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


def test_a_good_tool_package_passes_the_quick_checks(check, tool_package):
    code, results = check(tool_package, "--quick")
    assert (code, {mark for mark, _, _ in results}) == (0, {"✓"}), results


def failures(results):
    return {
        name: text.replace("would break when used: ", "")
        for mark, name, text in results
        if mark == "✗"
    }


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
    """Check a package with a fault in it, by the first route alone; return exit code and what failed."""

    def run(fault, name=MODEL):
        files = read(name)
        del files["requirements.txt"]
        fault(files)
        path = tmp_path / "spoilt.difypkg"
        with zipfile.ZipFile(path, "w") as archive:
            for entry, content in files.items():
                archive.writestr(entry, content)
        code, results = check(path)
        run.texts = {name: text for _, name, text in results}
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
    assert problems.keys() == {"start and call, from uv.lock"}
    assert reason in problems["start and call, from uv.lock"]


def test_an_installation_that_fails_is_told_and_nothing_is_started(check, packages, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null")  # uv finds no place for its cache
    code, results = check(packages / f"{MODEL}.difypkg")
    problems = failures(results)
    assert code == 1
    assert problems.keys() == {"install from uv.lock", "install from requirements.txt"}
    assert "`uv venv .venv --python 3.12` failed" in problems["install from uv.lock"]


NO_MODELS = (
    """models:
  llm:
    predefined: ["models/llm/*.yaml"]
    position: models/llm/_position.yaml
""",
    "models: { llm: { predefined: [] } }\n",
)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ('text(request, "hm")', "steps: expected 'hello world' in the answer, got 'hmhm'"),
        ("raise RuntimeError(1)", "steps: expected an answer, got the error"),
    ],
)
def test_what_is_odd_about_a_strategys_answer_is_advice(check_spoilt, said, told):
    spoken = 'text(request, delta["message"]["content"])'
    code, problems = check_spoilt(swap("main.py", spoken, said), AGENT)
    assert (code, problems) == (0, {})
    assert told in check_spoilt.texts["start and call, from uv.lock"]


@pytest.mark.parametrize(
    "fault",
    [
        swap("provider/echo.yaml", *NO_MODELS),
        swap("provider/echo.yaml", "openai_api_base", "host"),
        swap("provider/echo.yaml", "openai_api_base", "region, required: true"),
    ],
    ids=["without models", "without an address", "with more that it needs"],
)
def test_a_model_that_the_simulator_cannot_stand_for_is_only_started(check_spoilt, fault):
    code, problems = check_spoilt(fault)
    assert (code, problems) == (0, {})
    assert check_spoilt.texts["start and call, from uv.lock"].endswith(" s")


@pytest.fixture
def unreadable(monkeypatch, capsys, console_scripts):
    """Check a file that is no package at all; return exit code and complaint."""
    command = console_scripts["dify-host"]

    def run(path):
        monkeypatch.setattr(sys, "argv", ["dify-host", "check", str(path)])
        with pytest.raises(SystemExit) as ended:
            command.load()()
        return ended.value.code, capsys.readouterr().err

    return run


def test_a_file_that_is_not_there_is_bad_usage(unreadable, tmp_path):
    code, err = unreadable(tmp_path / "p.difypkg")
    assert code == 2
    assert err.endswith("no such file; expected a .difypkg file\n")


def test_a_folder_is_no_package_but_can_be_made_one(unreadable, tmp_path):
    code, err = unreadable(tmp_path)
    assert code == 2
    assert err == (
        f"dify-host: error: {tmp_path}: expected a .difypkg file, found a folder; "
        f"`dify-host package {tmp_path}` makes one of a plugin's folder\n"
    )


def test_a_package_too_large_to_be_sent_is_refused(check, read, tmp_path):
    path = write(tmp_path / "p.difypkg", read(MODEL))
    path.write_bytes(bytes(52_428_800) + path.read_bytes())
    code, results = check(path, "--quick")
    assert code == 1
    (refused,) = (text for _, name, text in results if name in {"size", "archive entries"} and text)
    assert "52428800 bytes" in refused
