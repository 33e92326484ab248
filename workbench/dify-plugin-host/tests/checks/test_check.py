"""Packages from the command's side: rows and marks, exit codes, installation, start and call."""

import importlib.util
import re
import zipfile
from pathlib import Path

import pytest
from damages import base, pack, put, swap

from dify_plugin_packager.packaging import build_package


pytestmark = pytest.mark.usefixtures("state")

MODEL, AGENT = "echo_model", "small_agent"
MANIFEST = "manifest.yaml"
PROVIDER = "provider/echo.yaml"


@pytest.fixture
def check(dify_host, monkeypatch, tmp_path):
    """Run the installed command on a package; return exit code and the table's rows as (mark, check, text)."""
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.chdir(tmp_path)

    def run(path, *options):
        code, out, err = dify_host("check", path, *options)
        assert err == ""
        return code, list(rows(out))

    return run


@pytest.fixture
def read(packages):
    """Return the files of a good package, to be spoilt."""
    return lambda name: contents(packages / f"{name}.difypkg")


def contents(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path, files):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def rows(table):
    """Iterate over the rows of a table; one that goes on in the next line stays one."""
    for row in re.split(r"\n(?! )", table.rstrip())[1:]:
        mark, name, text = (*re.split(r"  +", row, maxsplit=2), "", "")[:3]
        yield mark, name.rstrip(), re.sub(r"\s*\n\s*", "\n", text.strip())


def test_advice_fails_only_when_it_is_asked_to(check, read, tmp_path):
    files = read(MODEL)
    del files["README.md"]
    path = write(tmp_path / "p.difypkg", files)
    assert [check(path, "--quick", *more)[0] for more in ((), ("--strict",))] == [0, 1]


def test_every_stage_is_reported_whatever_was_found(check, read, tmp_path):
    files = read(MODEL)
    swap(MANIFEST, "author: tests", "author: T")(files)
    put("main.py", "def (")(files)
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
    put("main.py", "def (")(files)
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
    sdk.write_text("import os\nos._exit(7)")
    code, results = check(build_package(workshop / "plugins" / MODEL, workshop / "dist").path)
    marks = {name: mark for mark, name, _ in results if name.startswith("install from")}
    assert (code, marks) == (
        0,
        {f"install from {route}": "✓" for route in ("uv.lock", "requirements.txt")},
    )


REAL_SDK = """import pathlib, sys
sys.path.append({folder!r})
__path__ = [str(pathlib.Path({folder!r}, "dify_plugin"))]
if sys.argv[0] != "-c":  # as an installation imports it, to warm up, which takes as long as all else here
    exec(pathlib.Path(*__path__, "__init__.py").read_text())
"""


def test_what_the_sdk_refuses_would_break_by_file_and_field(check, workshop, tmp_path):
    """The SDK is the one that is installed for these tests, in the place of the package's own, which takes seconds to load: one route is enough."""
    folder = str(Path(importlib.util.find_spec("dify_plugin").origin).parent.parent)
    sdk = workshop / "packages/dify-plugin/src/dify_plugin/__init__.py"
    sdk.write_text(REAL_SDK.format(folder=folder))
    provider = workshop / "plugins" / MODEL / PROVIDER
    provider.write_text(provider.read_text().replace("[predefined-model]", "[magic]"))
    path = build_package(workshop / "plugins" / MODEL, workshop / "dist").path
    assert check(path, "--quick")[0] == 0
    files = contents(path)
    del files["requirements.txt"]
    code, results = check(write(tmp_path / "p.difypkg", files))
    told = f"{PROVIDER}: 'configurate_methods.0': Input should be 'predefined-model'"
    assert code == 1
    assert told in failures(results)["start and call, from uv.lock"]


@pytest.fixture
def check_spoilt(check, read, tmp_path):
    """Check a package with a fault in it, by the first route alone; return exit code and what failed."""

    def run(fault, name=MODEL):
        files = read(name)
        del files["requirements.txt"]
        fault(files)
        code, results = check(write(tmp_path / "spoilt.difypkg", files))
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


LOOK = '{"tool_type": "builtin", "provider": "p", "tool": "look", "tool_parameters": {}}'
FILE = '{"filename": "a.png", "mimetype": "image/png"}'


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ('text(request, "hm")', "steps: expected 'hello world' in the answer, got 'hmhm'"),
        (
            "text(request, str([message['data'] for asked in ('tool "
            + LOOK
            + "', 'upload_file "
            + FILE
            + "') for message in raw(request, asked)]))",
            "look was called",
        ),
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
def unreadable(dify_host):
    """Check a file that is no package at all; return exit code and complaint."""

    def run(path):
        code, _, err = dify_host("check", path)
        return code, err

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


def test_what_is_no_archive_is_refused_and_nothing_else_is_looked_at(check, tmp_path):
    path = tmp_path / "p.difypkg"
    path.write_bytes(b"no archive")
    code, results = check(path, "--quick")
    assert code == 1
    [(_, name, text), *rest] = results
    assert name == "archive entries"
    assert "zip" in " ".join([text, *(more for *_, more in rest)])


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_the_name_of_a_file_gives_a_terminal_no_command(dify_host, tmp_path, options):
    files = base(MODEL)
    for name in ("\x1b]0;owned\x07\u202e.pth", "tools/\x9b31m.py"):
        put(name, "(")(files)
    package = tmp_path / "\x1b[31m.difypkg"
    package.write_bytes(pack(files))
    code, out, err = dify_host("check", "--quick", package, *options)
    assert (code, err) == (0, "")
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & {*out}
    assert ("\\u001b]0;owned" if options else "\\x1b]0;owned") in out
    package.unlink()
    _, _, err = dify_host("check", "--quick", package, *options)
    assert "\\x1b[31m.difypkg" in err
    assert "\x1b" not in err
