"""The search of the reference finds pages, and what is called as asked for before what speaks of it."""

import json
import subprocess
from pathlib import Path

import pdoc.render
from pdoc.doc import Module

import agent_driver
from pages import Page, Pages
from searching import build_search


# As in a page, where there are no modules of Node's.
_ASK = """
const [path, ...terms] = process.argv.slice(1);
const page = { console: { info() {}, time() {}, timeEnd() {} } };
page.window = page;
require("vm").runInNewContext(require("fs").readFileSync(path, "utf-8"), page);
console.log(JSON.stringify(terms.map((term) => page.pdocSearch(term)[0].doc.fullname)));
"""
_FIRST = {
    "Agent": "agent_driver.Agent",
    "agent_tool()": "agent_driver.agent_tool",
    "agent.arun": "agent_driver.Agent.arun",
    "recipes": "pages/docs/recipes-md",
    "operate": "pages/docs/operate-md",
    "inspect_ai": "pages/docs/recipes-md",
}


def test_pages_are_found_and_what_is_called_as_asked_for_comes_first(tmp_path: Path) -> None:
    pdoc.render.configure(include_undocumented=False)
    sources = map(Path, ("docs/recipes.md", "docs/operate.md", "packages/agent-driver/README.md"))
    written = [Page(title="", html="", toc="", source=source) for source in sources]
    pages = Pages({Path("packages/agent-driver"): "agent_driver"})
    path = tmp_path / "search.js"
    path.write_text(build_search({"agent_driver": Module(agent_driver)}, pages, written))

    command = ["node", "-e", _ASK, str(path), *_FIRST]
    found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)

    assert found == list(_FIRST.values())
