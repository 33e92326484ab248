"""The graded report of a check, as JSON and as a page."""

import base64
import hashlib
import html.parser
import json
import os
import re

import pytest
from damages import base, pack, put, swap


pytestmark = pytest.mark.usefixtures("state")

MODEL = "echo_model"
MANIFEST, ECHO = "manifest.yaml", "models/llm/echo-1.yaml"
STAGES = ["package", "installation", "versions", "health", "marketplace"]


@pytest.fixture
def report(dify_host, monkeypatch, tmp_path):
    """Check a plugin with these changes and write a report; return its text."""
    monkeypatch.chdir(tmp_path)

    def run(name, *changes, content=None, options=()):
        files = base(MODEL)
        for change in changes:
            change(files)
        (tmp_path / "p.difypkg").write_bytes(content or pack(files))
        code, _, run.err = dify_host("check", "p.difypkg", "--quick", *options, "--report", name)
        run.code = code
        return (tmp_path / name).read_text("utf-8") if (tmp_path / name).exists() else ""

    return run


@pytest.fixture
def graded(report):
    """Return the grade in all, and of the stages that were checked, by their names."""

    def run(*changes, **options):
        given = json.loads(report("report.json", *changes, **options))
        stages = {one["stage"]: one["grade"] for one in given["stages"] if one["grade"]}
        assert list(given["not_checked"]) == [one for one in STAGES if one not in stages]
        return given["grade"], stages

    return run


def good(files):
    """Leave nothing to advise."""
    put("pyproject.toml", '[project]\nname = "x"\nversion = "0.0.1"\nrequires-python = ">=3.12"\ndependencies = []\n')(files)  # fmt: skip
    put("uv.lock", 'version = 1\n[[package]]\nname = "x"\n')(files)
    put("requirements.txt", "")(files)
    swap("models/llm/_position.yaml", "gone", "echo-1")(files)


def test_a_grade_is_the_worst_finding(graded):
    assert graded(good) == ("A", {"package": "A"})
    assert graded() == ("B", {"package": "B"})
    polling = swap(ECHO, "features: [", "features: [polling, ")
    assert graded(good, polling, options=["--against", "1.15", "--against", "1.10"]) == (
        "D",
        {"package": "A", "versions": "D"},
    )
    assert graded(good, options=["--marketplace"]) == ("C", {"package": "A", "marketplace": "C"})
    assert graded(swap(MANIFEST, "author: tests", "author: T")) == ("E", {"package": "E"})


def test_a_file_that_is_no_archive_is_graded_without_an_identity(report):
    given = json.loads(report("report.json", content=b"no zip"))
    digest = hashlib.sha256(b"no zip").hexdigest()
    about = {"file": "p.difypkg", "size_bytes": 6, "sha256": digest, "kinds": []}
    assert (report.code, given["grade"], given["package"]) == (1, "E", about)


def test_the_report_names_the_package_and_who_checked_it(report):
    asks = swap(MANIFEST, "runner:", "minimum_dify_version: 1.10.0, runner:")
    given = json.loads(report("a/report.json", asks))
    package = given["package"]
    assert re.fullmatch(r"tests/echo_model:0\.0\.1@[0-9a-f]{64}", package["identifier"])
    assert (
        package["label"],
        package["kinds"],
        package["sdk"],
        package["minimum_dify_version"],
    ) == (
        "Echo",
        ["models"],
        "<0.11,>=0.10.1",
        "1.10.0",
    )
    assert (given["report_version"], bool(given["host_version"])) == (1, True)
    assert given["date"].endswith("+00:00")


def test_findings_name_file_and_field_apart(report):
    given = json.loads(report("report.json", swap(ECHO, "mode: chat, ", ""), put("main.pyc", "")))
    found = [
        finding
        for stage in given["stages"]
        for check in stage["checks"]
        for finding in check["findings"]
    ]
    named = {(one.get("file"), one.get("field")) for one in found}
    assert {(ECHO, "model_properties.mode"), (None, None)} <= named


class Page(html.parser.HTMLParser):
    """What a page consists of: its elements with their attributes."""

    def __init__(self, text):
        super().__init__()
        self.elements = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))


def test_the_page_asks_for_nothing_and_runs_nothing(report):
    text = report("report.html", swap(MANIFEST, "{ en_US: Echo }", '{ en_US: "<script>alert(1)</script>" }'))  # fmt: skip
    page = Page(text)
    assert "<script" not in text
    assert not [
        (tag, name)
        for tag, attributes in page.elements
        for name in attributes
        if name in {"src", "href", "style"} or name.startswith("on")
    ]
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    (policy,) = [one["content"] for tag, one in page.elements if one.get("http-equiv")]
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"  # fmt: skip
    assert "light dark" in style


def test_the_page_tells_what_was_found_and_what_was_not_looked_at(report):
    asks = swap(MANIFEST, "runner:", "minimum_dify_version: 1.16.0, runner:")
    options = ["--against", "all", "--against", "sdk:0.1"]
    spoilt = swap(MANIFEST, "author: tests", "author: T")
    text = report("report.html", asks, spoilt, swap(ECHO, "mode: chat, ", ""), options=options)
    assert "<strong>Grade E:</strong> the platform refuses it. 2 of 5 stages were checked." in text
    assert f"<code>{ECHO}</code> <code>model_properties.mode</code>: expected chat" in text
    for absent in ("not checked: asked for with --soak", "not checked: asked for with --marketplace"):  # fmt: skip
        assert absent in text
    assert 'not checked; <span class="soft">the manifest asks for 1.16.0</span>' in text
    assert '<th scope="row">Not checked</th><td>plugin SDK 0.1</td>' in text
    assert 'nothing; <span class="soft">by langgenius/dify at 59b879d2df</span>' in text
    assert '<th scope="row">Nothing was found by</th><td>archive entries, signature' in text


def test_a_report_that_is_neither_json_nor_a_page_is_bad_usage(report):
    assert report("report.txt") == ""
    assert (report.code, "ends with .json or .html" in report.err) == (2, True)


def test_a_page_and_its_data_are_written_by_one_check(report, tmp_path):
    page = report("report.html", options=("--report", "first.json"))
    assert page.startswith("<!doctype html>")
    assert json.loads((tmp_path / "first.json").read_text("utf-8"))["grade"] == "B"


def test_without_a_file_the_last_package_in_dist_is_checked(dify_host, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    code, _, err = dify_host("check", "--quick")
    assert "expected a package; there is none in dist/" in err
    assert code == 2
    (tmp_path / "dist").mkdir()
    for age, name in enumerate(("new", "old")):
        path = tmp_path / "dist" / f"{name}.difypkg"
        path.write_bytes(pack(base(MODEL)) if name == "new" else b"")
        os.utime(path, (-age, -age))
    assert dify_host("check", "--quick")[0] == 0


def test_every_stage_that_a_check_has_is_in_the_report(report):
    assert [one["stage"] for one in json.loads(report("report.json"))["stages"]] == STAGES
