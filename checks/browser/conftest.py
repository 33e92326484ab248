"""Chromium, a server, and a page that tells what it has asked for and what has gone wrong on it."""

import re
from contextlib import contextmanager

import pytest
from playwright.sync_api import sync_playwright

from chromium import find_chromium
from episodes import write_episodes
from run_log.view import ViewServer
from runs import write_long_run


SIZE = {"width": 1440, "height": 900}


def pytest_addoption(parser):
    parser.addoption(
        "--pictures", action="store_true", help="draw the pictures of the READMEs anew"
    )


@pytest.fixture(scope="session")
def chromium():
    with sync_playwright() as playwright:
        options = {"executable_path": find_chromium(), "args": ["--no-sandbox"]}
        browser = playwright.chromium.launch(**options)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """The folder of a run of thirty rounds."""
    folder = tmp_path_factory.mktemp("runs")
    write_long_run(folder)
    return folder


@pytest.fixture(scope="session")
def short(runs, run, tmp_path_factory):
    """A folder with the first six rounds of that run, and a later one that another model has answered otherwise from the third on."""
    folder = tmp_path_factory.mktemp("short")
    lines = (runs / f"{run}.jsonl").read_bytes().splitlines(keepends=True)
    last = next(place for place, line in enumerate(lines) if b'"round":7,' in line[:120])
    data = b"".join([*lines[:last], lines[-1]])
    (folder / f"{run}.jsonl").write_bytes(data)
    changed = data.replace(b'"model":"gpt-5.5"', b'"model":"gpt-6"')
    changed = changed.replace(b"report 3 next.", b"report three.")
    (folder / "run-20991231T000000Z-0123456789ab.jsonl").write_bytes(changed)
    return folder


@pytest.fixture(scope="session")
def run(runs):
    """The run's name."""
    [path] = runs.iterdir()
    return path.stem


@pytest.fixture(scope="session")
def server(runs):
    with ViewServer(runs) as server:
        yield server


@contextmanager
def open_pages(chromium):
    """Give what opens a page; at the end nothing has gone wrong on any, and nothing but their own servers was asked."""
    contexts, problems = [], []

    def open_one(
        address,
        *,
        width=SIZE["width"],
        height=SIZE["height"],
        scheme="light",
        may_miss=False,
        may_break=False,
        ready=".row, .empty",
        **options,
    ):
        origin = re.match(r"http://127\.0\.0\.1:\d+/[\w-]+/", address)[0]
        context = chromium.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            permissions=["clipboard-read", "clipboard-write"],
            **options,
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(120_000)
        page.on(
            "request",
            lambda one: None if one.url.startswith((origin, "data:")) else problems.append(one.url),
        )
        page.on(
            "console",
            lambda one: (
                problems.append(one.text)
                if one.type in {"error", "warning"}
                and not (may_miss and "status of 404" in one.text)
                and not (may_break and "Failed to load resource" in one.text)
                else None
            ),
        )
        page.on("pageerror", lambda one: problems.append(str(one)))
        page.goto(address)
        page.wait_for_selector(ready)
        return page

    yield open_one
    told = list(problems)  # What follows is of pages whose server has ended.
    for context in contexts:
        context.close()
    assert told == []


@pytest.fixture
def open_page(chromium):
    """What opens a page that is watched until the test is over."""
    with open_pages(chromium) as open_one:
        yield open_one


@pytest.fixture(scope="session")
def episodes(tmp_path_factory):
    """A folder of runs to which everything has happened that can, and their names."""
    folder = tmp_path_factory.mktemp("episodes")
    return folder, write_episodes(folder)


@pytest.fixture(scope="session")
def tab(chromium, server, run):
    """One tab for all tests of the run of thirty rounds: to open one takes a second."""
    with open_pages(chromium) as open_one:
        yield open_one(server.url(run))


@pytest.fixture
def page(tab, run):
    """The page of that run as somebody finds it who opens it: at its head, with all rounds closed, in the light."""
    yield tab
    tab.set_viewport_size(SIZE)
    tab.evaluate("""() => {
        delete document.documentElement.dataset.theme;
        localStorage.clear();
        document.querySelectorAll("dialog").forEach((one) => one.close());
        document.getElementById("toast").classList.remove("on");
        document.activeElement?.blur();
        location.hash = "#/";
    }""")
    tab.wait_for_selector("table.runs")
    tab.evaluate("to => { location.hash = to; }", f"#/run/{run}")
    tab.wait_for_selector("table.rounds .row")
