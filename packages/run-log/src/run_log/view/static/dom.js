// The elements that pages share, and how this one writes figures and says something.

import { add, h, replace, words } from "./elements.js";

export { add, h, replace, words };

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
