// A round on one time axis: the model, then each tool call in a lane of its own.

import { h, seconds, words } from "./dom.js";

export const WORDS = { done: "done", failed: "failed", refused: "refused", recalled: "recalled", unfinished: "given up", waiting: "waits for approval", asked: "asked about", left: "not run" };

const SHORT = { waiting: "waits" };

/** What a call is shown as: the tool that is called, also where the model calls it through another. */
export const nameOf = (call) => (call.tool ? `${call.name} → ${call.tool}` : call.name);

/** The calls of a round in a word each. */
export const chips = (calls) => calls.map((call) => h(`span.chip.o-${call.outcome ?? "running"}`, { title: `${nameOf(call)}: ${WORDS[call.outcome] ?? "running"}` }, words(nameOf(call)), ["done", null].includes(call.outcome) ? null : h("i", {}, ` ${WORDS[call.outcome] ?? call.outcome}`)));

const STEPS = [1, 2, 5];

/** Round times for an axis of this many seconds, four to seven of them. */
export function ticks(span) {
  let step = 10 ** Math.floor(Math.log10(span / 5));
  for (const factor of [...STEPS, 10]) if (span / (step * factor) <= 6) { step *= factor; break; }
  const found = [];
  for (let at = 0; at <= span * 1.0001; at += step) found.push(at);
  return found;
}

export function lanes(row, { now = 0, onCall = () => {} } = {}) {
  const start = row.asked;
  const end = Math.max(row.last, now, start + 0.001);
  const span = end - start;
  const at = (t) => `${Math.min(100, Math.max(0, ((t - start) / span) * 100)).toFixed(3)}%`;
  const wide = (a, b) => `${Math.max(0, ((b - a) / span) * 100).toFixed(3)}%`;
  const bar = (kind, from, to, title) => h(`span.bar.${kind}`, { title, style: { left: at(from), width: wide(from, Math.max(to, from)) } });

  const answered = row.answered ?? end;
  const asked = Math.min(start + (row.wait || 0), answered);
  const first = row.first ?? answered;
  const model = [
    row.wait ? bar("wait", start, asked, `waits ${seconds(row.wait)}`) : null,
    bar("ttft", asked, first, `first piece after ${seconds(first - asked)}`),
    bar(row.error && !row.calls.length ? "failed" : "model", first, answered, `writes for ${seconds(answered - first)}`),
  ];
  const waits = [row.wait ? `waits ${seconds(row.wait)}` : "", row.first === null ? "" : `first token ${seconds(first - asked)}`];
  const list = [lane("model", model, seconds(answered - start), waits.filter(Boolean).join(", "))];
  const late = findLatest(row.calls);
  for (const call of row.calls) {
    const begun = call.started ?? call.asked;
    const hasBegun = !["waiting", "asked", "left"].includes(call.outcome);
    const until = hasBegun ? call.ended ?? end : begun;
    const bars = [
      call.started !== null && begun > call.asked ? bar("queue", call.asked, begun, `waits ${seconds(begun - call.asked)}`) : null,
      hasBegun && bar(call.outcome ?? "running", begun, until, `${WORDS[call.outcome] ?? "runs"}: ${seconds(until - begun)}`),
    ];
    const note = SHORT[call.outcome] ?? WORDS[call.outcome] ?? "runs";
    const held = call === late?.call ? `, last by ${seconds(late.by)}` : "";
    const tried = call.retries ? `, try ${call.retries + 1}` : "";
    list.push(lane(nameOf(call), bars, hasBegun ? seconds(until - begun) : "", note + tried + held, call.outcome ?? "running", () => onCall(call)));
  }
  const marks = ticks(span);
  const label = (t) => (marks[1] < 0.001 && t ? `${(t * 1000).toFixed(2).replace(/0$/, "")}\u2009ms` : seconds(t));
  return h("div.lanes", { role: "group", "aria-label": "The round on a time axis" },
    list,
    h("div.axis", { "aria-hidden": "true" }, h("span"), h("span.track", {}, marks.map((t) => h("span.tick", { style: { left: at(start + t) } }, label(t)))), h("span"), h("span")));
}

/** The call for which the others of a round waited in the end, and how long. */
function findLatest(calls) {
  if (calls.length < 2 || calls.some((call) => call.ended === null)) return null;
  const [call, next] = calls.toSorted((one, other) => other.ended - one.ended);
  return { call, by: call.ended - next.ended };
}

function lane(name, bars, took, note, outcome = "", onclick = null) {
  const label = onclick ? h("button.plain.name", { onclick, title: name }, words(name)) : h("span.name", {}, words(name));
  return h("div.lane", {}, label, h("span.track", {}, bars), h("span.took", {}, took), h(`span.state${outcome ? `.o-${outcome}` : ""}`, { title: note }, note));
}
