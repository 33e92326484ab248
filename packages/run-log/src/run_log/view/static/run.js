// A run: its figures, a row for each round, and what has come while it is looked at.

import { follow, getAgents, getFixture, getRound, getRounds, getRun, searchRun } from "./api.js";
import { add, bytes, clock, copy, count, day, h, money, replace, seconds, short, toast, words } from "./dom.js";
import { askAgain } from "./again.js";
import { askCompare } from "./compare.js";
import { chips } from "./lanes.js";
import { reasonOf, toneOf } from "./reasons.js";
import { addressOf, callPart, joinCalls, meters, other, showRound, thoughts, tokens } from "./round.js";
import { tree } from "./value.js";

const PAGE = 100;
const named = (value) => (value ? words(String(value).slice(0, 80)) : "");

export class RunView {
  constructor(name, main) {
    this.name = name;
    this.main = main;
    this.rows = [];
    this.opened = new Map(); // index -> the row that holds the details
    this.elements = new Map();
    this.agents = new Map(); // call_id -> the run of the agent that was called
    this.current = -1;
    this.head = null;
    this.stop = () => {};
    this.busy = Promise.resolve();
  }

  /** The index of a round, given the part and the number of the round within it; -1 if the part has no such round, undefined if there is no such part. */
  find(name, number) {
    const parts = this.head?.parts ?? [];
    const place = parts.findIndex((one) => one.run === name);
    if (place < 0) return undefined;
    const index = parts[place].first + number - 1;
    const end = parts[place + 1]?.first ?? this.head.rounds;
    return index >= parts[place].first && index < end ? index : -1;
  }

  async load() {
    this.parts = []; // the rows that stand before the first round of each later part
    this.head = await getRun(this.name);
    this.rows = await getRounds(this.name, 0, PAGE);
    document.title = `${reasonOf(this.head.end)} · ${this.name}`;
    this.draw();
    if (this.isOpen()) this.watch();
    this.findAgents().catch((error) => toast(error.message));
  }

  /** Whether more may come: the run is going on, or waits for a person. */
  isOpen() { return !this.head.end || this.head.end.reason === "approval"; }

  /** Find the runs of agents that this run has called, which have logs of their own. */
  async findAgents() {
    const found = await getAgents(this.head.parts.map((part) => part.run));
    const isNews = found.length !== this.agents.size;
    this.agents = new Map(found.map((one) => [one.about.called_by.call_id, one.run]));
    if (isNews) for (const index of this.opened.keys()) await this.fill(index);
  }

  close() { this.stop(); this.observer?.disconnect(); }

  watch() {
    let waiting = null;
    this.stop = follow(this.name, (news) => {
      waiting = news;
      this.busy = this.busy.then(async () => {
        if (waiting === null) return;
        waiting = null;
        await this.refresh().catch((error) => toast(error.message));
      });
    }, (text) => this.main.prepend(h("div.alert.bad", { role: "alert" }, h("strong", {}, "The log is gone; this is what was read of it. "), words(text))));
  }

  /** Fetch what has changed: the last rows, and the details that are open of them. */
  async refresh() {
    this.head = await getRun(this.name);
    if (this.head.rounds < this.rows.length) { this.stop(); this.opened.clear(); this.elements.clear(); return this.load(); } // another file, or cut
    const isWhole = this.rows.length < PAGE || this.rows.length % PAGE !== 0 || this.rows.length === this.head.rounds;
    const from = Math.max(0, this.rows.length - 1);
    const news = await getRounds(this.name, from, isWhole ? PAGE : 1);
    this.rows.splice(from, 1, ...news);
    for (const row of news) await this.drawRow(row);
    this.drawHead();
    this.drawParts();
    this.drawMore();
    if (this.rows.some((row) => row.calls.length)) await this.findAgents();
    if (!this.isOpen()) { document.title = `${reasonOf(this.head.end)} · ${this.name}`; this.stop(); }
    this.scale();
    return undefined;
  }

  draw() {
    this.top = h("div.top");
    this.body = h("tbody");
    this.more = h("div.rest");
    this.found = h("div.found", { role: "region", "aria-label": "Found in this run", hidden: true });
    const columns = [["#", "", "round"], ["", "when", "when, on the time of the whole run"], ["round", "what", ""], ["first", "n", "time to first token"], ["took", "n", "duration of the round"], ["in", "n", "input tokens"], ["cached", "n", "input tokens from the cache"],
      ["out", "n", "output tokens"], ["reas.", "n", "reasoning tokens"], ["cost", "n", "cost"], ["effort", "", "reasoning effort"]];
    const table = h("table.rounds", {}, h("caption.offscreen", {}, "A row for each round; a row opens to everything of it"),
      h("thead", {}, h("tr", {}, columns.map(([name, kind, title]) => h(`th${kind ? `.${kind}` : ""}`, { scope: "col", title }, name || h("span.offscreen", {}, title))))), this.body);
    replace(this.main, this.top, this.found, h("div.scroll", {}, table), this.more);
    this.drawHead();
    for (const row of this.rows) this.drawRow(row);
    this.drawParts();
    this.drawMore();
    this.scale();
  }

  drawHead() {
    const { head } = this;
    const about = head.start?.about ?? {};
    const found = tokens(head.totals);
    const tone = toneOf(head.end);
    const figure = (label, value, note = "") => (value === "" || value === undefined ? null : h("div.figure", {}, h("dt", {}, label), h("dd", {}, value, note ? h("span.dim", {}, ` ${note}`) : null)));
    const first = this.rows[0];
    const focused = document.activeElement?.id;
    replace(this.top,
      h("div.title", {},
        h("h1", {}, h(`span.pill.t-${tone}`, {}, reasonOf(head.end)), h("span.when", {}, `${day(head.start?.time)} ${clock(head.start?.time)}`), h("code.id", {}, head.run)),
        h("div.actions", {},
          h("button", { id: "copy-fixture", title: "A test that plays this run again (c)", onclick: () => this.copyFixture() }, "Copy as pytest fixture"),
          h("button", { id: "compare", title: "Put another run beside this one (x)", onclick: () => this.compare() }, "Compare…"),
          head.can_run_again ? h("button", { id: "again", title: "Run again from a round, with another instruction or model (r)", onclick: () => this.again() }, "Run again…") : null)),
      typeof about.query === "string" && about.query ? h("p.query", { dir: "auto", title: "what was asked" }, words(about.query.slice(0, 600))) : null,
      about.called_by ? h("p.cache", {}, "The agent ", h("strong", {}, words(String(about.agent ?? ""))), ", called by ", h("a", { href: `#/run/${about.called_by.run}` }, words(String(about.called_by.run)))) : null,
      typeof head.start?.resumes === "string" ? h("p.cache", {}, "Continues ", h("code", {}, words(head.start.resumes)), ", which stopped to ask a person and is not in this folder.") : null,
      head.others.map((run) => h("p.cache", {}, "Another run continues from here: ", h("a", { href: `#/run/${run}` }, words(run)))),
      about.again ? h("p.cache", {}, "Run again from round ", String(about.again.round), " of ", h("a", { href: `#/run/${about.again.of}` }, words(String(about.again.of)))) : null,
      head.problems.filter((text) => !(head.end === null && /no end/.test(text))).map((text) => h("div.alert.warn", { role: "alert" }, words(text))),
      head.end?.error ? h("div.alert.bad", { role: "note" }, h("strong", {}, "Why it stopped: "), words(String(head.end.error.$long_text?.head ?? head.end.error))) : null,
      head.end?.budget ? h("div.alert.warn", { role: "note" }, h("strong", {}, "Why it stopped: "), "the budget ", words(String(head.end.budget.$long_text?.head ?? head.end.budget)), " was used up.") : null,
      head.end?.is_cut ? h("div.alert.warn", { role: "note" }, "The log was cut: it had no room for some of the records.") : null,
      h("dl.figures", {},
        figure("rounds", count(head.rounds)), figure("tool calls", count(head.calls)), figure("took", seconds(head.seconds)),
        figure("tokens in", count(found.input), found.cached ? `${Math.round((found.cached / found.input) * 100)} % cached` : ""), figure("out", count(found.output), found.reasoning ? `${Math.round((found.reasoning / found.output) * 100)} % reasoning` : ""),
        figure("cost", money(found.price, found.currency)), figure("model", named(about.model ?? first?.model)), figure("effort", named(first?.effort)), figure("log", bytes(head.size))),
      head.rewritten.length ? h("p.cache", {}, h("strong", {}, "Cache broken"), " in ", head.rewritten.length === 1 ? "round " : "rounds ", head.rewritten.slice(0, 40).map((index) => h("button.chip.warn", { onclick: () => this.open(index, { jump: true }) }, String(this.rows[index]?.number ?? index + 1)))) : null,
      head.missed.length ? h("p.cache", {}, h("strong", {}, "Cache missed"), " though the prefix stood, in ", head.missed.length === 1 ? "round " : "rounds ", head.missed.slice(0, 40).map((index) => h("button.chip.warn", { onclick: () => this.open(index, { jump: true }) }, String(this.rows[index]?.number ?? index + 1)))) : null,
      head.budgets ? meters(head.budgets) : null,
      h("details.fold", {}, h("summary", {}, "About this run"), tree(this.name, about)),
      this.beforePart(head.parts[0]));
    if (focused) document.getElementById(focused)?.focus();
  }

  /** What came before the first request of a part: a person's decisions, and the calls that they were about. */
  beforePart({ run, before }) {
    const calls = joinCalls(before);
    const others = before.filter((record) => !["start", "end", "call", "bound", "started", "retry", "result", "budgets"].includes(record.type));
    const names = new Map(this.rows.flatMap((row) => row.calls.map((call) => [call.call_id, call.name])));
    return [
      others.map((record) => other(run, record, names.get(record.call_id))),
      calls.length ? h("section.calls", { "aria-label": "Before the first request" }, h("h2", {}, "Before the first request", h("span.dim", {}, " the run goes on after somebody was asked about these calls")), calls.map((call, index) => callPart(run, { index: run, asked: 0 }, call, index, this.agents.get(call.call_id)))) : null,
    ];
  }

  /** Draw what comes between the parts of a run that waited for a person, each before the first round of its part. */
  drawParts() {
    this.head.parts.forEach((part, number) => {
      if (number === 0 || part.first > this.rows.length) return;
      const seen = JSON.stringify([part, [...this.agents]]);
      if (this.parts[number]?.seen === seen) return;
      const element = h("tr.part", {}, h("td", { colspan: 11 }, h("h2", {}, "A person was asked", h("span.dim", {}, ` the run went on at ${day(part.start?.time)} ${clock(part.start?.time)} as `, h("code.id", {}, part.run))), this.beforePart(part)));
      this.parts[number]?.element.remove();
      this.parts[number] = { element, seen };
      this.body.insertBefore(element, this.elements.get(part.first) ?? null);
    });
  }

  /** Draw a row, and again what is open below it. */
  async drawRow(row) {
    const old = this.elements.get(row.index);
    const isOpen = this.opened.has(row.index);
    const hadFocus = old?.contains(document.activeElement);
    const element = this.makeRow(row, isOpen);
    if (old) old.replaceWith(element); else this.body.append(element);
    this.elements.set(row.index, element);
    if (hadFocus) element.querySelector("button")?.focus({ preventScroll: true });
    if (isOpen) await this.fill(row.index);
  }

  makeRow(row, isOpen) {
    const found = tokens(row.usage);
    const took = row.last - row.asked;
    const { text } = thoughts(row.head);
    const before = this.rows[row.index - 1];
    const toggle = h("button.plain.toggle", { "aria-expanded": String(isOpen), "aria-controls": `detail-${row.index}`, "aria-label": `Round ${row.number}`, onclick: () => this.toggle(row.index) }, String(row.number));
    const lane = h("span.strip", { "aria-hidden": "true" });
    return h(`tr.row${isOpen ? ".open" : ""}${row.dropped ? ".rewritten" : ""}`, {
      "data-index": row.index, onclick: (event) => { if (!event.target.closest("button,a") && !getSelection().toString()) this.toggle(row.index); },
    },
      h("th", { scope: "row" }, toggle), h("td.when", {}, lane),
      h("td.what", {}, h("div", {}, row.dropped ? h("span.tag.warn", { title: this.isShorter(row.index) ? "The run was made shorter before it." : "The request does not begin with the one before." }, "prefix rewritten") : null,
        before && row.model !== before.model ? h("span.tag.kind", { title: "Another model answers from here on." }, words(`model ${row.model || "?"}`)) : null,
        before?.error && !row.added && !row.dropped ? h("span.tag", { title: "The request before failed and is made again." }, "asked again") : null,
        row.is_closing ? h("span.tag", {}, "closing") : null, row.is_compaction ? h("span.tag.kind", {}, "makes a summary") : null, row.error ? h("span.tag.bad", {}, "failed") : null, row.phases.map((phase) => h("span.tag.phase", {}, words(phase))),
        Object.entries(row.others).map(([kind, number]) => h("span.tag.kind", {}, words(kind.replaceAll("_", " ")), number > 1 ? ` ${number}` : "")),
        chips(row.calls),
        text ? h("span.head", { dir: "auto" }, words(text.slice(0, 160))) : null, row.answered === null && !this.head.end ? h("span.tag.live", {}, "live") : null)),
      h("td.n", {}, row.first === null ? "" : seconds(row.first - row.asked - row.wait)), h("td.n", {}, seconds(took)),
      h("td.n", {}, count(found.input)), h("td.n", {}, found.cached ? h("span", { title: `${Math.round((found.cached / found.input) * 100)} %` }, count(found.cached)) : h("span.dim", {}, found.input ? "–" : "")),
      h("td.n", {}, count(found.output)), h("td.n", {}, found.reasoning ? count(found.reasoning) : h("span.dim", {}, found.output ? "–" : "")), h("td.n", {}, money(found.price, "")), h("td", {}, words(row.effort)));
  }

  /** Put the strips of all rows on the time of the whole run. */
  scale() {
    const end = Math.max(this.head.seconds, 0.001);
    for (const row of this.rows) {
      const strip = this.elements.get(row.index)?.querySelector(".strip");
      if (!strip) continue;
      const part = (kind, from, to) => h(`span.${kind}`, { style: { left: `${((row.earlier + from) / end) * 100}%`, width: `${Math.max(0.4, ((to - from) / end) * 100)}%` } });
      const answered = row.answered ?? row.last;
      replace(strip, part("s-model", row.asked, answered), row.last > answered ? part(row.calls.some((call) => call.outcome === "failed") ? "s-failed" : "s-tools", answered, row.last) : null);
    }
  }

  drawMore() {
    const left = this.head.rounds - this.rows.length;
    this.observer?.disconnect();
    replace(this.more, left > 0 ? h("button", { onclick: () => this.loadMore() }, `Show ${Math.min(PAGE, left)} of ${count(left)} more rounds`) : null);
    if (left <= 0 || !("IntersectionObserver" in window)) return;
    this.observer = new IntersectionObserver((seen) => { if (seen.some((one) => one.isIntersecting)) this.loadMore(); }, { rootMargin: "400px" });
    this.observer.observe(this.more);
  }

  async loadMore(size = PAGE) {
    if (this.loading) return this.loading;
    this.loading = (async () => {
      const rows = await getRounds(this.name, this.rows.length, size);
      this.rows.push(...rows);
      for (const row of rows) await this.drawRow(row);
      this.loading = null;
      this.drawParts();
      this.drawMore();
      this.scale();
    })();
    return this.loading;
  }

  toggle(index) { return this.opened.has(index) ? this.shut(index) : this.open(index); }

  async open(index, { jump = false } = {}) {
    while (index >= this.rows.length && this.rows.length < this.head.rounds) await this.loadMore(500);
    const row = this.rows[index];
    if (!row) return toast("There is no such round.");
    if (!this.opened.has(index)) {
      const holder = h("tr.holder", { id: `detail-${index}` }, h("td", { colspan: 11 }));
      this.elements.get(index).after(holder);
      this.opened.set(index, holder);
      await this.drawRow(row);
    }
    this.select(index);
    history.replaceState(null, "", addressOf(row));
    if (jump) this.elements.get(index).scrollIntoView({ block: "start" });
  }

  shut(index) {
    this.opened.get(index)?.remove();
    this.opened.delete(index);
    this.drawRow(this.rows[index]);
    this.scale();
    this.select(index);
  }

  async fill(index) {
    const holder = this.opened.get(index);
    try {
      const detail = await getRound(this.name, index);
      const folds = [...holder.querySelectorAll("details")].map((one) => one.open);
      replace(holder.firstChild, showRound(detail.row.run, detail, { now: this.head.end ? 0 : detail.row.last, isShorter: this.isShorter(index), agents: this.agents, onClose: () => this.shut(index) }));
      [...holder.querySelectorAll("details")].forEach((one, place) => { if (folds[place] !== undefined && !one.parentElement.closest("details")) one.open = folds[place]; });
    } catch (error) {
      replace(holder.firstChild, h("div.alert.bad", { role: "alert" }, words(error.message)));
    }
    this.scale();
  }

  /** Whether the run was made shorter before this round's request, which is then no prefix's heir on purpose. */
  isShorter(index) { return Boolean(this.rows[index - 1]?.others.compaction); }

  select(index, { scroll = true } = {}) {
    if (index < 0 || index >= this.rows.length) return;
    this.elements.get(this.current)?.classList.remove("current");
    this.current = index;
    const element = this.elements.get(index);
    element.classList.add("current");
    element.querySelector("button").focus({ preventScroll: !scroll });
  }

  move(step) { this.select(Math.min(this.rows.length - 1, Math.max(0, this.current + step))); }

  /** Go to the next round of a kind, and open it. */
  next(isWanted, none) {
    const order = [...this.rows.slice(this.current + 1), ...this.rows.slice(0, this.current + 1)];
    const row = order.find(isWanted);
    return row ? this.open(row.index, { jump: true }) : toast(none);
  }

  nextBroken() { return this.next((row) => row.dropped, "No request of this run rewrote its prefix."); }

  nextFailure() { return this.next((row) => row.error || row.calls.some((call) => ["failed", "refused", "unfinished"].includes(call.outcome)), "Nothing failed in this run."); }

  async copyFixture() {
    try {
      await copy(await getFixture(this.name), "A test is in the clipboard: save it as test_….py and run pytest.");
    } catch (error) { toast(error.message); }
  }

  again() {
    if (this.head.can_run_again) askAgain(this.name, this.head, this.rows, Math.max(0, this.current));
  }

  compare() { return askCompare(this.name, this.head.start?.about ?? {}).catch((error) => toast(error.message)); }

  async search(text) {
    this.found.hidden = !text;
    if (!text) return replace(this.found);
    const { hits, is_cut: isCut } = await searchRun(this.name, text);
    replace(this.found, h("h2", {}, hits.length ? `${isCut ? "The first " : ""}${count(hits.length)} ${hits.length === 1 ? "record has" : "records have"} “${text}”` : `Nothing has “${text}”`, h("button.link", { onclick: () => this.search("") }, "Close")),
      h("ol.hits", {}, hits.map((hit) => h("li", {}, h("button.plain.hit", { onclick: () => (hit.round < 0 ? toast("This stands before the first round: in “About this run”.") : this.open(hit.round, { jump: true })) },
        h("span.place", {}, hit.round < 0 ? "before" : `round ${hit.round + 1}`), h("span.tag", {}, hit.kind.replaceAll("_", " ")), h("span.excerpt", { dir: "auto" }, words(hit.before), h("mark", {}, words(hit.found)), words(hit.after)),
        hit.count > 1 ? h("span.dim", {}, ` ×${hit.count}`) : null)))));
    return undefined;
  }
}

export { add, short };
