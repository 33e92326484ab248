// The page: the agents, the conversations of this tab, the one that is shown, and the key.

import { forgetKey, getAgents, hasKey, isKey, onKey } from "./api.js";
import { Conversation } from "./conversation.js";
import { h, keep, read, replace, words } from "./dom.js";

const bar = document.getElementById("bar");
const list = document.getElementById("agents");
const main = document.getElementById("main");
const dark = matchMedia("(prefers-color-scheme: dark)");

// Shared with the page of runs.
const theme = () => document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light");
function setTheme(name) {
  document.documentElement.dataset.theme = name;
  try { localStorage.setItem("theme", name); } catch { /* a browser that keeps nothing */ }
}
try { if (localStorage.getItem("theme")) setTheme(localStorage.getItem("theme")); } catch { /* the same */ }

const page = {
  about: {},
  conversations: [],
  current: null,
  save() {
    keep("conversations", JSON.stringify(page.conversations.map((one) => one.data)));
    keep("current", page.current?.data.key ?? null);
    drawList();
  },
};

function askForKey(isRefused) {
  return new Promise((done) => {
    const field = h("input", { type: "password", id: "key", autocomplete: "off", required: true });
    const wrong = h("p.error", { role: "alert" }, isRefused ? "It does not know that one." : null);
    const dialog = h("dialog", { "aria-labelledby": "key-title", oncancel: (event) => event.preventDefault() }, h("form", { onsubmit: (event) => {
      event.preventDefault();
      const given = field.value.trim();
      if (!isKey(given)) return replace(wrong, "A key has only letters without accents, digits and signs, and no spaces.");
      dialog.remove();
      return done(given);
    } }, h("h2", { id: "key-title" }, "The server wants a key"), wrong,
    h("label", { for: "key" }, "Key"), field, h("p.dim", {}, "It stays in this tab until that is closed."), h("div.actions", {}, h("button.primary", { type: "submit" }, "Go on"))));
    document.body.append(dialog);
    dialog.showModal();
    field.focus();
  });
}

function drawBar() {
  replace(bar, h("span.brand", {}, "Agents"), page.about.has_run_logs ? h("a", { href: "../view/", target: "_blank", rel: "noopener" }, "Runs") : null, h("span.gap"),
    hasKey() ? h("button", { onclick: () => { forgetKey(); keep("conversations", null); location.reload(); } }, "Forget the key") : null,
    h("button.icon", { title: "Light or dark", "aria-label": "Light or dark", onclick: () => setTheme(theme() === "dark" ? "light" : "dark") }, "◐"));
}

function drawList() {
  replace(list, page.agents.map((agent) => h("section", {},
    h("header", {}, h("h2", { title: agent }, words(agent)), h("button", { "aria-label": `New conversation with ${agent}`, onclick: () => open(agent) }, "New")),
    h("ul", {}, page.conversations.filter((one) => one.agent === agent).map((one) => h("li", {}, h("button.plain", { title: one.title, "aria-current": one === page.current ? "true" : null, onclick: () => show(one) }, words(one.title))))))));
}

function show(conversation) {
  page.current = conversation;
  document.title = conversation.agent;
  replace(main, conversation.element);
  page.save();
  list.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  conversation.field.focus();
}

function open(agent) {
  const unused = page.conversations.find((one) => one.agent === agent && !one.turns.length);
  if (unused) return show(unused);
  const made = new Conversation({ key: `${Date.now()}`, agent, turns: [] }, page);
  page.conversations.push(made);
  return show(made);
}

async function start() {
  onKey(async (isRefused) => {
    const key = await askForKey(isRefused);
    queueMicrotask(drawBar);
    return key;
  });
  drawBar(); // A key can be forgotten whatever the server says.
  ({ about: page.about, agents: page.agents } = await getAgents());
  drawBar();
  const kept = JSON.parse(read("conversations") ?? "[]");
  const current = read("current");
  page.conversations = kept.filter((one) => page.agents.includes(one.agent)).map((one) => new Conversation(one, page));
  const shown = page.conversations.find((one) => one.data.key === current) ?? page.conversations.at(-1);
  if (shown) show(shown);
  else if (page.agents.length) open(page.agents[0]);
  else replace(main, h("p.empty", {}, "This server has no agents."));
}

start().catch((error) => replace(main, h("div.empty", { role: "alert" }, h("h1", {}, "This cannot be shown"), h("p", {}, words(error.message)))));
