"""Dify's web page in Chromium: opened in one of Dify's languages, and read as people see it."""

import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, TimeoutError  # noqa: A004 - Playwright's own

from dify import Console


SIZE = {"width": 1440, "height": 900}
# What Dify calls a language, and what it is called in a plugin's files.
LANGUAGES = {"en-US": "en_US", "zh-Hans": "zh_Hans", "ja-JP": "ja_JP"}
# A run's sign of success or failure: up to 1.14, and in 1.16.
_ENDED = """[data-testid=status-icon-success], [data-testid=status-icon-failed],
    [data-testid=workflow-process-item] [role=img]:is([class*=check-circle], [class*=error-warning])"""
_CANVAS = (450, 650)  # a place where nothing stands
_EDITOR = {"x": 216, "y": 104, "width": 1224, "height": 500}
TRACING = re.compile("^(tracing|追踪|実行追跡)$", re.IGNORECASE)
PREVIEW = re.compile("^(preview|预览|プレビュー)$", re.IGNORECASE)
# Text is cut where a box that hides what is outside of it is smaller; what stands outside of a box that scrolls can be reached.
_IS_CUT = """element => {
    const hides = (value) => value === "hidden" || value === "clip";
    const range = document.createRange();
    range.selectNodeContents(element);
    const text = range.getBoundingClientRect();
    for (let box = element; box; box = box.parentElement) {
        const style = getComputedStyle(box), around = box.getBoundingClientRect();
        if (hides(style.overflowX)
            && (text.right > around.right + 1 || (box === element && box.scrollWidth > box.clientWidth))) return true;
        if (hides(style.overflowY)
            && (text.bottom > around.bottom + 3 || (box === element && box.scrollHeight > box.clientHeight + 3))) return true;
        if (["auto", "scroll"].includes(style.overflowY)) return false;
    }
    return false;
}"""
_HAS_CUT_PLACEHOLDER = """input => {
    const style = getComputedStyle(input), pen = document.createElement("canvas").getContext("2d");
    pen.font = style.font;
    const room = input.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    return pen.measureText(input.placeholder).width > room;
}"""


class Web:
    """A tab of Dify's page, in which somebody is logged in.

    Args:
        page: The tab.
        url: Where Dify's pages are.
        release: The first two numbers of its version.
    """

    def __init__(self, page: Page, url: str, release: tuple[int, ...]) -> None:
        self.page = page
        self.has_integrations = release >= (1, 16)
        self._url = url

    def open(self, path: str) -> None:
        self.page.goto(self._url + path, wait_until="domcontentloaded")

    def shows(self, text: str, *, within: Locator | None = None) -> Locator:
        """Wait until a text stands whole on the page beside the canvas, and return its element."""
        told = f"text()[normalize-space()={_quote(text)}]"
        on_canvas = "ancestor::*[contains(@class, 'react-flow__node')]"
        page = within or self.page.locator("body")
        found = page.locator(f"xpath=.//*[{told}][not({on_canvas})]")
        shown = found.locator("visible=true").first
        shown.wait_for()
        self._becomes_whole(shown, text)
        return shown

    def open_provider(self, label: str) -> Locator:
        """Open the settings of model providers, and return the card of one."""
        self.open("/apps?action=showSettings&tab=provider")
        card = self.page.get_by_test_id("provider-added-card").filter(has_text=label)
        card.wait_for()
        return card

    def open_node(self, app: str) -> None:
        """Open an app in the editor, and in it the form of the node called `node`."""
        self.open_editor(app)
        self.page.locator(".react-flow__node[data-id=node]").click()
        self.page.locator("textarea").first.wait_for()

    def open_editor(self, app: str) -> None:
        self.open(f"/app/{app}/workflow")
        self.page.locator(".react-flow__node[data-id=node]").wait_for()

    def is_editor_there(self) -> bool:
        return self.page.locator(".react-flow__node[data-id=node]").is_visible()

    def field(self, label: str, holds: str = "input") -> Locator:
        """Return the field of a form that has this label: the smallest part of the page with both."""
        named = f"//*[text()[normalize-space()={_quote(label)}]]"
        return self.page.locator(f"xpath=({named}/ancestor::*[.//{holds}][1])[last()]")

    def _becomes_whole(self, shown: Locator, text: str) -> None:
        # What opens grows until it has its size, and on a busy machine that takes a while.
        try:
            self.page.wait_for_function(f"it => !({_IS_CUT})(it)", arg=shown.element_handle())
        except TimeoutError as error:
            raise AssertionError(f"cut: {text}") from error

    def read_help(self, text: str) -> None:
        """Open the help that says this, by the question mark that has it; it has to be whole on the screen."""
        mark = self.page.get_by_label(text, exact=True)
        mark.hover()
        opened = self.page.get_by_role("dialog").filter(has_text=text)
        opened.wait_for()
        box = opened.bounding_box()
        assert box, text
        assert box["y"] >= 0, f"cut above: {text}"
        assert box["y"] + box["height"] <= SIZE["height"], f"cut below: {text}"
        self._becomes_whole(opened, text)
        self.page.mouse.move(SIZE["width"] / 3, SIZE["height"] - 100)
        opened.wait_for(state="hidden")

    def choose_strategy(self, provider: str, label: str) -> None:
        """Choose an agent strategy in the open form."""
        self.page.locator("div[aria-haspopup=dialog]:has(> p)").click()
        picker = self.page.get_by_role("dialog").last
        self.shows(provider, within=picker).click()
        self.shows(label, within=picker).click()
        picker.wait_for(state="hidden")

    def open_model(self, label: str) -> Locator:
        """Open the panel of the model that is chosen in the open form."""
        button = self.page.locator("button[aria-haspopup=dialog]").filter(has_text=label).first
        if self.has_integrations:  # There that button opens the list of models.
            button = button.locator("xpath=following::button[@aria-haspopup='dialog'][1]")
        button.click()
        # What Dify says of other things at that moment is a dialog, too.
        panel = self.page.get_by_role("dialog").filter(has=self.page.locator("[role=switch]"))
        panel.wait_for()
        return panel

    def ask(self, query: str) -> Locator:
        """Ask in the editor's own chat, wait until the run has ended, and return the answer."""
        self.page.get_by_text(PREVIEW).first.click()
        self.page.locator("textarea[placeholder]").first.fill(query)
        self.page.keyboard.press("Enter")
        answer = self.page.get_by_test_id("chat-answer-container").last
        answer.locator(_ENDED).wait_for(timeout=120_000)
        return answer

    def open_log(self, answer: Locator) -> None:
        """Open the log of the run that has made an answer."""
        answer.get_by_test_id("chat-answer-container-inner").hover()
        answer.get_by_test_id("operation-bar").locator("button:visible").first.click()

    def open_round(self, node: str = "node") -> None:
        """Open what an agent node did in its first round, in the open log."""
        self.page.get_by_text(TRACING).last.click()
        log = self.page.get_by_text(TRACING).last.locator("xpath=ancestor::*[4]")
        log.get_by_text(node, exact=True).last.click()
        log.get_by_text(re.compile("^gpt5_")).first.click()
        self.shows("ROUND 2")
        self.shows("ROUND 1").click()
        self.page.get_by_text("Action Logs").first.click()

    def move_canvas(self, to: tuple[int, int]) -> None:
        """Move the editor's canvas until the node stands there."""
        box = self.page.locator(".react-flow__node[data-id=node]").bounding_box()
        assert box
        self.page.mouse.move(*_CANVAS)
        self.page.mouse.wheel(box["x"] - to[0], box["y"] - to[1])
        self.page.wait_for_timeout(1000)

    def take_picture(self, path: Path) -> Path:
        """Take a picture of the editor, without what belongs to one Dify alone: names of workspace, app and account."""
        self.page.screenshot(path=path, clip=_EDITOR)
        return path

    def code(self) -> str:
        """Return what the code editors on the page show, of which the last lines may be missing."""
        shown = self.page.locator(".view-lines").all_inner_texts()
        return re.sub(r"\s+", " ", " ".join(shown))

    def type(self, label: str, text: str) -> None:
        """Type into the field for text that has this label."""
        self.field(label, "*[@contenteditable='true']").locator("[contenteditable=true]").click()
        self.page.keyboard.type(text)


@contextmanager
def open_web(
    chromium: Browser, url: str, console: Console, language: str = "en-US"
) -> Generator[Web]:
    """Give a tab in a language; at the end nothing has gone wrong in it."""
    before = console.get("/account/profile")["interface_language"]
    console.post("/account/interface-language", interface_language=language)
    cookies = {**console.cookies, "locale": language}
    context = chromium.new_context(viewport=SIZE, color_scheme="light")
    context.add_cookies(
        [{"name": name, "value": value, "url": url} for name, value in cookies.items()]
    )
    page = context.new_page()
    page.set_default_timeout(45_000)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    try:
        yield Web(page, url, console.release)
        assert errors == []
    finally:
        context.close()
        console.post("/account/interface-language", interface_language=before)


def has_cut_placeholder(field: Locator) -> bool:
    """Return whether a field is too small for what stands in it while it is empty."""
    return field.evaluate(_HAS_CUT_PLACEHOLDER)


def _quote(text: str) -> str:
    """Write a text as XPath wants it, which has no escapes."""
    parts = [f"'{part}'" for part in text.split("'")]
    return f"concat({', "\'", '.join(parts)}, '')"
