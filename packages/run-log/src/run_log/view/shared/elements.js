// Elements and words. Text goes in as text nodes only: nothing that a model or a tool says is ever read as markup.

/** Make an element. `props` are properties, `on…` listeners, `data-…`/`aria-…`/`role` attributes. */
export function h(tag, props, ...children) {
  const [name, ...classes] = tag.split(".");
  const element = document.createElement(name || "div");
  if (classes.length) element.className = classes.join(" ");
  for (const [key, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "class") element.className = value;
    else if (key === "style") for (const [k, v] of Object.entries(value)) element.style.setProperty(k, v);
    else if (/^(aria-|data-|role$|for$|scope$|colspan$|dir$|list$)/.test(key)) element.setAttribute(key, value === true ? "" : value);
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

// What would turn letters around or cannot be seen is shown by its number: what `stream_text.is_hidden` says, but for line breaks and tabs.
const HIDDEN = /(?![ \u3000\t\n]|\r\n)[\p{C}\p{Z}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\u{13441}\u{13442}\u{16fe4}\u{1d159}\u{e0100}-\u{e01ef}]/gu;
const MOST_SPANS = 1000;
const numberOf = (found) => `U+${found.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;

/** Text of a stranger's as nodes: what is not to be seen is made visible. */
export function words(text) {
  const nodes = [];
  let last = 0;
  for (const found of text.matchAll(HIDDEN)) {
    if (found.index > last) nodes.push(text.slice(last, found.index));
    nodes.push(h("span.ctl", { title: "a character that cannot be seen" }, numberOf(found[0])));
    last = found.index + found[0].length;
    if (nodes.length > 2 * MOST_SPANS) break;
  }
  // Behind so many elements the numbers are text like any other.
  if (last < text.length) nodes.push(text.slice(last).replace(HIDDEN, (found) => `[${numberOf(found)}]`));
  return nodes;
}
