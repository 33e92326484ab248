// Elements and words. Text goes in as text nodes only: nothing that a model or a tool says is ever read as markup.
// `h`, `add`, `replace` and `words` are twins of those in run_log/view/static/dom.js.

/** Make an element. `props` are properties, `on…` listeners, `data-…`/`aria-…`/`role` attributes. */
export function h(tag, props, ...children) {
  const [name, ...classes] = tag.split(".");
  const element = document.createElement(name || "div");
  if (classes.length) element.className = classes.join(" ");
  for (const [key, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (/^(aria-|data-|role$|for$|dir$)/.test(key)) element.setAttribute(key, value === true ? "" : value);
    else element[key] = value;
  }
  add(element, children);
  return element;
}

export function add(element, children) {
  for (const child of [children].flat(9)) {
    if (child === null || child === undefined || child === false || child === "") continue;
    element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

export const replace = (element, ...children) => { element.replaceChildren(); return add(element, children); };

// What would turn letters around, hide or draw them over others is shown by its number.
const HIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udc7f]/g;

/** Text of a stranger's as nodes, for what a person decides about: what is not to be seen is made visible. */
export function words(text) {
  const nodes = [];
  let last = 0;
  for (const found of text.matchAll(HIDDEN)) {
    if (found.index > last) nodes.push(text.slice(last, found.index));
    const code = found[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    nodes.push(h("span.ctl", { title: "a character that cannot be seen" }, `U+${code}`));
    last = found.index + found[0].length;
    if (nodes.length > 2000) break;
  }
  if (last < text.length) nodes.push(text.slice(last));
  return nodes;
}

export const code = (text) => h("code", { dir: "auto" }, words(text));

/** Something long that is folded until it is wanted. */
export const fold = (name, body, open = false) => h("details.fold", { open }, h("summary", {}, name), body);

const whole = new Intl.NumberFormat("en-GB");
export const count = (n) => whole.format(n).replaceAll(",", "\u202f");

/** Say something to a screen reader. */
export function say(text) { document.getElementById("said").textContent = text; }

/** What this tab keeps until it is closed. */
export function read(name) { try { return sessionStorage.getItem(name); } catch { return null; } }
export function keep(name, text) {
  try {
    if (text === null) sessionStorage.removeItem(name);
    else sessionStorage.setItem(name, text);
  } catch { /* a browser that keeps nothing, or no more */ }
}
