"""A package that the marketplace takes, and many that break one of its rules, which the right check has to name."""

import json
import zipfile

import pytest
from marketplace_package import MANIFEST, add, drop, good_files, swap


pytestmark = pytest.mark.usefixtures("state")


@pytest.fixture(scope="module")
def good(packages):
    """Return the files of a package that the marketplace takes."""
    return good_files(packages / "echo_model.difypkg")


@pytest.fixture
def check(dify_host, good, tmp_path):
    """Check a package with these files changed; return the exit code and what the marketplace's checks say, by check."""

    def run(change=lambda _: None, *options):
        files = dict(good)
        change(files)
        path = tmp_path / "p.difypkg"
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in files.items():
                archive.writestr(name, content)
        code, out, _ = dify_host("check", "--marketplace", "--json", *options, path)
        run.results = [json.loads(line) for line in out.splitlines()]
        found = {
            result["name"].removeprefix("marketplace: "): result["findings"]
            for result in run.results
            if result["stage"] == "marketplace" and result["findings"]
        }
        return code, found

    return run


def test_a_good_package_passes(check):
    assert check(lambda _: None, "--quick") == (0, {})
    stages = [result["stage"] for result in check.results]
    assert stages == sorted(stages, key=["package", "installation", "marketplace"].index)
    assert {result["name"] for result in check.results if result["stage"] == "marketplace"} == {
        f"marketplace: {name}"
        for name in ("author", "manifest", "README", "links", "privacy", "icon", "contents", "secrets", "dependencies")
    }  # fmt: skip


def test_what_the_marketplace_refuses_ends_with_a_code_of_its_own(check):
    code, found = check(swap(MANIFEST, "author: tests", "author: my-dify"), "--quick")
    assert (code, [finding["kind"] for finding in found["author"]]) == (3, ["rejected"])


def test_what_the_platform_refuses_as_well_ends_with_the_code_for_that(check):
    def spoil(files):
        drop("main.py")(files)
        swap(MANIFEST, "author: tests", "author: my-dify")(files)

    code, found = check(spoil, "--quick")
    assert (code, list(found)) == (1, ["author"])


def test_what_reviewers_may_ask_for_is_advice(check):
    code, found = check(add("tests/test_it.py", ""), "--quick")
    assert (code, [finding["kind"] for finding in found["contents"]]) == (0, ["advice"])


def test_without_the_option_the_marketplace_has_no_say(check, dify_host, tmp_path):
    check(swap(MANIFEST, "author: tests", "author: dify"), "--quick")
    code, out, _ = dify_host("check", "--quick", tmp_path / "p.difypkg")
    assert (code, "marketplace" in out) == (0, False)


def test_what_is_no_package_is_not_judged(check):
    code, found = check(drop(MANIFEST), "--quick")
    assert (code, found) == (1, {})


def test_what_cannot_be_read_is_left_to_the_platforms_checks(check):
    code, found = check(add("pyproject.toml", "["), "--quick")
    assert (code, found) == (1, {})


def test_an_environment_that_cannot_be_made_is_told(check, monkeypatch):
    monkeypatch.setenv("UV_PYTHON_PREFERENCE", "none")
    code, found = check()
    assert (code, list(found)) == (1, ["install from another folder"])


def notes(check):
    return {result["name"].removeprefix("marketplace: "): (result["note"], result["is_skipped"]) for result in check.results}  # fmt: skip


def test_a_good_package_installs_from_another_folder_and_serves(check):
    assert check() == (0, {})
    for name in ("install from another folder", "start in serverless form"):
        note, is_skipped = notes(check)[name]
        assert note.endswith(" s")
        assert not is_skipped


def by_the_list_alone(files):
    """Leave the package one route, that of its list; a package without the other one is good, too."""
    drop("pyproject.toml")(files)
    drop("uv.lock")(files)


def test_a_list_that_only_works_in_its_own_folder_is_rejected(check):
    def spoil(files):
        by_the_list_alone(files)
        paths = [f"./{path}\n" for path in files if path.endswith(".whl")]
        files["requirements.txt"] = "".join(paths).encode()

    code, found = check(spoil)
    assert code == 3
    (finding,) = found["install from another folder"]
    assert "`pip install -r unpacked_plugin/requirements.txt` failed: ERROR: " in finding["text"]
    assert notes(check)["start in serverless form"] == ("", True)


def test_a_plugin_that_does_not_serve_is_rejected(check):
    def spoil(files):
        by_the_list_alone(files)
        swap("main.py", "http.server.HTTPServer(", "raise SystemExit('no port', ")(files)

    code, found = check(spoil)
    assert code == 3
    (finding,) = found["start in serverless form"]
    assert "in serverless form ended; it said: " in finding["text"]


def test_a_plugin_that_says_nothing_is_rejected(check, monkeypatch):
    def spoil(files):
        by_the_list_alone(files)
        swap("main.py", "http.server.HTTPServer(", "__import__('time').sleep(60); (")(files)

    monkeypatch.setattr("dify_plugin_host._checks.marketplace_install._START_SECONDS", 0.5)
    code, found = check(spoil)
    assert code == 3
    (finding,) = found["start in serverless form"]
    assert "did not answer within 0.5 s" in finding["text"]


def test_an_installation_without_a_list_is_not_tried(check):
    code, found = check(drop("requirements.txt"))
    assert (code, list(found)) == (3, ["dependencies"])
    assert notes(check)["install from another folder"] == ("", True)
