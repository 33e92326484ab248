// Two runs side by side: figures, where they begin to differ, and their rounds in pairs.

import { compareRuns, getRuns } from "./api.js";
import { clock, count, day, h, money, replace, seconds, words } from "./dom.js";
import { chips } from "./lanes.js";
import { reasonOf, toneOf } from "./reasons.js";
import { addressOf, differencePair, differencePlace, thoughts, tokens } from "./round.js";

const NAMES = ["first", "second"];
const OFFERED = 500;
const when = (time) => `${day(time)} ${clock(time)}`;
const label = (run) => [run.time ? when(run.time) : run.run, reasonOf(run.end), run.about?.model, String(run.about?.query ?? "").slice(0, 80)].filter((part) => typeof part === "string" && part).join(" · ");

/** Ask for the run to compare with; the run that this one repeats, or else the last with the same question, is offered first. */
export async function askCompare(run, about) {
  const { runs } = await getRuns(OFFERED);
  const others = runs.filter((one) => one.run !== run);
  const likely = others.find((one) => one.run === about.again?.of) ?? others.find((one) => one.about?.again?.of === run) ?? others.find((one) => about.query && one.about?.query === about.query) ?? others[0];
  const list = h("select", { id: "compare-run", size: Math.min(12, Math.max(3, others.length)) }, others.map((one) => h("option", { value: one.run, selected: one === likely }, words(label(one)).map((part) => part.textContent ?? part).join(""))));
  const go = () => { if (list.value) { dialog.close(); location.hash = `#/compare/${run}/${list.value}`; } };
  list.addEventListener("dblclick", go);
  list.addEventListener("keydown", (event) => { if (event.key === "Enter") go(); });
  const dialog = h("dialog.wide", { "aria-labelledby": "compare-title" },
    h("form", { method: "dialog", onsubmit: (event) => { event.preventDefault(); go(); } },
      h("h2", { id: "compare-title" }, "Compare with"),
      others.length ? [h("label.offscreen", { for: "compare-run" }, "the other run"), list] : h("p", {}, "There is no other run in this folder."),
      h("div.actions", {}, others.length ? h("button.primary", { type: "submit" }, "Compare") : null, h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"))));
  document.body.append(dialog);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.showModal();
  list.focus();
}

export class CompareView {
  constructor(first, second, main) {
    this.names = [first, second];
    this.main = main;
    this.current = -1;
  }

  async load() {
    const found = await compareRuns(...this.names);
    document.title = "Two runs compared";
    replace(this.main, h("div.title", {}, h("h1", {}, "Two runs compared"), h("div.actions", {}, h("button", { id: "swap", onclick: () => { location.hash = `#/compare/${this.names[1]}/${this.names[0]}`; } }, "Swap"))),
      this.figures(found.runs), this.differences(found), this.rounds(found.rounds, found.runs));
  }

  close() {}

  search() {}

  move(step) {
    const links = [...this.main.querySelectorAll("tbody th a")];
    this.current = Math.min(links.length - 1, Math.max(0, this.current + step));
    links[this.current]?.focus();
  }

  figures(runs) {
    const use = runs.map((run) => tokens(run.totals));
    const rows = [
      ["stopped", (run) => h(`span.pill.t-${toneOf(run.end)}`, {}, reasonOf(run.end))],
      ["question", (run) => words(String(run.start?.about?.query ?? "").slice(0, 300))],
      ["model", (run) => words(String(run.start?.about?.model ?? ""))],
      ["rounds", (run) => run.rounds, count], ["tool calls", (run) => run.calls, count],
      ["cache broken", (run) => run.rewritten.length, count], ["took", (run) => run.seconds, seconds],
      ["tokens in", (_, at) => use[at].input, count], ["cached", (_, at) => use[at].cached, count], ["tokens out", (_, at) => use[at].output, count],
      ["reasoning", (_, at) => use[at].reasoning, count], ["cost", (_, at) => Number(use[at].price ?? 0), (value) => money(value, use[0].currency || use[1].currency)],
    ];
    return h("table.two", {}, h("caption.offscreen", {}, "The figures of both runs"),
      h("thead", {}, h("tr", {}, h("td"), runs.map((run, at) => h("th", { scope: "col" }, NAMES[at], " ", h("a", { href: `#/run/${run.run}` }, when(run.start?.time) || run.run))), h("th.n", { scope: "col" }, "second − first"))),
      h("tbody", {}, rows.map(([name, read, show]) => {
        const values = runs.map(read);
        if (show && !values.some(Boolean)) return null;
        const step = show ? (values[1] ?? 0) - (values[0] ?? 0) : 0;
        const share = step && values[0] ? ` (${step > 0 ? "+" : "−"}${Math.round(Math.abs(step / values[0]) * 100)} %)` : "";
        return h("tr", {}, h("th", { scope: "row" }, name), values.map((value) => h("td", {}, show ? show(value) || "0" : value)), h("td.n", {}, step ? `${step > 0 ? "+" : "−"}${show(Math.abs(step))}${share}` : h("span.dim", {}, show ? "=" : "")));
      })));
  }

  differences(found) {
    const run = this.names[0];
    const one = (title, same, difference, note) => h("section.apart", { "aria-label": title }, difference
      ? h("div.alert", { role: "note" }, h("p", {}, h("strong", {}, title), ` in round ${difference.round + 1}: `, differencePlace(difference), note ?? ""), differencePair(run, difference, NAMES))
      : h("p.same", {}, same));
    const { settings } = found;
    const others = settings?.names.slice(1) ?? [];
    return [
      h("h2", {}, "Where they begin to differ"),
      one("Settings differ", "The settings of all rounds that both have are the same.", settings, others.length ? ["; so do ", others.map((name, at) => [at ? ", " : "", h("code", {}, words(name))])] : null),
      one("Requests differ", "The messages of all rounds that both have are the same.", found.request),
      one("Answers differ", "The answers of all rounds that both have are the same.", found.answer),
    ];
  }

  rounds(pairs, runs) {
    const heads = [["what", ""], ["took", "n"], ["in", "n"], ["cached", "n"], ["out", "n"], ["cost", "n"]];
    const side = (row) => {
      if (!row) return h("td.none.side", { colspan: heads.length }, h("span.dim", {}, "no such round"));
      const use = tokens(row.usage);
      return [h("td.what.side", {}, h("div", {}, row.dropped ? h("span.tag.warn", {}, "prefix rewritten") : null, row.error ? h("span.tag.bad", {}, "failed") : null, chips(row.calls), h("a.head", { href: addressOf(row), dir: "auto" }, words(thoughts(row.head).text.slice(0, 120)) .length ? words(thoughts(row.head).text.slice(0, 120)) : `round ${row.number}`))),
        h("td.n", {}, seconds(row.last - row.asked)), h("td.n", {}, count(use.input)), h("td.n", {}, count(use.cached)), h("td.n", {}, count(use.output)), h("td.n", {}, money(use.price, ""))];
    };
    const marks = (pair, before) => {
      if (!pair.rows.every(Boolean)) return null;
      const found = [["settings", "settings"], ["added", "request"], ["answer", "answer"]].filter(([name]) => !pair[name] && (name !== "settings" || (before?.settings ?? true))).map(([, word]) => h("span.tag.warn", {}, word));
      if (found.length) return found;
      return pair.request ? h("span.dim", {}, "same") : h("span.dim", { title: "What was added is the same, what stands before it is not." }, "before it");
    };
    const left = Math.max(...runs.map((run) => run.rounds)) - pairs.length;
    return [
      h("h2", {}, "Rounds side by side"),
      h("div.scroll", {}, h("table.rounds.pairs", {}, h("caption.offscreen", {}, "The rounds of both runs side by side, and what of them differs"),
        h("thead", {}, h("tr", {}, h("td"), h("td"), NAMES.map((name) => h("th.side", { scope: "colgroup", colspan: heads.length }, name))),
          h("tr", {}, h("th", { scope: "col" }, "#"), h("th", { scope: "col" }, "differs"), NAMES.map(() => heads.map(([name, kind], at) => h(`th${kind ? `.${kind}` : ""}${at ? "" : ".side"}`, { scope: "col" }, name))))),
        h("tbody", {}, pairs.map((pair, place) => h("tr.row.still", {}, h("th", { scope: "row" }, h("a", { href: addressOf(pair.rows[1] ?? pair.rows[0]) }, String(place + 1))),
          h("td.marks", {}, marks(pair, pairs[place - 1])), pair.rows.map(side)))))),
      left > 0 ? h("p.dim", {}, `${count(left)} more rounds are not compared.`) : null,
    ];
  }
}
