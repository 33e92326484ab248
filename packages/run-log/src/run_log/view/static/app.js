// The page: which view is shown, the bar above it, the keys.

import { help } from "./again.js";
import { CompareView } from "./compare.js";
import { getRuns } from "./api.js";
import { h, replace, toast, words } from "./dom.js";
import { RunView } from "./run.js";
import { RunsView } from "./runs.js";

const bar = document.getElementById("bar");
const main = document.getElementById("main");
const dark = matchMedia("(prefers-color-scheme: dark)");
let view = null;

function read(key) { try { return localStorage.getItem(key); } catch { return null; } }
const theme = () => document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light");
function setTheme(name) {
  document.documentElement.dataset.theme = name;
  try { localStorage.setItem("theme", name); } catch { /* a browser that keeps nothing */ }
}
if (read("theme")) setTheme(read("theme"));

const field = h("input", { id: "search", type: "search", autocomplete: "off", "aria-label": "Search" });
const form = h("form.search", { role: "search", onsubmit: (event) => { event.preventDefault(); find(); } }, field, h("kbd", { "aria-hidden": "true" }, "/"));
field.addEventListener("search", () => { if (!field.value) find(); });

function find() {
  Promise.resolve(view?.search(field.value.trim())).catch((error) => toast(error.message));
}

function drawBar(kind) {
  form.hidden = kind === "compare";
  field.placeholder = kind === "run" ? "Search in this run" : "Search over all runs";
  if (bar.hasChildNodes()) return;
  replace(bar, h("nav", { "aria-label": "Pages" }, h("a.brand", { href: "#/" }, "Runs")), form,
    h("button.icon", { title: "Light or dark (t)", "aria-label": "Light or dark", onclick: () => setTheme(theme() === "dark" ? "light" : "dark") }, "◐"),
    h("button.icon", { title: "Keys (?)", "aria-label": "Keys", onclick: help }, "?"));
}

/** A part of the address, decoded; one that cannot be decoded stays as it is. */
function plain(part) { try { return decodeURIComponent(part); } catch { return part; } }

async function show() {
  const [, kind, run, round] = location.hash.split("/");
  const index = kind === "run" && view instanceof RunView ? view.find(run, Number(round)) : undefined;
  if (index !== undefined) {
    if (round) await view.open(index, { jump: true });
    return;
  }
  if (kind === "next") return waitFor(run);
  view?.close();
  field.value = "";
  view = kind === "compare" && run && round ? new CompareView(plain(run), plain(round), main) : kind === "run" && run ? new RunView(plain(run), main) : new RunsView(main);
  drawBar(kind);
  try {
    await view.load();
    if (kind === "run" && round) await view.open(view.find(view.name, Number(round)), { jump: true });
  } catch (error) {
    replace(main, h("div.empty", {}, h("h1", {}, "This cannot be shown"), h("p", { role: "alert" }, words(error.message)), h("p", {}, h("a", { href: "#/" }, "All runs"))));
  }
}

/** Show the first run that begins after the last known one. */
async function waitFor(known) {
  drawBar("next");
  replace(main, h("div.empty", {}, h("h1", {}, "Waiting for the run to begin …")));
  while (location.hash.startsWith("#/next")) {
    const { runs } = await getRuns(50);
    const next = runs.map((one) => one.run).filter((name) => name > (known || "")).at(-1);
    if (next) return location.replace(`#/run/${next}`);
    await new Promise((done) => setTimeout(done, 250));
  }
  return undefined;
}

const KEYS = {
  j: () => view.move(1), ArrowDown: () => view.move(1), k: () => view.move(-1), ArrowUp: () => view.move(-1),
  b: () => view.nextBroken?.(), e: () => view.nextFailure?.(), c: () => view.copyFixture?.(), x: () => view.compare?.(), r: () => view.again?.(),
  g: () => { location.hash = "#/"; }, t: () => setTheme(theme() === "dark" ? "light" : "dark"), "/": () => field.focus(), "?": help,
  Escape: () => { if (view.opened?.has(view.current)) view.shut(view.current); },
};

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.target.closest?.("input,textarea,select")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const act = KEYS[event.key];
  if (!act || !view) return;
  event.preventDefault();
  act();
});
addEventListener("hashchange", show);
show();
