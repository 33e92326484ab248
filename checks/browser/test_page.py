"""The page of runs, as somebody uses it who looks for a mistake."""

import json
import os
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe

from run_log import RunFile, RunLog, list_runs
from run_log.view import ViewServer, write_fixture
from runs import HOSTILE, NEEDLE
from stream_text import is_hidden


ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs/pictures"
RULES = {
    "resultTypes": ["violations"],
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
}

# What an author asks, what is clicked, and what then stands where the eye is. `round N` opens a round.
QUESTIONS = [
    ("Which round broke the cache?", [], ".cache >> nth=0", "Cache broken in round 18"),
    (
        "Where does the rewritten request begin to differ?",
        [".cache button"],
        ".alert.broken",
        "First difference: messages[",
    ),
    (
        "What exactly was added to the request?",
        ["round 8"],
        "section[aria-label=Request]",
        "Added to the request",
    ),
    (
        "What did the model write, against what the tool got?",
        ["round 9"],
        ".call >> nth=1",
        '"winter depth 9"',
    ),
    ("Why was a call refused?", ["round 6"], ".call.o-refused", "'limit' must be a valid integer"),
    (
        "Why did a tool fail, behind what the model reads?",
        ["round 13"],
        ".cause",
        "Report 13 is withdrawn.",
    ),
    (
        "Which tool held up the round?",
        ["round 9"],
        ".lane:has(.state:has-text('last by'))",
        "chart",
    ),
    ("What has the model thought?", ["round 3"], ".reasoning", "Step 3"),
    ("Which picture did the model see?", ["round 9"], ".call .picture figcaption", "380"),
    ("Why did it stop, and how much is left of the budgets?", [], ".top", "51 of 60"),
    ("What did the first token wait for?", ["round 12"], ".lane >> nth=0", "first token"),
    ("What did a round cost?", [], ".row >> nth=11", "0.0115"),
    (
        "In which round was the cache missed though the prefix stood?",
        [],
        ".cache >> nth=1",
        "round 12",
    ),
]


def click(page, target):
    page.click(f".row .toggle:text-is('{target[6:]}')" if target.startswith("round ") else target)


@pytest.mark.parametrize(
    ("clicks", "place", "answer"), [one[1:] for one in QUESTIONS], ids=[one[0] for one in QUESTIONS]
)
def test_a_question_is_answered_within_two_clicks(page, clicks, place, answer):
    assert len(clicks) <= 2
    assert page.locator(".detail").count() == 0
    for target in clicks:
        click(page, target)
    page.wait_for_function(
        "([place, answer]) => place.innerText.replaceAll('“', '\"').replaceAll('”', '\"').includes(answer)",
        arg=[page.wait_for_selector(place), answer],
    )


def test_what_python_calls_hidden_is_shown_by_its_number(chromium):
    source = (ROOT / "packages/run-log/src/run_log/view/shared/elements.js").read_text()
    page = chromium.new_page()
    shown = page.evaluate(
        """async (source) => {
            const { words } = await import(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
            const isShown = (code) => words(String.fromCodePoint(code))[0] instanceof Node;
            return [...Array(0xe1000).keys()].filter((code) => (code < 0x20000 || code >= 0xe0000) && isShown(code));
        }""",
        source,
    )
    page.close()
    codes = (*range(0x20000), *range(0xE0000, 0xE1000))
    hidden = {code for code in codes if is_hidden(chr(code))} - {0x09, 0x0A}
    differing = hidden.symmetric_difference(shown)
    # A browser may know characters of a later Unicode.
    assert all(unicodedata.category(chr(code)) == "Cn" for code in differing), differing


def test_what_models_and_tools_say_is_text_and_never_markup(page):
    click(page, "round 8")
    result = page.locator(".call", has_text="weather").locator(".text").last
    said = result.inner_text()
    assert said.startswith(HOSTILE[:90])
    assert "U+202E" in said
    assert "\u202e" not in said
    assert page.evaluate("window.hacked") is None
    assert (
        page.locator(
            "main script, main iframe, main style, main img[src=x], main a[href^=javascript]"
        ).count()
        == 0
    )


def test_a_name_that_is_markup_or_without_end_changes_nothing(open_page, tmp_path):
    name = "<b onclick=hacked=1>" + "x" * 5000
    with RunLog(tmp_path, about={"model": name, "program": name, HOSTILE: HOSTILE}).begin() as run:
        tools = [{"name": name, "description": HOSTILE, "parameters": {HOSTILE: HOSTILE}}]
        run.request(
            1,
            [{"role": HOSTILE, "name": HOSTILE, "content": "y" * 300_000}],
            {"tools": tools, HOSTILE: 1},
        )
        run.delta(1, HOSTILE * 3, phase=HOSTILE)
        run.answer(1, finish_reason=HOSTILE, error=HOSTILE)
        run.call(HOSTILE, name, HOSTILE)
        run.result(HOSTILE, "failed", {HOSTILE: [HOSTILE]}, cause=ValueError(HOSTILE))
        run.budgets({HOSTILE: (1, 2)})
        run.end(HOSTILE, error=HOSTILE, budget=HOSTILE)
    with ViewServer(tmp_path) as server:
        page = open_page(server.url())
        page.click(".row a")
        page.click(".toggle")
        page.wait_for_selector(".detail")
        assert page.evaluate("window.hacked") is None
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_all_is_reached_by_keys(page):
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    assert page.wait_for_selector("#detail-1 .detail").is_visible()
    page.keyboard.press("Escape")
    assert page.locator("#detail-1").count() == 0
    page.keyboard.press("b")
    page.wait_for_selector("#detail-17 .alert.broken")
    assert page.url.endswith("/18")
    page.keyboard.press("e")
    page.wait_for_selector("#detail-19 .call.o-refused")
    page.keyboard.press("t")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.keyboard.press("?")
    assert page.locator("dialog[open]").inner_text().startswith("Keys")
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.wait_for_selector("table.runs")


def test_a_text_is_found_in_the_run_and_over_all_runs(page):
    page.keyboard.press("/")
    page.keyboard.type(NEEDLE.upper())
    page.keyboard.press("Enter")
    page.click(".hit >> nth=0")
    page.wait_for_selector("#detail-6 .detail, #detail-7 .detail")
    page.click(".brand")
    page.wait_for_selector("table.runs")
    page.fill("#search", NEEDLE)
    page.keyboard.press("Enter")
    page.click("a.hit")
    page.wait_for_selector(".detail")


def test_a_long_text_is_shown_whole_when_it_is_wanted(page):
    click(page, "round 7")
    result = page.locator(".call .three > div").nth(2)
    result.locator(".more").click()
    page.wait_for_function("(box) => box.innerText.length > 23000", arg=result.element_handle())


def test_an_address_that_nobody_can_read_is_told(open_page, tmp_path):
    with RunLog(tmp_path).begin() as run:
        run.end("answered")
    with ViewServer(tmp_path) as server:
        page = open_page(server.url(), may_miss=True)
        hashes = [
            "#/run/%E0%A4%A",
            "#/run/..%2F..%2Fetc%2Fpasswd",
            f"#/compare/{run.path.stem}/%",
            "#/run/<img src=x onerror=hacked=1>",
            "#/run/x/-1/2/3",
        ]
        for place in hashes:
            page.evaluate("to => { location.hash = to; }", place)
            page.wait_for_selector(".empty:has-text('This cannot be shown')")
            page.evaluate("location.hash = '#/'")
            page.wait_for_selector("table.runs")


def test_two_runs_are_compared_from_the_keyboard(open_page, short):
    with ViewServer(short) as server:
        page = open_page(server.url(list_runs(short)[1].path.stem))
        page.keyboard.press("x")
        page.wait_for_selector("dialog select")
        page.keyboard.press("Enter")
        page.wait_for_selector("table.pairs .row")
        figures = page.inner_text("table.two")
        assert "gpt-5.5\tgpt-6" in figures
        settings, requests, answers = page.locator(".apart").all()
        assert "Settings differ in round 1: model" in settings.inner_text()
        assert "Requests differ in round 4: messages[6].content" in requests.inner_text()
        assert "Answers differ in round 3: answer.text" in answers.inner_text()
        assert page.locator(".pairs .marks").all_inner_texts()[1:5] == [
            *("same", "answer", "request", "before it")
        ]
        assert page.evaluate("window.hacked") is None
        page.click("#swap")
        page.wait_for_function(
            "() => document.querySelector('table.two').innerText.includes('gpt-6\tgpt-5.5')"
        )
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        page.wait_for_selector("#detail-0 .detail")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_accessible(open_page, short, run, scheme):
    with ViewServer(short) as server:
        look_at(open_page(server.url(run), scheme=scheme), scheme)


def look_at(page, scheme):
    found = []

    def look(name):
        page.wait_for_timeout(150)
        rules = RULES if scheme == "light" else RULES | {"runOnly": ["color-contrast"]}
        violations = Axe().run(page, options=rules).response["violations"]
        found.extend(
            (name, one["id"], [node["html"][:120] for node in one["nodes"]][:3])
            for one in violations
        )

    click(page, "round 6")
    page.wait_for_selector("#detail-5 .call")
    look("run")
    page.keyboard.press("?")
    look("keys")
    page.keyboard.press("Escape")
    page.keyboard.press("x")
    page.wait_for_selector("dialog select")
    look("other run")
    page.keyboard.press("Enter")
    page.wait_for_selector("table.pairs .row")
    look("compared")
    page.click(".brand")
    page.wait_for_selector("table.runs")
    look("runs")
    assert found == []


def test_nothing_runs_over_the_edge(page):
    click(page, "round 9")
    page.wait_for_selector(".detail .picture img")
    for width in (380, 768, 1440, 2200):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width


WRITER = """
import sys
from run_log import RunLog
input()
print("done", flush=True)
with RunLog(sys.argv[1], about={"model": "gpt-5.5"}).begin() as run:
    for line in sys.stdin:
        number, word = line.split()
        if word == "ask":
            run.request(int(number), [{"role": "user", "content": str(n)} for n in range(int(number))], {})
        else:
            run.delta(int(number), word + " of the model as it comes now, and more ")
            run.answer(int(number), usage={"input_tokens": 9})
        print("done", flush=True)
    run.end("answered", rounds=2)
"""


def test_a_run_of_another_process_is_shown_as_it_happens(open_page, tmp_path):
    (tmp_path / "runs").mkdir()
    command = [sys.executable, "-c", WRITER, tmp_path / "runs"]
    with (
        ViewServer(tmp_path / "runs") as server,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as writer,
    ):

        def say(line):
            writer.stdin.write(line + "\n")
            writer.stdin.flush()
            assert writer.stdout.readline() == "done\n"

        page = open_page(server.url(waits=True))
        say("begin")
        say("1 ask")
        page.wait_for_selector(".t-live")
        click(page, "round 1")
        say("1 something")
        page.wait_for_selector(".detail .text:has-text('something of the model')")
        say("2 ask")
        page.wait_for_selector(".row >> nth=1")
        writer.stdin.close()
        page.wait_for_selector(".t-good")


def test_a_log_that_is_deleted_or_cut_while_it_is_open_is_told(open_page, tmp_path):
    log = RunLog(tmp_path)
    with ViewServer(tmp_path) as server, log.begin() as run, log.begin() as cut:
        for one in (run, cut):
            one.request(1, [{"role": "user", "content": "Well?"}], {})
        lines = cut.path.read_bytes().splitlines(keepends=True)
        pages = [open_page(server.url(run.path.stem)) for _ in range(2)]
        other = open_page(server.url(cut.path.stem))
        run.path.unlink()
        for page in pages:
            page.wait_for_selector(".alert.bad:has-text('The log is gone')")
            assert page.locator(".row").count() == 1
        cut.path.write_bytes(lines[0])
        other.wait_for_function("() => document.querySelectorAll('.row').length === 0")
        cut.path.write_bytes(b"".join(lines))
        other.wait_for_selector(".row")
        other.close()


def test_a_thousand_runs_are_listed_a_page_at_a_time(open_page, tmp_path):
    with RunLog(tmp_path, about={"query": HOSTILE}).begin() as run:
        run.end("answered")
    data = run.path.read_bytes()
    for number in range(999):
        clock = f"{number // 3600:02}{number // 60 % 60:02}{number % 60:02}"
        (tmp_path / f"run-20261101T{clock}Z-{number:012x}.jsonl").write_bytes(data)
    with ViewServer(tmp_path) as server:
        page = open_page(server.url())
        assert "1\u202f000 runs" in page.locator("h1").inner_text()
        assert page.locator(".row").count() == 200
        page.click(".rest button")
        page.wait_for_function("() => document.querySelectorAll('.row').length === 400")


def test_the_run_of_an_agent_is_a_click_away_from_its_call(open_page, tmp_path):
    log = RunLog(tmp_path)
    with log.begin() as outer:
        outer.request(1, [], {})
        figures = {"reasoning_dropped": 3, "tokens_before": 90_000, "tokens_after": 9_000}
        outer.compaction(2, "summary", replaced=12, **figures)
        outer.call("c1", "scout", "{}")
        outer.end("approval")
    with log.begin(
        {"agent": "scout", "called_by": {"run": outer.path.stem, "call_id": "c1"}}
    ) as inner:
        inner.request(1, [], {})
        inner.end("answered")
    with ViewServer(tmp_path) as server:
        page = open_page(server.url(f"{outer.path.stem}/1"))
        assert page.inner_text(".pill") == "waits for approval"
        assert "12 messages went, by a summary of the model's" in page.inner_text(".event")
        page.click(".call a")
        page.wait_for_selector(".cache:has-text('called by') a")
        assert inner.path.stem in page.url


def test_an_open_page_follows_a_waiting_run_when_it_continues(open_page, tmp_path):
    log = RunLog(tmp_path)
    pay = {"call_id": "c1", "name": "pay", "arguments": "{}"}
    with log.begin({"query": "May I?"}) as first:
        first.request(1, [{"role": "user", "content": "Pay."}], {})
        first.answer(1, calls=[pay])
        first.question(1, [pay])
        first.end("approval")
    with ViewServer(tmp_path) as server:
        page = open_page(server.url(f"{first.path.stem}/1"))
        page.wait_for_selector(".call.o-waiting")
        with log.begin({"query": "May I?"}, resumes=first.path.stem) as last:
            last.decision("c1", is_approved=True, by="Ann", reason="It is due.")
            last.call(**pay)
            last.result("c1", "done", "paid")
            page.wait_for_selector(".part :text('It is due.')")
            assert page.inner_text(".pill") == "going on"
            last.request(2, [{"role": "user", "content": "Pay."}], {})
            last.delta(2, "Paid.")
            last.answer(2)
            last.end("answered")
        page.wait_for_selector(".pill:text('answered')")
        assert page.locator(".call.o-asked").count() == 1
        order = page.locator("tbody > tr").evaluate_all("rows => rows.map(row => row.classList[0])")
        assert order == ["row", "holder", "part", "row"]
        page.click(".row >> nth=1")
        page.wait_for_selector("#detail-1 .detail")
        assert page.url.endswith(f"#/run/{last.path.stem}/1")
        page.click(".brand")
        page.wait_for_selector(".row :text('2 parts')")
        assert page.locator(".row").count() == 1
        page.click(".row a")
        page.wait_for_selector(".part")
        page.click("#search", click_count=1)
        page.fill("#search", "due")
        page.press("#search", "Enter")
        page.click(".hit")
        page.wait_for_selector("#detail-0 .detail")


PLAYED = ["resumed", "fallback", "agents", "searched", "read_on", "budget"]

# What happened, the round that is opened, where it is shown, and what stands there.
EPISODES = [
    ("waits", 1, ".row .what", "pay asked about"),
    ("waits", 1, ".call.o-asked >> nth=1", "9000"),
    ("waits", 1, ".event", "question"),
    ("resumed", 1, ".part h2", "A person was asked"),
    ("resumed", 1, ".part .event >> nth=1", "Not approved"),
    ("resumed", 1, ".part section[aria-label='Before the first request']", "They said: Too much."),
    ("resumed", 1, ".figures", "rounds\n2"),
    ("fallback", 2, ".row >> nth=1", "failed"),
    ("fallback", 3, ".row >> nth=2", "model gpt-5.4-mini\nasked again"),
    ("fallback", 3, "#detail-2 section[aria-label=Request]", "changed: model"),
    ("compacted", 4, ".event", "messages went, by a summary of the model's"),
    ("compacted", 5, ".alert.broken", "The run had been made shorter just before."),
    ("agents", 1, ".call a", "the agent's own run"),
    ("searched", 2, ".row .what >> nth=1", "call_tool → look_up"),
    ("searched", 2, ".call", "Ann has an account."),
    ("read_on", 2, ".call", "letter 51: the quay is silted up"),
    ("budget", 2, ".top .alert", "the budget max_tool_calls was used up"),
    ("budget", 2, ".call.o-refused", "Budget used up."),
]


def test_whatever_happens_to_a_run_is_shown_where_it_happens(open_page, episodes):
    folder, names = episodes
    with ViewServer(folder) as server:
        page = open_page(server.url())
        for name, number, place, told in EPISODES:
            page.evaluate("to => { location.hash = to }", f"#/run/{names[name]}/{number}")
            page.wait_for_selector(".row.current + .holder .detail")
            page.locator(place, has_text=told.split("\n")[0]).first.wait_for()
            assert told in page.locator(place).first.inner_text().replace("\u00a0", " "), name


def test_a_damaged_log_says_what_is_wrong_and_shows_the_rest(open_page, short, run, tmp_path):
    lines = (short / f"{run}.jsonl").read_bytes().splitlines(keepends=True)
    newer = json.dumps({"v": 2, "type": "start"}).encode() + b"\n"
    (tmp_path / f"{run}.jsonl").write_bytes(
        b"".join([*lines[:9], b'{"v":1,"ty\n', newer, *lines[9:-1], lines[-1][:30]])
    )
    with ViewServer(tmp_path) as server:
        page = open_page(server.url(run))
        told = page.locator(".alert").all_inner_texts()
        assert told == [
            "line 10: expected a record of a run log",
            "line 11: of a newer version of the format: a newer gpt5-run-log reads it",
        ]
        assert page.locator(".row").count() == 6


def test_a_log_of_500_mb_is_opened_and_paged(open_page, tmp_path):
    name = "run-20261123T010000Z-0123456789ab"
    with RunLog(tmp_path).begin({"model": "gpt-5.5"}) as run:
        run.request(1, [{"role": "user", "content": "z" * 1_000_000}], {})
    start, text, request, _ = run.path.read_bytes().splitlines(keepends=True)
    run.path.unlink()
    size = 0
    before, after = text.split(json.loads(text)["digest"].encode(), 1)
    with (tmp_path / f"{name}.jsonl").open("wb") as file:
        size += file.write(start)
        for number in range(1, 498):
            more = (
                request
                if number == 1
                else json.dumps(
                    {**json.loads(request), "round": number, "kept": 1, "added": []}
                ).encode()
                + b"\n"
            )
            if number == 1:
                size += file.write(text)
            else:
                file.writelines([before, f"{number:064x}".encode(), after])
                size += len(text)
            size += file.write(more)
    assert size > 497_000_000
    with ViewServer(tmp_path) as server:
        page = open_page(server.url(name))
        assert "497" in page.locator(".figure", has_text="rounds").inner_text()
        assert page.locator(".row").count() == 100
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
        page.wait_for_function("() => document.querySelectorAll('.row').length >= 200")
        assert page.evaluate("performance.memory.usedJSHeapSize") < 100_000_000


def test_a_copied_fixture_plays_the_run_again(page, tmp_path, runs, run, episodes):
    page.click("#copy-fixture")
    page.wait_for_selector("#toast.on")
    source = page.evaluate("navigator.clipboard.readText()")
    (tmp_path / "test_recorded.py").write_text(source)
    changed = source.replace("I read report 17 next.", "I read no report next.", 1)
    (tmp_path / "test_changed.py").write_text(changed)
    folder, names = episodes
    for name in PLAYED:
        (tmp_path / f"test_{name}.py").write_text(write_fixture(folder / f"{names[name]}.jsonl"))
    played = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error", tmp_path],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    failed = [line for line in played.stdout.splitlines() if line.startswith("FAILED")]
    assert (len(failed), failed[0][:22]) == (1, "FAILED test_changed.py"), played.stdout[-2000:]
    assert f"1 failed, {len(PLAYED) + 1} passed" in played.stdout
    assert "the request of round 18 differs" in played.stdout
    assert len(list(RunFile(runs / f"{run}.jsonl").iter_requests())) == 30


def test_a_run_is_run_again_from_the_page(open_page, runs, run):
    asked = []

    def again(wanted):
        asked.append(wanted)
        with RunLog(runs, about={"model": wanted.model}).begin({"again": wanted.about}) as new:
            new.request(1, [], {})
            new.end("answered", rounds=1)
        created.append(new.path)

    created = []
    with ViewServer(runs, again=again, models=("gpt-5.5",)) as server:
        page = open_page(server.url(f"{run}/4"))
        page.wait_for_selector(".detail")
        page.keyboard.press("r")
        page.wait_for_function(
            "() => document.querySelector('#again-instruction').value.startsWith('You are a port')"
        )
        page.fill("#again-instruction", "Be brief.")
        page.fill("#again-model", "gpt-6.2")
        page.click("dialog .primary")
        page.wait_for_function(
            "() => location.hash.startsWith('#/run/') && document.querySelectorAll('.row').length === 1"
        )
        created[0].unlink()
    [wanted] = asked
    assert (wanted.round, wanted.instruction, wanted.model) == (4, "Be brief.", "gpt-6.2")


@pytest.fixture
def take_picture(open_page, server, run, request, tmp_path):
    folder = PICTURES if request.config.getoption("--pictures") else tmp_path

    def take(name, place, **look):
        page = open_page(server.url(run + place), width=1180, **look)
        if place:
            page.wait_for_selector(".detail .picture img")
            page.wait_for_timeout(300)
        page.screenshot(path=folder / f"{name}.png")
        return folder / f"{name}.png"

    return take


@pytest.mark.parametrize(
    ("name", "place", "look"),
    [
        ("page-run", "", {"height": 640, "scheme": "light"}),
        ("page-round", "/9", {"height": 900, "scheme": "dark"}),
    ],
)
def test_the_pictures_of_the_readmes_are_of_this_page(take_picture, name, place, look):
    assert take_picture(name, place, **look).stat().st_size < 200_000
    assert (PICTURES / f"{name}.png").exists()
