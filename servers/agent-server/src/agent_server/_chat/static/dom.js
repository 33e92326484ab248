// The elements that pages share, which are in run_log/view/shared, and what this one needs more.

import { add, h, replace, words } from "./elements.js";

export { add, h, replace, words };

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
