// Everything of one round: what was added to the request, what the model said, and its calls as written, as bound, as answered.

import { copy, count, h, money, seconds, toast, words } from "./dom.js";
import { WORDS, lanes, nameOf } from "./lanes.js";
import { content, fold, longText, picture, prose, tree } from "./value.js";

const KNOWN = new Set(["request", "delta", "answer", "call", "bound", "started", "retry", "result", "budgets", "error", "end", "start", "long_text"]);
const MESSAGE = 900; // characters of a message that are shown at once
const RESULT = 320; // and of a result, which stands whole with its call
const WHY = {
  failed: "The tool was called and has failed.",
  refused: "The tool was not called; the model reads why.",
  recalled: "The tool was not called: the same call has answered before.",
  unfinished: "Given up while the tool still ran.",
  asked: "A person was asked; the outcome is shown before the next round.",
  waiting: "Nobody has said yet whether the tool may be called.",
  left: "The tool was not called: the run went on or stopped without it.",
};

/** The address of a round: its part and its number there, so that it does not change when parts are added. */
export const addressOf = (row) => `#/run/${row.run}/${row.place + 1}`;

export function showRound(run, detail, { now, onClose, isShorter = false, agents = new Map() } = {}) {
  const { row, records } = detail;
  const by = (type) => records.filter((record) => record.type === type);
  const [request] = by("request");
  const answer = by("answer").at(-1);
  const calls = joinCalls(records, row.calls);
  const open = (call) => document.getElementById(`call-${row.index}-${calls.findIndex((one) => one.call_id === call.call_id)}`)?.focus();
  const more = records.filter((record) => !KNOWN.has(record.type));
  return h("div.detail", { role: "region", "aria-label": `Round ${row.number}` },
    lanes(row, { now, onCall: open }),
    row.dropped ? rewritten(run, row, detail.difference, isShorter) : null,
    row.error ? h("div.alert.bad", { role: "note" }, h("strong", {}, "It failed. "), prose(run, answer?.error ?? by("error")[0]?.message ?? row.error)) : null,
    more.map((record) => other(run, record)),
    h("div.columns", {},
      h("section", { "aria-label": "Request" }, requestPart(run, row, request, detail)),
      h("section", { "aria-label": "Answer" }, answerPart(run, row, records, answer))),
    calls.length ? h("section.calls", { "aria-label": "Tool calls" },
      h("h2", {}, "Tool calls", h("span.dim", {}, ` ${calls.length}`)),
      calls.map((call, index) => callPart(run, row, call, index, agents.get(call.call_id)))) : null,
    by("budgets").length ? h("section", { "aria-label": "Budgets" }, h("h2", {}, "Budgets after this round"), meters(by("budgets").at(-1).budgets)) : null,
    h("p.foot", {}, h("button.link", { onclick: () => copy(JSON.stringify(detail, null, 1), "The round is in the clipboard, as JSON.") }, "Copy this round as JSON"),
      onClose ? h("button.link", { onclick: onClose }, "Close") : null));
}

/** The calls of some records, each with what was written of it; those that have never begun stand in the model's answer only. */
export function joinCalls(records, rows = []) {
  const calls = [];
  const find = (record) => calls.find((call) => call.call_id === record.call_id);
  for (const record of records) {
    if (record.type === "call") calls.push({ call_id: record.call_id, written: record });
    else if (["bound", "started", "result"].includes(record.type)) {
      let call = find(record);
      if (!call) calls.push((call = { call_id: record.call_id }));
      if (record.type !== "started" || !call.started) call[record.type] = record; // of more tries the first
    } else if (record.type === "retry") {
      const call = find(record);
      if (call) call.retries = [...(call.retries ?? []), record];
    }
  }
  const written = records.filter((record) => record.type === "answer").flatMap((record) => record.calls ?? []);
  for (const row of rows) if (!calls.some((call) => call.call_id === row.call_id)) calls.push({ call_id: row.call_id, outcome: row.outcome, written: written.find((one) => one?.call_id === row.call_id) });
  return calls;
}

/** Where two values begin to differ, side by side. */
export function differencePair(run, difference, names = ["before", "now"]) {
  const side = (name, value) => h("div", {}, h("h3", {}, name), difference.position === null || difference.position === undefined
    ? (value === null ? h("p.dim", {}, "nothing stands there") : tree(run, value))
    : h("div.text.mono", {}, words(value.slice(0, difference.position - difference.start)), h("mark", {}, words(value.slice(difference.position - difference.start)))));
  return h("div.pair", {}, side(names[0], difference.before), side(names[1], difference.now));
}

export const differencePlace = (difference) => [h("code", {}, words(difference.path)), difference.position === null || difference.position === undefined ? "" : `, character ${count(difference.position + 1)}`];

function rewritten(run, row, difference, isShorter) {
  const where = difference ?? { path: `messages[${row.kept}]` };
  return h("div.alert.broken", { role: "note" },
    h("p", {}, h("strong", {}, "The prefix was rewritten here. "), isShorter ? "The run had been made shorter just before. " : "", `The request keeps ${row.kept} messages of the one before and drops ${row.dropped}; nothing after them comes from a cache.`,
      row.left_out ? ` ${row.left_out} images or files became a sentence.` : ""),
    h("p", {}, "First difference: ", differencePlace(where)),
    difference ? differencePair(run, difference) : null);
}

function requestPart(run, row, request, detail) {
  const added = request?.added ?? [];
  const changes = Object.entries(request?.set ?? {});
  const notes = [
    row.is_closing ? h("span.tag", { title: "The model had to answer, without tools." }, "closing call") : null,
    row.wait ? h("span.tag", {}, `waited ${seconds(row.wait)}`) : null,
    row.left_out ? h("span.tag.warn", {}, `${row.left_out} files left out`) : null,
  ];
  return [
    h("h2", {}, "Added to the request", h("span.dim", {}, ` ${added.length} ${added.length === 1 ? "message" : "messages"}${row.kept ? ` after ${row.kept} kept` : ""}`), notes),
    added.length ? h("ol.messages", { start: row.kept + 1 }, added.map((message, index) => messagePart(run, message, row.kept + index))) : h("p.dim", {}, "Nothing: the same request again."),
    row.place === 0 ? null : changes.map(([name, value]) => h("div.change", {}, h("h3", {}, "changed: ", h("code", {}, words(name))), tree(run, value))),
    (request?.unset ?? []).map((name) => h("p.change", {}, "gone: ", h("code", {}, words(name)))),
    fold("All settings", () => Object.entries(detail.settings).map(([name, value]) =>
      name === "tools" && Array.isArray(value) ? fold(`tools`, () => value.map((tool) => fold(words(String(tool?.name ?? "tool")), () => tree(run, tool))), { note: String(value.length) }) : h("div.setting", {}, h("code", {}, words(name)), tree(run, value))),
    { note: Object.keys(detail.settings).join(", ") }),
  ];
}

function messagePart(run, message, place) {
  const role = String(message?.role ?? message?.type ?? "item");
  const known = ["system", "developer", "user", "assistant", "tool"].includes(role) ? role : "other";
  const body = [];
  const clip = role === "tool" ? RESULT : MESSAGE;
  if (message && typeof message === "object" && ("content" in message || message.tool_calls)) {
    const split = typeof message.content === "string" ? thoughts(message.content) : null;
    if (split?.thoughts.length) body.push(fold("Reasoning", () => split.thoughts.map((text) => prose(run, text)), { note: `${count(split.thoughts.join("").length)} characters` }));
    if (message.content || !message.tool_calls?.length) body.push(split ? (split.text ? prose(run, split.text, { clip }) : null) : content(run, message.content, clip));
    if (message.tool_calls?.length) body.push(h("p.asks", {}, message.tool_calls.map((call) => h("span.chip", {}, words(String(call?.name ?? call?.function?.name ?? "call"))))));
    const rest = Object.fromEntries(Object.entries(message).filter(([name, value]) => !["role", "content", "tool_calls", "name", "tool_call_id"].includes(name) && value !== null && value !== undefined && !(Array.isArray(value) && !value.length)));
    if (Object.keys(rest).length) body.push(fold("More", () => tree(run, rest), { note: Object.keys(rest).join(", ") }));
  } else {
    body.push(tree(run, message));
  }
  return h(`li.message.r-${known}`, {}, h("div.who", {}, h("span.role", {}, words(role)), message?.name ? h("span.dim", {}, words(` ${message.name}`)) : null, h("span.place", {}, `[${place}]`)), h("div.said", {}, body));
}

/** Cut a text into what was thought and what was said. */
export function thoughts(text) {
  const found = [];
  const rest = text.replace(/<think>([\s\S]*?)(<\/think>|$)/g, (_, thought) => { found.push(thought.trim()); return ""; });
  return { thoughts: found, text: rest.trim() };
}

function answerPart(run, row, records, answer) {
  const deltas = records.filter((record) => record.type === "delta");
  const whole = deltas.every((delta) => typeof delta.text === "string");
  const split = whole ? thoughts(deltas.map((delta) => delta.text).join("")) : { thoughts: [], text: null };
  const items = answer?.opaque_body?.responses_output ?? [];
  const summaries = split.thoughts.length ? split.thoughts : (Array.isArray(items) ? items : []).flatMap((item) => (item?.summary ?? []).map((part) => part?.text)).filter(Boolean);
  const usage = answer?.usage;
  return [
    h("h2", {}, "Answer", row.answered === null ? h("span.tag.live", {}, "being written") : null,
      row.phases.map((phase) => h("span.tag", {}, words(phase))), row.finish_reason ? h("span.dim", {}, " finished: ", words(row.finish_reason)) : null),
    summaries.length ? h("div.reasoning", {}, h("h3", {}, "Reasoning summary"), summaries.map((text) => prose(run, text))) : null,
    whole ? (split.text ? prose(run, split.text) : h("p.dim", {}, row.calls.length ? "no text, only calls" : "no text")) : deltas.map((delta) => prose(run, delta.text)),
    (answer?.files ?? []).map((file) => content(run, [file])),
    usage ? h("dl.usage", {}, usageRows(usage).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])) : null,
    answer?.opaque_body ? fold("What goes back with this answer", () => tree(run, answer.opaque_body), { note: "opaque body" }) : null,
    deltas.length > 1 ? fold("How the text came", () => h("ol.pieces", {}, deltas.map((delta) => h("li", {}, h("span.dim", {}, `${seconds((delta.since ?? delta.t) - row.asked)}, ${count(delta.pieces)} pieces `), prose(run, delta.text, { clip: 200 })))), { note: `${deltas.length} records` }) : null,
  ];
}

export const tokens = (usage) => ({
  input: usage?.input_tokens ?? usage?.prompt_tokens,
  cached: usage?.cached_tokens ?? usage?.input_tokens_details?.cached_tokens ?? usage?.prompt_tokens_details?.cached_tokens,
  output: usage?.output_tokens ?? usage?.completion_tokens,
  reasoning: usage?.reasoning_tokens ?? usage?.output_tokens_details?.reasoning_tokens ?? usage?.completion_tokens_details?.reasoning_tokens,
  price: usage?.total_price, currency: usage?.currency ?? "",
});

function usageRows(usage) {
  const found = tokens(usage);
  return [
    ["input", count(found.input)],
    found.cached ? ["of it cached", `${count(found.cached)} (${Math.round((found.cached / found.input) * 100)} %)`] : null,
    usage.cache_write_tokens ? ["of it newly cached", count(usage.cache_write_tokens)] : null,
    ["output", count(found.output)],
    found.reasoning ? ["of it reasoning", count(found.reasoning)] : null,
    Number(found.price) ? ["price", money(found.price, found.currency)] : null,
  ].filter((pair) => pair && pair[1]);
}

export function callPart(run, row, call, index, agent) {
  const { written, bound, result } = call;
  const outcome = result?.outcome ?? call.outcome ?? "running";
  const other = bound?.tool === undefined ? "" : String(longText(bound.tool)?.head ?? bound.tool);
  const name = nameOf({ name: String(longText(written?.name)?.head ?? written?.name ?? "?"), tool: other });
  const from = call.started?.t ?? written?.t ?? row.asked;
  const marks = compare(written?.arguments, bound?.arguments, Boolean(other));
  const files = [result?.artifact].filter((value) => value !== null && value !== undefined);
  return h(`article.call.o-${outcome}`, { id: `call-${row.index}-${index}`, tabIndex: -1, "aria-label": `Call of ${written?.name ?? call.call_id}: ${WORDS[outcome] ?? "running"}` },
    h("header", {}, h("span.tool", {}, words(name)), h(`span.state.o-${outcome}`, {}, WORDS[outcome] ?? "running"),
      result ? h("span.dim", {}, seconds(result.t - from)) : null, WHY[outcome] ? h("span.dim", {}, WHY[outcome]) : null, agent ? h("a", { href: `#/run/${agent}` }, "the agent's own run") : null, h("code.id", {}, words(String(call.call_id)))),
    h("div.three", {},
      h("div", {}, h("h3", {}, "as the model wrote it"), writtenPart(run, written?.arguments, marks.written)),
      h("div", {}, h("h3", {}, bound ? "as the tool got it" : "as the tool got it: not called"), bound ? tree(run, bound.arguments, marks.bound) : h("p.refusal", {}, result?.error ? [h("strong", {}, "refused: "), prose(run, result.error)] : outcome === "recalled" ? "answered from memory" : "nothing")),
      h("div", {}, h("h3", {}, "result, as the model read it"), result ? content(run, result.content, 2400) : h("p.dim", {}, WHY[outcome] ? "none" : "not there yet"))),
    (call.retries ?? []).map((retry) => causePart(run, `try ${retry.attempt} ${WORDS[retry.outcome] ?? "failed"} at ${seconds(retry.t - from)}, which the model did not read`, retry.cause)),
    result?.cause ? causePart(run, "cause, which the model did not read", result.cause) : null,
    files.length ? fold("What the tool made for others", () => files.map((file) => picture(run, file) ?? (Array.isArray(file) ? content(run, file) : tree(run, file))), { open: true, note: "artifact" }) : null);
}

/** Why a call or one try of it has failed. */
const causePart = (run, title, cause) => h("div.cause", {}, h("h3", {}, title), cause ? [h("p", {}, h("code", {}, words(String(cause.kind?.$long_text ? "…" : cause.kind))), " "), prose(run, cause.message)] : null);

function writtenPart(run, text, marks) {
  if (typeof text !== "string") return longText(text) ? prose(run, text, { mono: true, clip: 1200 }) : h("p.dim", {}, "nothing");
  try {
    const value = JSON.parse(text);
    if (value && typeof value === "object") return [tree(run, value, marks), text.length > 60 ? fold("To the letter", () => prose(run, text, { mono: true })) : null];
  } catch { /* shown below */ }
  return [h("p", {}, h("span.tag.bad", {}, "no JSON object")), prose(run, text || "(empty)", { mono: true })];
}

/** Say which arguments the tool got otherwise than the model wrote them. */
function compare(text, bound, isOther) {
  let written;
  try { written = JSON.parse(text); } catch { return { written: {}, bound: {} }; }
  if (!written || typeof written !== "object" || !bound || isOther) return { written: {}, bound: {} };
  const marks = { written: {}, bound: {} };
  for (const name of new Set([...Object.keys(written), ...Object.keys(bound)])) {
    if (!(name in bound)) marks.written[name] = "dropped";
    else if (bound[name] === "[hidden]") marks.bound[name] = "hidden";
    else if (!(name in written)) marks.bound[name] = "added";
    else if (longText(bound[name]) === null && JSON.stringify(written[name]) !== JSON.stringify(bound[name])) { marks.written[name] = "changed"; marks.bound[name] = "changed"; }
  }
  return marks;
}

/** Budgets as meters. */
export function meters(budgets) {
  return h("div.meters", {}, Object.entries(budgets ?? {}).map(([name, use]) => {
    const share = Math.min(1, Number(use.used) / Number(use.maximum) || 0);
    const figure = (value) => (Number.isInteger(Number(value)) ? count(Number(value)) : String(Number(Number(value).toPrecision(4))));
    return h("div.meter", {}, h("span.name", {}, words(name.replaceAll("_", " "))),
      h("span.track", { role: "meter", "aria-label": `${name} used`, "aria-valuemin": 0, "aria-valuemax": 100, "aria-valuenow": Math.round(share * 100) },
        h(`span.fill${share >= 1 ? ".full" : share > 0.8 ? ".near" : ""}`, { style: { width: `${share * 100}%` } })),
      h("span.used", {}, `${figure(use.used)} of ${figure(use.maximum)}`));
  }));
}

const BY = { summary: "by a summary of the model's", api: "by the model's API", dropped: "by leaving out what is oldest" };

/** What was made of a run that filled the model's window. */
function compaction(run, record) {
  const used = usageRows(record.usage ?? {});
  return h("div.event", {}, h("h3", {}, "The run was made shorter"),
    h("p", {}, `${count(record.replaced)} messages went, ${BY[record.kind] ?? record.kind}; ${count(record.reasoning_dropped)} of them had reasoning. The next request has about ${count(record.tokens_after)} tokens and not ${count(record.tokens_before)}.`),
    used.length ? h("dl.usage", {}, used.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])) : null, record.error ? prose(run, record.error) : null);
}

/** What somebody has decided about a call. */
function decision(run, record, name) {
  const by = record.by ? [" by ", prose(run, record.by)] : null;
  return h("div.event", {}, h("h3", {}, record.is_approved ? "Approved" : "Not approved", h("span.dim", {}, " ", words(String(record.time)))),
    h("p", {}, name ? [h("strong", {}, words(name)), " "] : null, h("code", {}, words(String(record.call_id))), by), record.reason ? prose(run, record.reason) : null);
}

/** A record of a type that this version knows only by its name. */
export function other(run, record, name = "") {
  const { v, type, t, ...rest } = record;
  if (type === "compaction") return compaction(run, record);
  if (type === "decision") return decision(run, record, name);
  const title = String(type).replaceAll("_", " ");
  const texts = Object.entries(rest).filter(([name]) => !["round", "call_id"].includes(name));
  const plain = texts.filter(([, value]) => typeof value !== "object" || value === null);
  const large = texts.filter(([, value]) => typeof value === "object" && value !== null);
  return h("div.event", {}, h("h3", {}, words(title), h("span.dim", {}, ` at ${seconds(t)}`)),
    plain.length ? h("dl.usage", {}, plain.map(([name, value]) => [h("dt", {}, words(name.replaceAll("_", " "))), h("dd", {}, typeof value === "string" ? prose(run, value, { clip: 600 }) : String(value))])) : null,
    large.map(([name, value]) => longText(value) ? h("div", {}, h("h3", {}, words(name)), prose(run, value)) : fold(words(name), () => tree(run, value), { open: JSON.stringify(value).length < 400 })));
}

export { toast };
