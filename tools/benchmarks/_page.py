"""The page of runs: how soon a run of thirty rounds is there to be read."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser, sync_playwright

from browser.chromium import find_chromium
from browser.runs import write_long_run
from run_log.view import ViewServer


_PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0].startTime / 1000"
_BYTES = (
    "() => performance.getEntriesByType('resource').reduce((sum, one) => sum + one.transferSize, 0)"
)
_STATIC = "() => performance.getEntriesByType('resource').filter((one) => one.name.includes('/static/')).reduce((sum, one) => sum + one.decodedBodySize, 0)"


def measure_page(repetitions: int, report: Callable[[str], None]) -> str:
    """Return a table of what a page of a run of 30 rounds and 5 MB takes.

    Each time in a new browser context, with a server that has read nothing yet.
    """
    figures: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        run = write_long_run(folder)
        log = (folder / f"{run}.jsonl").stat().st_size
        options = ["--no-sandbox"]
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=options)
        for repetition in range(repetitions + 1):
            report(f"page: repetition {repetition} of {repetitions}")
            for key, value in _measure(browser, folder, run).items():
                figures.setdefault(key, []).append(value)
        browser.close()
    rows = [
        ("first paint", "s", 1),
        ("all rows there to be read", "s", 1),
        ("a round opened", "s", 1),
        ("sent to the browser for it", "kB", 1000),
        ("modules and CSS", "kB", 1000),
    ]
    lines = [f"| a run of 30 rounds, {log / 1e6:.1f} MB | |", "|---|---|"]
    for title, unit, factor in rows:
        value = median(figures[title][1:]) / factor  # The first one warms up.
        lines.append(f"| {title} | {value:.{0 if unit == 'kB' else 2}f} {unit} |")
    return "\n".join(lines)


def _measure(browser: Browser, folder: Path, run: str) -> dict[str, float]:
    with ViewServer(folder) as server:
        context = browser.new_context()
        page = context.new_page()
        began = time.perf_counter()
        page.goto(server.url(run))
        page.wait_for_function("() => document.querySelectorAll('.row').length === 30")
        there = time.perf_counter() - began
        sent = page.evaluate(_BYTES)
        began = time.perf_counter()
        page.click(".toggle >> nth=8")
        page.wait_for_selector(".detail .call")
        opened = time.perf_counter() - began
        figures = {
            "first paint": page.evaluate(_PAINT),
            "all rows there to be read": there,
            "a round opened": opened,
            "sent to the browser for it": sent,
            "modules and CSS": page.evaluate(_STATIC),
        }
        context.close()
    return figures
