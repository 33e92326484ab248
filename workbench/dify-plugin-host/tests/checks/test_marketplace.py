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

    def run(change=lambda _: None):
        files = dict(good)
        change(files)
        path = tmp_path / "p.difypkg"
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in files.items():
                archive.writestr(name, content)
        code, out, _ = dify_host("check", "--quick", "--marketplace", "--json", path)
        run.results = [json.loads(line) for line in out.splitlines()]
        found = {
            result["name"].removeprefix("marketplace: "): result["findings"]
            for result in run.results
            if result["stage"] == "marketplace" and result["findings"]
        }
        return code, found

    return run


def test_a_good_package_passes(check):
    assert check() == (0, {})
    stages = [result["stage"] for result in check.results]
    assert stages == sorted(stages, key=["package", "installation", "marketplace"].index)
    assert {result["name"] for result in check.results if result["stage"] == "marketplace"} == {
        f"marketplace: {name}"
        for name in ("author", "manifest", "README", "links", "privacy", "icon", "contents", "secrets", "dependencies")
    }  # fmt: skip


def test_what_the_marketplace_refuses_ends_with_a_code_of_its_own(check):
    code, found = check(swap(MANIFEST, "author: tests", "author: my-dify"))
    assert (code, [finding["kind"] for finding in found["author"]]) == (3, ["rejected"])


def test_what_the_platform_refuses_as_well_ends_with_the_code_for_that(check):
    def spoil(files):
        drop("main.py")(files)
        swap(MANIFEST, "author: tests", "author: my-dify")(files)

    code, found = check(spoil)
    assert (code, list(found)) == (1, ["author"])


def test_what_reviewers_may_ask_for_is_advice(check):
    code, found = check(add("tests/test_it.py", ""))
    assert (code, [finding["kind"] for finding in found["contents"]]) == (0, ["advice"])


def test_without_the_option_the_marketplace_has_no_say(check, dify_host, tmp_path):
    check(swap(MANIFEST, "author: tests", "author: dify"))
    code, out, _ = dify_host("check", "--quick", tmp_path / "p.difypkg")
    assert (code, "marketplace" in out) == (0, False)


def test_what_is_no_package_is_not_judged(check):
    code, found = check(drop(MANIFEST))
    assert (code, found) == (1, {})


def test_what_cannot_be_read_is_left_to_the_platforms_checks(check):
    code, found = check(add("pyproject.toml", "["))
    assert (code, found) == (1, {})
