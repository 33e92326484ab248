// All runs of the folder, the newest first, and search over them.

import { getRuns, searchRuns } from "./api.js";
import { bytes, clock, count, day, h, money, replace, seconds, toast, words } from "./dom.js";
import { tokens } from "./round.js";
import { reasonOf, toneOf } from "./reasons.js";

const LOOK = 3000;
const STEP = 200;
const tag = (value) => words(String(value ?? "").slice(0, 40));

export class RunsView {
  constructor(main) {
    this.main = main;
    this.current = -1;
    this.drawn = "";
    this.count = STEP;
  }

  async load() {
    document.title = "Runs";
    this.found = h("div.found", { role: "region", "aria-label": "Found in runs", hidden: true });
    this.body = h("div");
    replace(this.main, this.found, this.body);
    await this.refresh();
    this.timer = setInterval(() => this.refresh().catch(() => {}), LOOK);
  }

  close() { clearInterval(this.timer); }

  async refresh() {
    const { folder, runs, total } = await getRuns(this.count);
    const seen = JSON.stringify([total, runs]);
    if (seen === this.drawn) return;
    this.drawn = seen;
    this.runs = runs;
    if (!runs.length) {
      replace(this.body, h("div.empty", {}, h("h1", {}, "No runs yet"), h("p", {}, "Nothing is logged in ", h("code", {}, folder), " yet. A run appears here as it begins."), h("p", {}, "RUN_LOG names the folder for RunLog.from_env(), GPT5_AGENT_RUN_LOG for the agent strategies, --run-log for dify-host chat.")));
      return;
    }
    const heads = [["began", ""], ["", "state"], ["question", ""], ["model", ""], ["program", ""], ["rounds", "n"], ["took", "n"], ["in", "n"], ["out", "n"], ["cost", "n"], ["log", "n"]];
    replace(this.body, h("h1.small", {}, `${count(total)} ${total === 1 ? "run" : "runs"}`, h("code.id", {}, folder)),
      h("div.scroll", {}, h("table.runs", {}, h("caption.offscreen", {}, "All runs, the newest first"),
        h("thead", {}, h("tr", {}, heads.map(([name, kind]) => h(`th${kind ? `.${kind}` : ""}`, { scope: "col" }, name || h("span.offscreen", {}, "why it stopped"))))),
        h("tbody", {}, runs.map((run) => this.row(run))))),
      total > runs.length ? h("div.rest", {}, h("button", { onclick: () => { this.count += STEP; this.refresh().catch((error) => toast(error.message)); } }, `Show ${Math.min(STEP, total - runs.length)} of ${count(total - runs.length)} more runs`)) : null);
  }

  row(run) {
    const found = tokens(run.end?.usage);
    const about = run.about ?? {};
    const said = run.error ?? run.problems[0];
    return h("tr.row", { onclick: (event) => { if (!event.target.closest("a")) location.hash = `#/run/${run.run}`; } },
      h("th", { scope: "row" }, h("a", { href: `#/run/${run.run}` }, run.time ? `${day(run.time)} ${clock(run.time)}` : run.run)),
      h("td", {}, said ? h("span.tag.bad", { title: said }, "damaged") : h(`span.pill.t-${toneOf(run.end)}`, {}, reasonOf(run.end)), run.parts > 1 ? h("span.tag", { title: "It waited for a person and then continued; all parts are on one page." }, `${run.parts} parts`) : null, about.again ? h("span.tag", {}, "run again") : null, about.called_by ? h("span.tag", { title: `called by ${about.called_by.run}` }, "agent ", words(String(about.agent ?? ""))) : null),
      h("td.what", {}, h("div", {}, h("span.head", { dir: "auto" }, words((said ?? String(about.query ?? "")).slice(0, 300))))),
      h("td", {}, tag(about.model)), h("td", {}, tag(about.program ?? about.plugin)),
      h("td.n", {}, count(run.end?.rounds)), h("td.n", {}, run.end ? seconds(run.seconds) : ""), h("td.n", {}, count(found.input)), h("td.n", {}, count(found.output)), h("td.n", {}, money(found.price, found.currency)), h("td.n", {}, bytes(run.size)));
  }

  move(step) {
    const links = [...this.main.querySelectorAll("tbody a")];
    this.current = Math.min(links.length - 1, Math.max(0, this.current + step));
    links[this.current]?.focus();
  }

  async search(text) {
    this.found.hidden = !text;
    if (!text) return replace(this.found);
    const { runs } = await searchRuns(text);
    replace(this.found, h("h2", {}, runs.length ? `${count(runs.length)} ${runs.length === 1 ? "run has" : "runs have"} “${text}”` : `No run has “${text}”`, h("button.link", { onclick: () => this.search("").catch((e) => toast(e.message)) }, "Close")),
      h("ol.hits", {}, runs.map((hit) => h("li", {}, h("a.hit", { href: `#/run/${hit.run}${hit.round < 0 ? "" : `/${hit.round + 1}`}` }, h("span.place", {}, hit.run.slice(4, 20)), h("span.tag", {}, hit.kind.replaceAll("_", " ")),
        h("span.excerpt", { dir: "auto" }, words(hit.before), h("mark", {}, words(hit.found)), words(hit.after)), h("span.dim", {}, ` ${count(hit.records)} records`))))));
    return undefined;
  }
}
