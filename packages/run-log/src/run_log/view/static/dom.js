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

const LOCALE = "en-GB";
const whole = new Intl.NumberFormat(LOCALE);
const THIN = "\u2009";

export const count = (n) => (n === null || n === undefined ? "" : whole.format(n).replaceAll(",", "\u202f"));

/** 1 234 567 as 1.23M where there is no room. */
export function short(n) {
  if (n === null || n === undefined || n === 0) return n === 0 ? "0" : "";
  if (n < 10000) return count(n);
  if (n < 1e6) return `${(n / 1e3).toFixed(n < 1e5 ? 1 : 0)}k`;
  return `${(n / 1e6).toFixed(2)}M`;
}

export function seconds(s) {
  if (s === null || s === undefined || Number.isNaN(s)) return "";
  if (s < 0.0005) return `0${THIN}ms`;
  if (s < 1) return `${Math.round(s * 1000)}${THIN}ms`;
  if (s < 10) return `${s.toFixed(2)}${THIN}s`;
  if (s < 120) return `${s.toFixed(1)}${THIN}s`;
  const minutes = Math.floor(s / 60);
  return minutes < 120 ? `${minutes}${THIN}min ${Math.round(s % 60)}${THIN}s` : `${(s / 3600).toFixed(1)}${THIN}h`;
}

export function bytes(n) {
  if (n < 1000) return `${n}${THIN}B`;
  if (n < 1e6) return `${(n / 1e3).toFixed(n < 1e4 ? 1 : 0)}${THIN}kB`;
  return `${(n / 1e6).toFixed(n < 1e7 ? 1 : 0)}${THIN}MB`;
}

export function money(value, currency) {
  const n = Number(value);
  if (!n) return "";
  const digits = n >= 1 ? 2 : Math.min(6, Math.max(2, 2 - Math.floor(Math.log10(n))));
  return `${n.toFixed(digits)}${currency ? THIN + currency : ""}`;
}

export const day = (iso) => {
  const time = new Date(iso);
  return Number.isNaN(time.getTime()) ? "" : time.toLocaleDateString(LOCALE, { day: "numeric", month: "short", year: "numeric" });
};
export const clock = (iso) => {
  const time = new Date(iso);
  return Number.isNaN(time.getTime()) ? "" : time.toLocaleTimeString(LOCALE);
};

let timer = 0;
/** Say something for a moment; a screen reader says it too. */
export function toast(text) {
  const place = document.getElementById("toast");
  place.textContent = text;
  place.classList.add("on");
  clearTimeout(timer);
  timer = setTimeout(() => place.classList.remove("on"), 3200);
}

export async function copy(text, said) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = h("textarea", { value: text, class: "offscreen" });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  toast(said);
}
