// The items of a response's output, drawn from its events as they come.

import { add, code, count, fold, h, replace, say, words } from "./dom.js";
import { markdown } from "./markdown.js";

// As many characters as a person is asked about elsewhere (contract B, B80): nobody reads more before saying yes.
const MOST_ASKED = 20_000;
const PICTURES = new Set(["png", "webp", "jpeg", "gif", "svg+xml"]);

/** A text that grows, drawn at most as often as drawing it leaves time for the rest. */
class Text {
  constructor(element, build) {
    this.element = element;
    this.build = build;
    this.text = "";
    this.timer = 0;
    this.took = 0;
  }

  set(text) {
    this.text = text;
    this.timer ||= setTimeout(() => {
      const began = performance.now();
      this.timer = 0;
      replace(this.element, this.build(this.text));
      this.took = performance.now() - began;
    }, Math.max(16, 4 * this.took));
  }
}

class Message {
  static build = (text) => markdown(text);

  constructor() {
    this.body = h("div.text", { dir: "auto" });
    this.element = h("div.message", {}, this.body);
    this.text = new Text(this.body, this.constructor.build);
  }

  grow(piece) { this.text.set(this.text.text + piece); }
  end(item) { this.text.set((item.content ?? item.summary).map((part) => part.text).join("\n\n")); }
}

class Thought extends Message {
  constructor() {
    super();
    this.element = fold("Thought", this.body);
  }
}

/** A call of the agent's own tool. */
class Call {
  constructor(item) {
    this.name = item.name;
    this.state = h("span.pill.t-live", {}, "running");
    this.given = h("pre.text", { tabIndex: 0 });
    this.got = h("div");
    this.element = h("section.call", { "aria-label": `Call of ${item.name}` }, h("header", {}, code(item.name), this.state), fold("Arguments", this.given), this.got);
    say(`${item.name} is called`);
    this.set(item);
  }

  set(item) {
    replace(this.given, words(item.arguments));
    if (item.status === "in_progress") return;
    const [tone, name] = { completed: ["good", "done"], failed: ["bad", "failed"] }[item.status] ?? ["warn", "not finished here"];
    this.state.className = `pill t-${tone}`;
    this.state.textContent = name;
    const error = item.error?.content?.map((part) => part.text).join("\n");
    if (error) replace(this.got, h("p.error", {}, words(error)));
    else if (typeof item.output === "string") replace(this.got, fold("Output", h("pre.text", { tabIndex: 0 }, words(item.output))));
  }

  end(item) { this.set(item); }
}

/** What a person has to say before the agent goes on. */
class Question {
  static ifLong = "Read it whole and answer it over the API";
  answer = null;

  constructor(item, title, ...controls) {
    this.item = item;
    this.controls = h("div.controls", {}, controls);
    this.given = h("pre.text", { tabIndex: 0 });
    this.rest = h("p");
    this.element = h("fieldset.question", { disabled: true }, h("legend", {}, title), this.given, this.rest, this.controls);
    this.end(item);
  }

  end(item) {
    const characters = [...item.arguments];
    this.isLong = characters.length > MOST_ASKED;
    replace(this.given, words(characters.slice(0, MOST_ASKED).join("")));
    replace(this.rest, this.isLong ? [`These are the first ${count(MOST_ASKED)} of ${count(characters.length)} characters, and this page asks about no more. `,
      `${this.constructor.ifLong}: the item `, code(item.id), " is in GET /v1/responses/ID, and its answer goes to POST /v1/responses with ID as previous_response_id."] : null);
  }

  /** Let it be answered, and call back with each answer; what is said of it stands in `told`. */
  open(onAnswer) {
    this.onAnswer = onAnswer;
    this.answer = null;
    for (const one of this.controls.querySelectorAll("[data-needs-all]")) one.disabled = this.isLong;
    for (const one of this.controls.querySelectorAll("[aria-pressed]")) one.setAttribute("aria-pressed", "false");
    this.element.disabled = false;
  }

  close() { this.element.disabled = true; }

  give(answer, told) {
    this.answer = answer;
    this.told = told;
    this.onAnswer();
  }
}

class Approval extends Question {
  static ifLong = "Deny it, or read it whole and answer it over the API";

  constructor(item, agent) {
    const reason = h("input", { type: "text", autocomplete: "off", maxLength: 1000 });
    const decide = (approve) => h("button", { type: "button", "aria-pressed": "false", "data-needs-all": approve, onclick: (event) => {
      for (const one of this.controls.querySelectorAll("button")) one.setAttribute("aria-pressed", String(one === event.currentTarget));
      const why = reason.value.trim();
      const answer = { type: "mcp_approval_response", approval_request_id: item.id, approve, ...(why ? { reason: why } : {}) };
      this.give(answer, `${approve ? "Approved" : "Denied"} ${item.name}${why ? `: ${why}` : ""}`);
    } }, approve ? "Approve" : "Deny");
    const of = item.server_label === agent ? [] : [" of ", code(item.server_label)];
    super(item, ["May ", code(item.name), of, " be called?"], decide(true), decide(false), h("label.reason", {}, "Reason", reason));
    reason.addEventListener("input", () => { if (this.answer) this.controls.querySelector("[aria-pressed=true]").click(); });
    say(`May ${item.name} be called?`);
  }
}

/** A call of a function of the client's: this page has none, so a person says what it gives. */
class Result extends Question {
  constructor(item) {
    const field = h("textarea", { rows: 2 });
    const give = () => this.give({ type: "function_call_output", call_id: item.call_id, output: field.value }, `Result of ${item.name}: ${field.value}`);
    super(item, ["What does ", code(item.name), " give?"], h("label.reason", {}, "Result", field), h("button", { type: "button", "data-needs-all": true, onclick: give }, "Give"));
  }
}

class Picture {
  constructor() { this.element = h("figure"); }

  end(item) {
    if (PICTURES.has(item.output_format)) replace(this.element, h("img", { alt: "A picture that the agent has made", src: `data:image/${item.output_format};base64,${item.result}` }));
  }
}

const KINDS = { message: Message, reasoning: Thought, mcp_call: Call, mcp_approval_request: Approval, function_call: Result, image_generation_call: Picture };

/** The items of one response. */
export class Items {
  constructor(agent) {
    this.agent = agent;
    this.element = h("div.items");
    this.found = new Map();
  }

  /** Draw what an event says of an item. */
  feed(event) {
    const view = this.found.get(event.item_id ?? event.item?.id);
    switch (event.type) {
      case "response.output_item.added": return this.begin(event.item);
      case "response.output_text.delta":
      case "response.reasoning_summary_text.delta": return view?.grow(event.delta);
      case "response.mcp_call_arguments.done": return view && replace(view.given, words(event.arguments));
      case "response.output_item.done": return this.end(view, event.item);
      default: return undefined;
    }
  }

  begin(item) {
    const kind = KINDS[item.type];
    if (!kind || this.found.has(item.id)) return;
    const view = new kind(item, this.agent);
    this.found.set(item.id, view);
    add(this.element, view.element);
  }

  end(view, item) {
    view?.end(item);
    // A server died while its model said this: another one asks it again.
    if (view && item.status === "incomplete" && !(view instanceof Call)) this.strike(view);
  }

  /** Compare with what is recorded at the end of the response. */
  settle(output) {
    const ids = new Set(output.map((item) => item.id));
    for (const [id, view] of this.found) if (!ids.has(id) && !(view instanceof Call)) this.strike(view);
  }

  strike(view) {
    view.element.classList.add("void");
    view.element.title = "This was broken off, and counts no more.";
  }

  get questions() { return [...this.found.values()].filter((view) => view instanceof Question); }
}
