// A conversation with an agent: its turns, each of which is a response, and the field to say something.

import { cancel, follow, getLogs } from "./api.js";
import { add, count, h, replace, say, words } from "./dom.js";
import { Items } from "./items.js";

const STATES = { queued: "waits in the queue", in_progress: "answers …", completed: "", failed: "failed", cancelled: "cancelled" };
const makeKey = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const runOf = (id) => id.slice(5, 37).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");

let looking = null;
/** The name of a run's newest log, which need not exist yet. */
async function findLog(run) {
  looking ??= getLogs().finally(() => { looking = null; });
  return (await looking).find((one) => one.about.run_id === run && !one.about.called_by)?.run;
}

/** One response, with what was said to get it. `data` is kept by the tab: `said`, and `key` and `body` until it has an `id`. */
class Turn {
  constructor(data, conversation) {
    this.data = data;
    this.conversation = conversation;
    this.status = "in_progress";
    this.items = new Items(conversation.agent);
    this.error = h("div");
    this.more = h("div.actions");
    this.state = h("span.state.live", {}, STATES.in_progress);
    this.link = h("span");
    this.usage = h("span");
    this.mine = h("div.mine", {}, data.said.map((one) => h("p", { dir: "auto" }, words(one))));
    this.element = h("article.turn", { "aria-label": "Turn" },
      this.mine, this.items.element, this.error, this.more, h("footer", {}, this.state, this.usage, this.link));
  }

  get id() { return this.data.id; }
  get questions() { return this.status === "completed" ? this.items.questions : []; }

  async run() {
    for await (const event of follow(this.data, () => this.show("the server cannot be reached, trying again …"))) {
      if (event.response) this.set(event.response);
      else if (this.state.textContent !== STATES.in_progress) this.show(STATES.in_progress);
      if (event.type === "response.output_item.added") this.findRun();
      this.items.feed(event);
    }
  }

  set(response) {
    this.status = response.status;
    this.show(STATES[response.status] ?? response.status);
    if (!this.data.id) {
      this.data.id = response.id;
      delete this.data.body;
      this.conversation.page.save();
    }
    if (!response.completed_at) return;
    this.state.classList.remove("live");
    this.items.settle(response.output);
    if (response.error) replace(this.error, h("div.alert.bad", {}, words(response.error.message)));
    if (response.usage) this.usage.textContent = `${count(response.usage.input_tokens)} tokens in, ${count(response.usage.output_tokens)} out`;
    this.findRun();
  }

  show(text) { this.state.textContent = text; }

  async findRun() {
    const run = runOf(this.data.id);
    const { has_keys: hasKeys, has_run_logs: hasLogs } = this.conversation.page.about;
    if (this.link.querySelector("a")) return;
    const log = hasLogs ? await findLog(run).catch(() => undefined) : undefined;
    // A server with keys answers no link to the run itself, which a browser would follow without one.
    const href = log ? `../view/#/run/${log}` : hasKeys || hasLogs ? null : `../runs/${run}`;
    replace(this.link, href ? h("a", { href, target: "_blank", rel: "noopener" }, "the run") : ["run ", h("code", {}, run)]);
  }
}

export class Conversation {
  constructor(data, page) {
    this.page = page;
    this.agent = data.agent;
    this.data = data;
    this.turns = [];
    this.isBusy = false;
    this.alert = h("div", { role: "alert" });
    this.list = h("div.turns");
    this.isAtEnd = true;
    this.log = h("div.log", { role: "region", "aria-label": "Conversation", tabIndex: 0, onscroll: () => { this.isAtEnd = this.log.scrollHeight - this.log.scrollTop - this.log.clientHeight < 60; } }, this.list);
    new ResizeObserver(() => { if (this.isAtEnd) this.log.scrollTop = this.log.scrollHeight; }).observe(this.list);
    this.field = h("textarea", { id: `say-${data.key}`, rows: 2, placeholder: "Enter sends, Shift+Enter begins a line", onkeydown: (event) => this.press(event) });
    this.send = h("button.primary", { type: "submit" }, "Send");
    this.stop = h("button", { type: "button", hidden: true, onclick: () => this.cancel() }, "Stop");
    this.form = h("form.say", { onsubmit: (event) => { event.preventDefault(); this.sendText(); } },
      h("label.offscreen", { for: this.field.id }, "What you say"), this.field, h("div.actions", {}, this.stop, this.send));
    this.element = h("section.conversation", {}, h("h1", {}, words(data.agent)), this.log, this.alert, this.form);
    this.restore();
  }

  get title() { return this.data.turns[0]?.said[0]?.slice(0, 60) ?? "New"; }
  get last() { return this.turns.at(-1); }

  async restore() {
    for (const turn of this.data.turns) this.turns.push(new Turn(turn, this));
    add(this.list, this.turns.map((turn) => turn.element));
    for (const turn of [...this.turns]) await this.play(turn);
  }

  press(event) {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    this.form.requestSubmit();
  }

  /** The response to go on from: the last of the last run that has succeeded. */
  get previous() {
    const lost = new Set();
    for (const turn of [...this.turns].reverse()) {
      const run = turn.id && runOf(turn.id);
      if (turn.status === "completed" && !lost.has(run)) return turn;
      lost.add(run);
    }
    return null;
  }

  sendText() {
    const text = this.field.value.trim();
    if (!text || this.isBusy) return;
    if (this.last?.questions.length) return this.sendAnswers();
    this.field.value = "";
    this.begin([text], text, text);
  }

  /** Answer all that the last response asks, in one request. */
  sendAnswers() {
    const asked = this.last.questions;
    if (this.isBusy || asked.some((one) => one.answer === null)) return;
    const text = this.field.value.trim();
    this.field.value = "";
    const message = text ? [{ type: "message", role: "user", content: text }] : [];
    this.begin([...asked.map((one) => one.told), ...(text ? [text] : [])], [...asked.map((one) => one.answer), ...message], text);
  }

  begin(said, input, text) {
    const previous = this.previous;
    const body = { model: this.agent, input, ...(previous ? { previous_response_id: previous.id } : {}) };
    const turn = new Turn({ key: makeKey(), body, said }, this);
    turn.text = text;
    this.turns.push(turn);
    this.data.turns.push(turn.data);
    this.page.save();
    this.isAtEnd = true;
    add(this.list, turn.element);
    return this.play(turn);
  }

  async play(turn) {
    this.setBusy(true);
    replace(this.alert);
    try {
      await turn.run();
      say(turn.questions.length ? "The agent asks" : "The agent has answered");
    } catch (error) {
      await this.drop(turn, error);
    }
    this.setBusy(false);
  }

  /** Take a turn back that the server has refused, or say that it cannot be read any more. */
  async drop(turn, error) {
    const { body } = turn.data;
    if (error.status === 409 && Array.isArray(body?.input)) {
      // Somebody else was faster; the run's next response is about what they have said.
      turn.data.id = body.previous_response_id.replace(/\d+$/, (part) => Number(part) + 1);
      delete turn.data.body;
      this.page.save();
      replace(turn.mine, h("p", {}, "Answered elsewhere"));
      turn.data.said = ["Answered elsewhere"];
      return this.play(turn);
    }
    replace(this.alert, h("div.alert.bad", {}, words(error.message)));
    if (turn.id) {
      turn.status = "failed";
      turn.show("cannot be read");
      turn.state.classList.remove("live");
      return undefined;
    }
    this.turns = this.turns.filter((one) => one !== turn);
    this.data.turns = this.data.turns.filter((one) => one !== turn.data);
    this.page.save();
    turn.element.remove();
    this.field.value ||= turn.text ?? "";
    return undefined;
  }

  async cancel() {
    try {
      if (this.last?.id) await cancel(this.last.id);
    } catch (error) {
      replace(this.alert, h("div.alert.bad", {}, words(error.message)));
    }
  }

  setBusy(isBusy) {
    this.isBusy = isBusy;
    this.send.disabled = isBusy;
    this.stop.hidden = !isBusy;
    for (const turn of this.turns) {
      replace(turn.more);
      for (const one of turn.items.questions) one.close();
    }
    const asked = isBusy ? [] : (this.last?.questions ?? []);
    const button = asked.length > 1 ? h("button.primary", { type: "button", disabled: true, onclick: () => this.sendAnswers() }, `Send ${asked.length} answers`) : null;
    const left = h("span.dim", { role: "status" });
    const tell = () => {
      const open = asked.filter((one) => one.answer === null).length;
      if (button) button.disabled = open > 0;
      replace(left, open ? `${open} to go` : null);
    };
    for (const one of asked) one.open(() => (button ? tell() : this.sendAnswers()));
    if (this.last) replace(this.last.more, button, button && left);
    if (!button) return;
    tell();
    // They are read from the first one on.
    this.isAtEnd = false;
    asked[0].element.scrollIntoView({ block: "nearest" });
  }
}
