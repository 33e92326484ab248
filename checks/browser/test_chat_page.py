"""The page to talk to an agent, in front of a server of agents."""

import json
import os
import socket
import subprocess
import sys
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from axe_playwright_python.sync_playwright import Axe

from test_page import PICTURES, RULES


SCRIPT = Path(__file__).with_name("chatting.py")


class Server:
    """A process that serves agents, and the files that its models wait for."""

    def __init__(self, folder, *, keys=""):
        self.folder = folder
        self._keys = {"AGENT_ENDPOINT_API_KEYS": keys} if keys else {}
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.start()

    def start(self):
        command = [sys.executable, SCRIPT, self.folder, str(self.port)]
        friend = {"AGENT_ENDPOINT_ALLOW_ORIGIN": f"http://localhost:{self.port}"}
        environment = os.environ | self._keys | friend
        self._process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, text=True
        )
        assert "listens on" in self._process.stdout.readline()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.port}/v1/chat/"

    def go(self, name):
        (self.folder / name).touch()

    def kill(self):
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()


@contextmanager
def served(folder, **options):
    server = Server(folder, **options)
    try:
        yield server
    finally:
        server.kill()


@pytest.fixture(scope="module")
def agents(tmp_path_factory):
    with served(tmp_path_factory.mktemp("agents")) as server:
        yield server


@pytest.fixture
def chat(open_page, agents):
    """What opens a conversation with an agent on a page of its own."""

    def open_one(name, **look):
        page = open_page(agents.address, ready="textarea", **look)
        choose(page, name)
        return page

    return open_one


def choose(page, name):
    page.get_by_role("button", name=f"New conversation with {name}", exact=True).click()
    page.wait_for_selector("h1", state="visible")
    assert page.inner_text("h1") == name


def say(page, text):
    page.fill("textarea >> nth=-1", text)
    page.press("textarea >> nth=-1", "Enter")


def wait(page, text, place=".turn >> nth=-1"):
    page.locator(place).get_by_text(text).first.wait_for()


def ended(page, turns):
    """Wait until a turn has ended, and return its text."""
    page.wait_for_function(
        "n => document.querySelectorAll('.turn').length === n && document.querySelectorAll('.live').length === 0",
        arg=turns,
    )
    page.wait_for_timeout(100)  # for what is still to be drawn
    return page.inner_text(".turn >> nth=-1")


def test_an_agent_is_talked_to_as_it_answers(chat, agents):
    page = chat("clerk")
    say(page, "Who is Ann?")
    wait(page, "running", ".call")
    assert page.locator(".call code").inner_text() == "look_up"
    agents.go("found")
    wait(page, "done", ".call")
    wait(page, "Ann has", ".message")
    assert page.locator(".message strong").count() == 0
    agents.go("told")
    assert "2\u202f468 tokens in, 112 out" in ended(page, 1)
    assert page.inner_text(".message strong") == "account"
    page.click("text=Output")
    assert "<script>window.hacked = 1</script>" in page.inner_text(".call details >> nth=1")
    with page.expect_popup() as opened:
        page.click("text=the run")
    opened.value.wait_for_selector(".row")
    assert "look_up" in opened.value.inner_text("main")
    opened.value.close()

    say(page, "Pay her.")
    ended(page, 2)
    page.reload()
    page.click("button:text-is('Approve')")
    assert "Well." in ended(page, 3)
    assert page.locator(".mine").all_inner_texts() == ["Who is Ann?", "Pay her.", "Approved pay"]
    assert page.locator("button:text-is('Approve'):visible").count() == 0
    page.click("text=Output >> nth=-1")
    assert "Ann was paid 40 euros." in page.inner_text(".turn >> nth=-1")
    assert page.evaluate("window.hacked") is None


def test_several_questions_are_answered_together(chat):
    page = chat("two", height=420)
    say(page, "Pay both.")
    ended(page, 1)
    assert page.locator(".question").first.bounding_box()["y"] > 0  # And not scrolled away.
    first, second = page.locator(".question").all()
    assert '{"to": "Bob", "euros": 9000}' in second.inner_text()
    send = page.get_by_role("button", name="Send 2 answers")
    first.get_by_role("button", name="Approve").click()
    assert send.is_disabled()
    wait(page, "1 to go")
    second.get_by_label("Reason").fill("Too much.")
    second.get_by_role("button", name="Deny").click()
    send.click()
    assert "As you say." in ended(page, 2)
    assert page.locator(".mine").last.inner_text() == "Approved pay\n\nDenied pay: Too much."
    calls = page.locator(".turn >> nth=-1 >> .call").all_inner_texts()
    assert [one.split("\n")[:2] for one in calls] == [["pay", "failed"], ["pay", "done"]]
    assert "They said: Too much." in calls[0]


def test_a_person_says_what_a_function_of_the_client_gives(chat):
    page = chat("caller")
    takes = {"type": "object", "properties": {"floor": {"type": "integer"}}}
    tools = [{"type": "function", "name": "open_door", "parameters": takes}]
    question = asked(page, "🙂" * 20_001, {"floor": 1}, tools=tools)
    told = question.locator("p").inner_text()
    assert "20\u202f000 of 20\u202f001 characters" in told
    assert "answer it over the API" in told
    assert "Deny" not in told
    assert question.get_by_role("button", name="Give").is_disabled()

    page.reload()  # Without the arguments of above.
    ended(page, 1)
    question = page.locator(".question")
    assert "What does open_door give?" in question.inner_text()
    question.get_by_label("Result").fill("It creaks.")
    question.get_by_role("button", name="Give").click()
    assert "It is open." in ended(page, 2)
    assert page.locator(".mine").last.inner_text() == "Result of open_door: It creaks."


ANN = {"to": "Ann", "euros": 40}
BLANK = "\u115f\u3164\u2800\ufe0f\u00a0\u202e\U000e0041"


def asked(page, arguments, known, **more):
    """Have the agent ask about a call with unusual arguments, as agents of other programs may, and return the question."""

    def exchange(route):
        body = json.loads(route.request.post_data) | more
        told = route.fetch(post_data=json.dumps(body)).text()
        old = json.dumps(json.dumps(known))
        assert old in told
        route.fulfill(
            body=told.replace(old, json.dumps(arguments)), content_type="text/event-stream"
        )

    page.route("**/v1/responses", exchange, times=1)
    say(page, "Pay both.")
    ended(page, 1)
    return page.locator(".question").first


def test_a_question_shows_by_its_number_what_cannot_be_seen(chat):
    text = BLANK * 2_000
    question = asked(chat("two"), text, ANN)
    said = question.locator("pre").inner_text()
    numbers = [f"U+{ord(one):04X}" for one in text]
    assert said.replace("[", "").replace("]", "") == "".join(numbers)
    assert question.locator(".ctl").count() <= 2_001
    assert question.get_by_role("button", name="Approve").is_enabled()


def test_of_a_question_that_is_too_long_the_page_takes_no_yes_and_says_where_to_give_one(chat):
    page = chat("two")
    question = asked(page, "🙂" * 20_001, ANN)
    assert question.locator("pre").inner_text() == "🙂" * 20_000
    told = question.locator("p").inner_text()
    assert "20\u202f000 of 20\u202f001 characters" in told
    assert "Deny it, or" in told
    assert "POST /v1/responses" in told
    assert question.get_by_role("button", name="Approve").is_disabled()
    question.get_by_role("button", name="Deny").click()
    page.locator(".question").nth(1).get_by_role("button", name="Approve").click()
    page.get_by_role("button", name="Send 2 answers").click()
    assert "As you say." in ended(page, 2)


def test_what_is_answered_elsewhere_is_shown_here(chat):
    page = chat("two", may_break=True)
    say(page, "Pay both.")
    ended(page, 1)
    asked = page.evaluate("""async () => {
        const [{ turns }] = JSON.parse(sessionStorage.conversations).filter((one) => one.turns.length);
        const ids = [0, 1].map((n) => turns[0].id.replace("resp_", "mcpr_") + "_" + n);
        const input = ids.map((id) => ({ type: "mcp_approval_response", approval_request_id: id, approve: true }));
        const body = { model: "two", previous_response_id: turns[0].id, input };
        const headers = { "content-type": "application/json" };
        return (await fetch("../responses", { method: "POST", headers, body: JSON.stringify(body) })).status;
    }""")
    assert asked == 200
    for one in page.get_by_role("button", name="Deny").all():
        one.click()
    page.get_by_role("button", name="Send 2 answers").click()
    assert "As you say." in ended(page, 2)
    assert page.locator(".mine").last.inner_text() == "Answered elsewhere"


def test_text_is_text_and_markdown_loads_nothing(chat):
    page = chat("writer")
    say(page, "<img src=x onerror=hacked=1>")
    told = ended(page, 1)
    message = page.locator(".message")
    assert message.locator(".heading").inner_text() == "Harbours"
    assert message.locator("strong").inner_text() == "fit"
    assert message.locator("em").inner_text() == "winter"
    assert message.locator("ol > li > ul > li").inner_text() == "the least ice"
    assert message.locator("pre").inner_text() == 'print("<b>no markup</b>")'
    assert "snake_case_name" in told
    links = message.locator("a").evaluate_all("all => all.map((one) => [one.href, one.rel])")
    assert links == [
        [f"https://{place}", "noopener noreferrer"]
        for place in (
            "example.com/report",
            "example.com/more",
            "evil.example/pixel.png",
            "evil.example/x.png",
        )
    ]
    assert "[x](javascript:window.hacked=9)" in told
    assert '<a href="javascript:window.hacked=3">x</a>' in told
    assert page.locator("main script, main iframe, main style, main img").count() == 0
    choose(page, "<img src=x onerror=hacked=1>")
    say(page, "Who are you?")
    assert "I am." in ended(page, 1)
    assert page.evaluate("window.hacked") is None


def test_thoughts_are_folded_pictures_shown_and_failures_told(chat):
    page = chat("painter")
    say(page, "Draw.")
    assert "It is blue" not in ended(page, 1)
    page.click("text=Thought")
    assert page.inner_text("details .text strong") == "blue"
    assert page.inner_text(".message") == "Here it is."
    assert page.locator("figure img").evaluate("(one) => one.naturalWidth") == 40
    say(page, "And again.")
    told = ended(page, 2)
    assert "failed" in told
    assert page.locator(".alert.bad").count() == 1
    say(page, "Draw.")  # goes on from the first answer, since the second run has none
    assert "failed" in ended(page, 3)


def test_an_answer_that_is_stopped_says_so(chat, agents):
    page = chat("slow")
    say(page, "Count.")
    wait(page, "One two")
    page.keyboard.type("More?")
    page.press("textarea", "Shift+Enter")
    assert page.input_value("textarea") == "More?\n"
    agents.go("three")
    wait(page, "One two three four")
    page.reload()
    wait(page, "One two three four")
    page.click("text=Stop")
    assert "cancelled" in ended(page, 1)
    say(page, "Again?")  # of a run that was cancelled nothing is left to go on from
    wait(page, "One two three four")
    page.click("text=Stop")
    ended(page, 2)


def test_an_answer_goes_on_where_its_server_was_killed(open_page, tmp_path):
    with served(tmp_path) as server:
        page = open_page(server.address, ready="textarea", may_break=True)
        choose(page, "dying")
        say(page, "Count.")
        wait(page, "One two three")
        server.kill()
        wait(page, "trying again")
        server.go("go")
        server.start()
        ended(page, 1)
        parts = page.locator(".message").evaluate_all(
            "all => all.map((one) => [one.innerText.trim(), one.classList.contains('void')])"
        )
        page.reload()
        ended(page, 1)
        again = page.locator(".message:not(.void)").all_inner_texts()
    assert parts == [["One two three", True], ["One two three four five six.", False]]
    assert [one.strip() for one in again] == ["One two three four five six."]


def test_the_page_asks_for_the_key_and_sends_it_itself(open_page, tmp_path):
    with served(tmp_path, keys="ada:k1") as server:
        page = open_page(server.address, ready="dialog", may_break=True)
        page.fill("#key", "k€y")
        page.press("#key", "Enter")
        page.wait_for_selector("dialog :text('letters without accents, digits and signs')")
        page.fill("#key", "k2")
        page.press("#key", "Enter")
        page.wait_for_selector("dialog :text('does not know')")
        assert page.evaluate("sessionStorage.getItem('key')") is None
        page.fill("#key", "k1")
        page.press("#key", "Enter")
        page.wait_for_selector("textarea")
        choose(page, "writer")
        say(page, "Hello.")
        assert "Harbours" in ended(page, 1)
        page.reload()
        assert "Harbours" in ended(page, 1)
        assert page.context.cookies() == []
        assert page.evaluate("Object.values(localStorage)") == []
        page.route("**/v1/chat/about.json", lambda route: route.fulfill(status=503), times=1)
        page.reload()
        page.wait_for_selector("text=This cannot be shown")
        page.click("text=Forget the key")
        page.wait_for_selector("dialog")
        assert page.locator(".turn").count() == 0
        # An earlier version of the page kept such a key.
        page.evaluate("sessionStorage.setItem('key', 'k€y')")
        page.reload()
        page.wait_for_selector("dialog")
        assert page.evaluate("sessionStorage.getItem('key')") is None


class Empty(BaseHTTPRequestHandler):
    """A page of another site."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


ASK = """async (address) => {
    const body = JSON.stringify({ model: "writer", input: "Hello." });
    const json = { method: "POST", headers: { "content-type": "application/json" }, body };
    await fetch(address, { method: "POST", mode: "no-cors", body }).catch(() => {});
    return fetch(address, json).then((answer) => answer.json(), () => null);
}"""


def test_pages_of_other_origins_act_only_where_they_are_allowed_to(chromium, agents):
    address = f"http://127.0.0.1:{agents.port}/v1/responses"
    seen = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Empty) as other:
        Thread(target=other.serve_forever, daemon=True).start()
        for place in (f"127.0.0.1:{other.server_port}", f"localhost:{agents.port}"):
            page = chromium.new_page()
            page.goto(f"http://{place}/health")
            statuses = []
            page.on("response", lambda one, to=statuses: to.append(one.status))
            response = page.evaluate(ASK, address)
            seen.append((sorted(statuses), response and response["status"]))
            page.close()
        other.shutdown()
    assert seen == [([403], None), ([200, 415], "completed")]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_accessible_and_narrow(chat, scheme):
    page = chat("two", scheme=scheme)
    say(page, "W" * 49)
    ended(page, 1)
    rules = RULES if scheme == "light" else RULES | {"runOnly": ["color-contrast"]}
    found = Axe().run(page, options=rules).response["violations"]
    assert [(one["id"], [node["html"][:120] for node in one["nodes"]]) for one in found] == []
    new = page.get_by_role("button", name="New conversation with two")
    for width in (360, 800, 1024, 1440, 1920):
        page.set_viewport_size({"width": width, "height": 700})
        nav, button = page.locator("nav").bounding_box(), new.bounding_box()
        assert button["x"] + button["width"] <= nav["x"] + nav["width"], width
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width
        box = page.locator("textarea").bounding_box()
        assert box["y"] + box["height"] <= 700


def test_the_picture_of_the_readme_is_of_this_page(chat, agents, request, tmp_path):
    agents.go("found")
    agents.go("told")
    page = chat("clerk", width=1180, height=640)
    say(page, "Who is Ann?")
    ended(page, 1)
    say(page, "Pay her 40 euros.")
    ended(page, 2)
    page.evaluate(
        "document.querySelectorAll('#agents section:nth-child(n+4)').forEach((one) => one.remove())"
    )
    folder = PICTURES if request.config.getoption("--pictures") else tmp_path
    page.screenshot(path=folder / "chat.png")
    assert (folder / "chat.png").stat().st_size < 200_000
    assert (PICTURES / "chat.png").exists()
