"""A plugin of each kind, as `dify-host new` writes it: checked, and called by its own tests."""

import functools
import json
import os
import py_compile
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import dify_plugin_host
from dify_plugin_packager.packaging import run_uv, search_path


TEMPLATES = Path(dify_plugin_host.__file__).parent / "_scaffold" / "templates"
PAGE = Path(__file__).parents[4] / "docs" / "dify-plugin-host" / "authors.md"
KINDS = ("tool", "model", "agent", "endpoint", "datasource", "trigger")
# All that a package lacks whose lock nobody has made yet.
WITHOUT_LOCK = {
    "uv.lock: expected a file 'uv.lock'; without it an installation takes the newest versions",
    "requirements.txt: expected a file 'requirements.txt', which mirrors install from and the marketplace tests",
}


@pytest.fixture
def new(dify_host, monkeypatch, tmp_path):
    """Begin a plugin in an empty folder; return exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    return functools.partial(dify_host, "new")


@pytest.fixture
def check(dify_host):
    """Package a folder and check it by the installed commands; return exit code and findings as texts."""

    def run(folder, *options):
        package = folder.parent / f"{folder.name}.difypkg"
        code, _, err = dify_host("package", folder, "--output", package)
        assert (code, err) == (0, "")
        code, out, _ = dify_host("check", package, "--json", *options)
        results = [json.loads(line) for line in out.splitlines()]
        return code, {
            f"{result['name']}: {finding['text']}"
            for result in results
            for finding in result["findings"]
        }

    return run


def run_tests(folder, *arguments):
    """Run the tests of written plugins as their authors do; return the report and whether all have passed."""
    command = [sys.executable, "-m", "pytest", "-q", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout, done.returncode == 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_plugin_passes_the_check(new, check, tmp_path, kind):
    code, out, _ = new("hello", "--kind", kind, "--author", "ada")
    assert code == 0
    assert "cd hello\n" in out
    assert check(tmp_path / "hello", "--quick") == (0, WITHOUT_LOCK)


def test_new_plugins_start_and_pass_their_own_tests(new, tmp_path):
    """All in one run, from the folder around them."""
    (tmp_path / "pytest.ini").touch()
    for kind in KINDS:
        new(kind, "--kind", kind, "--author", "ada")
    report, passed = run_tests(tmp_path, "--import-mode=importlib", *KINDS)
    assert passed, report


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_what_its_author_does_next_works(new, check, tmp_path, kind):
    """The plugin SDK comes from the index, and what is left to mend is what only the author knows."""
    new("hello", "--kind", kind, "--author", "ada")
    run_uv("sync", cwd=tmp_path / "hello", environment={**os.environ, "PATH": search_path()})
    report, passed = run_tests(tmp_path / "hello")
    assert passed, report
    code, findings = check(tmp_path / "hello", "--marketplace")
    assert code == 0
    assert {text.partition(": expected")[0] for text in findings} == {
        "marketplace: manifest: manifest.yaml: 'repo'",
        "marketplace: manifest: manifest.yaml: 'contact'",
        "marketplace: README: README.md",
    }


@pytest.mark.long
def test_the_first_five_minutes_of_the_page_go_as_it_says(tmp_path):
    first, _ = re.findall(r"```text\n(.*?)```", PAGE.read_text(), re.DOTALL)
    environment = {**os.environ, "PATH": search_path()}
    done = subprocess.run(
        ["bash", "-ec", first],
        check=False,
        cwd=tmp_path,
        env=environment,
        text=True,
        capture_output=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\n2\n" in done.stdout


def test_a_clone_of_an_empty_repository_may_become_a_plugin(new, tmp_path):
    (tmp_path / "hello" / ".git").mkdir(parents=True)
    assert new("hello", "--author", "ada")[0] == 0


@pytest.mark.parametrize("name", ["-hello", "./-hello", "it is/-hello", "it's/hello"])
def test_the_commands_that_it_prints_work_whatever_the_folder_is_called(
    new, dify_host, tmp_path, name
):
    code, out, _ = new("--author", "ada", "--", name)
    assert code == 0
    (enter,) = [line.strip() for line in out.splitlines() if line.startswith("  cd ")]
    done = subprocess.run(
        ["bash", "-c", f"{enter} && pwd"], check=True, cwd=tmp_path, stdout=subprocess.PIPE
    )
    assert done.stdout.decode() == f"{tmp_path / name}\n"
    listed = dify_host("call", "--", name)[1]
    assert listed.startswith(f"dify-host call {enter.removeprefix('cd ')} count_words text=string")


def manifest_of(folder):
    return yaml.safe_load((folder / "manifest.yaml").read_text())


def test_a_name_that_looks_like_a_number_stays_a_name(new, check, tmp_path):
    new("2027", "--author", "007")
    names = manifest_of(tmp_path / "2027")
    assert (names["name"], names["author"], names["label"]) == ("2027", "007", {"en_US": "2027"})
    assert check(tmp_path / "2027", "--quick") == (0, WITHOUT_LOCK)


@pytest.mark.parametrize(
    ("name", "project", "label"),
    [
        ("word_count", "word-count-for-dify", "Word count"),
        ("dify-plugin", "dify-plugin-for-dify", "Dify plugin"),
        ("_", "for-dify", "_"),
        ("-words", "words-for-dify", "Words"),
    ],
)
def test_a_project_is_never_called_as_what_it_needs(new, tmp_path, name, project, label):
    new(tmp_path / "deep" / name, "--author", "ada")
    written = tomllib.loads((tmp_path / "deep" / name / "pyproject.toml").read_text())
    assert written["project"]["name"] == project
    assert manifest_of(tmp_path / "deep" / name)["label"]["en_US"] == label


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["Hello"], "Invalid value for NAME: expected up to 128 of a-z, 0-9, '_' and '-', got 'Hello'"),
        (["hello", "--author", "Ada"], "Invalid value for --author: expected up to 64 of a-z, 0-9"),
        (["hello", "--author", "dify-fan"], "--author: expected a user or organisation without 'dify'"),
        (["hello", "--kind", "app"], "'app' is not one of 'tool', 'model', 'agent', 'endpoint',"),
        (["full"], "Invalid value for NAME: expected a folder that is empty or not there, got full"),
        (["full/file"], "Invalid value for NAME: expected a folder that is empty or not there, got full/file"),
    ],
)  # fmt: skip
def test_bad_usage_is_explained_and_nothing_is_written(new, tmp_path, arguments, problem):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    code, _, err = new(*arguments)
    assert code == 2
    assert problem in " ".join(err.replace("│", " ").split())
    assert [path.name for path in tmp_path.rglob("*")] == ["full", "file"]


@pytest.mark.parametrize(
    ("settings", "author"),
    [
        ("[user]\nname = José Müller", "jose-muller"),
        ("[user]\nname = 山田", "my-name"),
        ("[user]\nname = Dify Fan", "my-name"),
        ("", "my-name"),
    ],
)
def test_the_author_is_who_git_says(new, monkeypatch, tmp_path, settings, author):
    (tmp_path / "settings").write_text(settings)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "settings"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    new("hello")
    assert manifest_of(tmp_path / "hello")["author"] == author


def test_what_an_installer_has_compiled_is_not_written(new, tmp_path):
    compiled = Path(py_compile.compile(str(TEMPLATES / "common" / "main.py")))
    assert compiled.is_relative_to(TEMPLATES)
    assert new("hello", "--author", "ada")[0] == 0
    assert not list((tmp_path / "hello").rglob("*.pyc"))


def test_without_git_anybody_is_the_author(new, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", "")
    code, out, _ = new("hello")
    assert (code, manifest_of(tmp_path / "hello")["author"]) == (0, "my-name")
    assert out.startswith("hello: 17 files, by my-name.")


GIT = {"vcs": "git", "commit_id": "c0ffee"}


@pytest.mark.parametrize(
    ("origin", "requirement"),
    [
        (None, ""),
        ({"url": "file:///home/ada/host", "dir_info": {}}, ""),
        ({"url": "file:///home/ada/host", "vcs_info": GIT}, ""),
        ({"url": "https://example.org/host.whl", "archive_info": {}}, ""),
        (
            {"url": "https://ada:secret@example.org/x.git", "vcs_info": GIT, "subdirectory": "a/b"},
            " @ git+https://example.org/x.git@c0ffee#subdirectory=a/b",
        ),
        (
            {"url": "ssh://git@example.org/x.git", "vcs_info": GIT},
            " @ git+ssh://git@example.org/x.git@c0ffee",
        ),
    ],
)
def test_the_workflow_installs_the_host_from_where_this_one_came(
    new, monkeypatch, tmp_path, origin, requirement
):
    """The record of an installation, in front of this environment's own."""
    record = tmp_path / "site" / "dify_plugin_host-1.dist-info"
    record.mkdir(parents=True)
    (record / "METADATA").write_text("Name: dify-plugin-host\nVersion: 1\n")
    if origin:
        (record / "direct_url.json").write_text(json.dumps(origin))
    monkeypatch.syspath_prepend(tmp_path / "site")
    new("hello", "--author", "ada")
    workflow = yaml.safe_load((tmp_path / "hello/.github/workflows/ci.yml").read_text())
    steps = [step.get("run") for step in workflow["jobs"]["plugin"]["steps"]]
    command = "uv tool install --with-executables-from pytest"
    assert f'{command} "dify-plugin-host[pytest]{requirement}"' in steps
