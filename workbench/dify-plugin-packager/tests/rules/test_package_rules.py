"""Good packages, and many with a single fault each, which the right rule has to name."""

import io
import stat
import zipfile

import pytest
from damages import base, drop, pack, put, swap

from dify_plugin_packager.rules import find_refusals


MODEL, AGENT = "echo_model", "small_agent"
MANIFEST = "manifest.yaml"
PROVIDER = "provider/echo.yaml"
ECHO = "models/llm/echo-1.yaml"
STRATEGY = "strategies/steps.yaml"
BASE = "wheels/tiny_base-0.1.0+bundle-py3-none-any.whl"
PLAIN = "wheels/tiny_base-0.1.0-py3-none-any.whl"
TOP = "wheels/tiny_top-0.1.0+bundle-py3-none-any.whl"


@pytest.fixture
def read(packages):
    """Return the files of a good package, to be spoilt."""

    def run(name):
        with zipfile.ZipFile(packages / f"{name}.difypkg") as archive:
            return {path: archive.read(path) for path in archive.namelist()}

    return run


@pytest.fixture
def found(findings_of):
    """Write these files as a package; return what the rules find as (kind, rule, text)."""
    return lambda files, entries=(), comment=b"": findings_of(write(files, entries, comment))


def write(files, entries, comment):
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in [*files.items(), *entries]:
            archive.writestr(name, content)
        archive.comment = comment
    return target.getvalue()


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
    (MODEL, swap(MANIFEST, "[provider/echo.yaml]", "[provider/echo.yaml, provider/echo.yaml]"), "manifest.yaml", "advice", "'plugins.models': only the last one counts"),
    (MODEL, swap(MANIFEST, "en_US: Echo", f"en_US: {'e' * 1024}"), "manifest.yaml", "advice", "'label.en_US': expected fewer than 1024 characters, got 'eee"),
    (MODEL, swap(MANIFEST, "type: plugin", "type: plugin\ntags: [ai]"), "manifest.yaml", "advice", "'tags.0': expected one of search, image,"),
    (MODEL, swap(MANIFEST, "type: plugin", "type: plugin\nrepo: github"), "manifest.yaml", "advice", "'repo': expected a URL, got 'github'"),
    # What comes to nothing
    (MODEL, swap(PROVIDER, "[predefined-model]", "[]"), "providers", "advice", "'configurate_methods': expected at least one"),
    (MODEL, swap(PROVIDER, "variable: request_timeout_seconds", "variable: openai_api_key"), "providers", "advice", "'openai_api_key' appears more than once"),
    (MODEL, swap(PROVIDER, "models/llm/*.yaml", "models/llms/*.yaml"), "providers", "advice", "'models.llm': 'models/llms/*.yaml' matches no file"),
    (MODEL, put("models/llm/_position.yaml", "[echo-9]"), "models, tools and strategies", "advice", "'echo-9' is not a model of this package"),
    (MODEL, swap(ECHO, "model: echo-1", "model: echo-2"), "models, tools and strategies", "advice", "'echo-2' is declared more than once in models"),
    (MODEL, swap(ECHO, "options: [low, high]", "default: huge, options: [low, high]"), "models, tools and strategies", "advice", "'parameter_rules.0.default': expected one of the options, got 'huge'"),
    (MODEL, swap(ECHO, "type: string, options: [low, high]", "type: int, default: 9, max: 5"), "models, tools and strategies", "advice", "expected a number between min and max, got 9"),
    (MODEL, swap(ECHO, "type: string, options: [low, high]", "type: int, default: true"), "models, tools and strategies", "advice", "expected one of the type 'int', got True"),
    (MODEL, swap(ECHO, "name: temperature", "name: reasoning_effort"), "models, tools and strategies", "advice", "'parameter_rules': 'reasoning_effort' appears more than once"),
    (AGENT, swap(STRATEGY, "type: boolean", "type: select"), "models, tools and strategies", "advice", "'parameters.5.options': expected options for the type 'select'"),
    (AGENT, swap(STRATEGY, "type: any", "type: any, scope: text"), "models, tools and strategies", "advice", "'parameters.6.scope': expected one of string, number"),
    (AGENT, swap(STRATEGY, "type: number", "type: number, scope: llm"), "models, tools and strategies", "advice", "expected no scope for the type 'number'"),
    (MODEL, put(ECHO, "[" * 500), "models, tools and strategies", "refused", "models/llm/echo-1.yaml: expected YAML"),
    # Files that something names
    (MODEL, lambda files: (files.pop("_assets/icon.svg"), swap(MANIFEST, "icon: icon.svg\n", "")(files), swap(PROVIDER, "icon_small: { en_US: icon.svg }\n", "")(files)), "icons", "broken", "expected a folder '_assets'"),
    (MODEL, drop("README.md"), "documents", "advice", "expected a file 'README.md'"),
    (MODEL, drop("PRIVACY.md"), "documents", "advice", "'privacy': expected a file 'PRIVACY.md'"),
    (MODEL, drop("main.py"), "Python sources", "broken", "'meta.runner.entrypoint': expected a file 'main.py'"),
    (MODEL, drop("provider/echo.py"), "Python sources", "broken", "'extra.python.provider_source': expected a file 'provider/echo.py'"),
    (MODEL, drop("models/llm/llm.py"), "Python sources", "broken", "'extra.python.model_sources': expected a file 'models/llm/llm.py'"),
    (AGENT, drop("strategies/steps.py"), "Python sources", "broken", "'extra.python.source': expected a file 'strategies/steps.py'"),
    (MODEL, put("main.py", "def main(:"), "Python sources", "broken", "main.py: line 1: invalid syntax"),
    (MODEL, put("main.py", "def main[T = int](): ..."), "Python sources", "broken", "main.py: line 1: "),
    (MODEL, put("main.py", "a = '\0'"), "Python sources", "broken", "main.py: "),
    (MODEL, put("main.py", "-" * 100_000 + "1"), "Python sources", "broken", "main.py: expected Python: "),
    (MODEL, put("examples/old.py", "print 1"), "Python sources", "advice", "examples/old.py: line 1: "),
    (MODEL, swap(PROVIDER, "models/llm/llm.py", "models/llm.py"), "model modules", "advice", "expected 'models/llm.py' two folders deep"),
    # Unwanted files
    (MODEL, put(".env", "KEY=secret"), "no unwanted files", "advice", "'.env': expected no caches, tests, secrets or packages"),
    (MODEL, lambda files: files.update({f"tests/test_{n}.py": b"" for n in range(5)}), "no unwanted files", "advice", "'tests/test_2.py' and 2 more: expected no caches"),
    (MODEL, put("provider/__pycache__/echo.pyc", ""), "no unwanted files", "advice", "expected no caches, tests, secrets or packages"),
    (MODEL, put("film.bin", "x" * 6_000_000), "size", "advice", "expected at most 5242880 bytes, which every Dify accepts, got 6"),
    # Wheels
    (MODEL, put(BASE, "no zip"), "wheels", "broken", f"{BASE}: expected a wheel"),
    (MODEL, put("wheels/other.whl", "no zip"), "wheels", "advice", "wheels/other.whl: expected a wheel"),
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
    (MODEL, put("pyproject.toml", "[project"), "pyproject.toml", "broken", "pyproject.toml: expected TOML"),
    (MODEL, put("pyproject.toml", "[tool]"), "pyproject.toml", "broken", "'project': expected a table"),
    (MODEL, put("pyproject.toml", "a = " + "9" * 5000), "pyproject.toml", "broken", "pyproject.toml: expected TOML"),
    (MODEL, put("pyproject.toml", "a = " + "[" * 5000), "pyproject.toml", "broken", "pyproject.toml: expected TOML that is not nested so deeply"),
    (MODEL, swap("pyproject.toml", 'version = "0.0.1"', 'version = "0.0.2"'), "pyproject.toml", "advice", "'project.version': expected the version of manifest.yaml"),
    (MODEL, swap("pyproject.toml", ">=3.12", ">=3.13"), "pyproject.toml", "broken", "'project.requires-python': expected to allow Python 3.12"),
    (MODEL, swap("pyproject.toml", ">=3.12", "three"), "pyproject.toml", "broken", "'project.requires-python': Invalid specifier"),
    (MODEL, lambda files: (swap("pyproject.toml", "dev = []", "")(files), files.pop("requirements.txt")), "pyproject.toml", "advice", "'dependency-groups': expected 'dev'"),
    (MODEL, swap("pyproject.toml", "package = false", "[build-system]"), "pyproject.toml", "advice", "'tool.uv.package': expected false"),
    (MODEL, swap("pyproject.toml", "package = false", "package = false\nfind-links = ['x']"), "pyproject.toml", "advice", "'tool.uv.find-links': expected no setting"),
    (MODEL, swap("pyproject.toml", '{ path = "wheels/tiny_base', '{ path = "../tiny_base'), "pyproject.toml", "broken", f"'tool.uv.sources.tiny-base': expected the path '{BASE}'"),
    (MODEL, swap("pyproject.toml", "tiny-base = { path =", "tiny-bass = { path = 'gone' }\ntiny-base = { path ="), "pyproject.toml", "broken", "'tool.uv.sources.tiny-bass': expected a file 'gone'"),
    (MODEL, swap("pyproject.toml", "tiny-base = { path =", "tiny-bass = { workspace = true }\ntiny-base = { path ="), "pyproject.toml", "broken", "'tool.uv.sources.tiny-bass': expected no member of a workspace"),
    (MODEL, swap("pyproject.toml", "tiny-base = { path =", "tiny-bass = { index = 'other' }\ntiny-base = { path ="), "pyproject.toml", "advice", "'tool.uv.sources.tiny-bass': expected no index: whoever installs the package chooses it"),
    (MODEL, swap("pyproject.toml", "tiny-base==0.1.0+bundle", "tiny-base>=0.1.0"), "pyproject.toml", "broken", "'project.dependencies': expected 'tiny-base==0.1.0+bundle'"),
    (MODEL, swap("pyproject.toml", "tiny-base==0.1.0+bundle", "!"), "pyproject.toml", "broken", "pyproject.toml: 'project.dependencies': "),
    (MODEL, swap("uv.lock", "version = 1", "version = 2"), "uv.lock", "broken", "uv.lock: 'version': expected 1, got 2"),
    (MODEL, drop("uv.lock"), "uv.lock", "advice", "expected a file 'uv.lock'"),
    (MODEL, put("uv.lock", "["), "uv.lock", "broken", "uv.lock: expected TOML"),
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
    (MODEL, swap("requirements.txt", "--", "--extra-index-url https://me:pw@x.example/simple\n--"), "requirements.txt", "advice", "requirements.txt: '--extra-index-url': expected no index: whoever installs the package chooses it"),
    (MODEL, swap("requirements.txt", "--", "-i=https://x.example/simple\n--"), "requirements.txt", "advice", "requirements.txt: '-i': expected no index: whoever installs the package chooses it"),
    (MODEL, lambda files: files.update({"uv.toml": b""}), "nothing unasked", "advice", "uv.toml: overrides 'tool.uv' in pyproject.toml, and may name another index"),
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
    assert "'link.py' is a link, which the daemon turns into a file" in told[2]


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
    [(None, True), ("1.14.2", True), ("0.99.0", True), ("1.15.0", False), ("2.0.0-rc1", False)],
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
    text = f"{ECHO}: 'features': expected no polling, or at least 1.15.0 in 'meta.minimum_dify_version'"
    assert [(kind, text in told) for kind, told in about] == [("broken", True)] * is_told


def test_a_package_too_large_to_be_sent_is_refused(read, findings_of):
    content = bytes(52_428_800) + write(read(MODEL), (), b"")
    refused = [text for kind, _, text in findings_of(content) if kind == "refused"]
    assert any("52428800 bytes" in text for text in refused), refused


def test_why_files_would_be_refused_is_known_before_they_are_a_package(read):
    files = read(MODEL)
    assert list(find_refusals(files)) == []
    (reason,) = find_refusals(files | {"film.bin": bytes(52_428_800)})
    assert reason.startswith("expected at most 52428800 bytes, got 5")
    swap(MANIFEST, "author: tests", "author: T")(files)
    assert any("'author'" in reason for reason in find_refusals(files))


def test_an_offline_package_has_all_its_wheels(packager, workshop, monkeypatch, findings_of):
    monkeypatch.chdir(workshop)
    code, out, _ = packager("package", "--offline", "echo_model")
    assert code == 0
    content = (workshop / out.split()[0]).read_bytes()
    told = {"wheels", "pyproject.toml", "uv.lock", "requirements.txt"}
    assert not [text for _, rule, text in findings_of(content) if rule in told]
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = [name for name in archive.namelist() if "tiny_base" not in name]
        less = write({name: archive.read(name) for name in names}, (), b"")
    texts = [text for kind, _, text in findings_of(less) if kind == "broken"]
    missing = "uv.lock: 'tiny-base': expected a file 'wheels/tiny_base-0.1.0"
    assert any(text.startswith(missing) for text in texts), texts


def test_endpoints_that_nobody_may_set_up_are_found(findings_of):
    text = "manifest.yaml: 'resource.permission.endpoint.enabled': expected true, or the daemon sets up no endpoint"
    files = base("endpoints")
    assert ("broken", "permissions", text) in findings_of(pack(files))
    permission = "memory: 1048576, permission: { endpoint: { enabled: true } }"
    swap(MANIFEST, "memory: 1048576", permission)(files)
    assert "permissions" not in {rule for _, rule, _ in findings_of(pack(files))}
