// Values of a log: texts short and long, JSON, images and files.

import { fileUrl, getText } from "./api.js";
import { bytes, count, h, replace, toast, words } from "./dom.js";

const CLIP = 4000;
const STEP = 200_000;
const MAX_NODES = 1500;
const BASE64_IMAGES = [["iVBORw0KGgo", "image/png"], ["/9j/", "image/jpeg"], ["R0lGOD", "image/gif"], ["UklGR", "image/webp"]];

export const longText = (value) =>
  value && typeof value === "object" && !Array.isArray(value) && Object.keys(value).length === 1 && typeof value.$long_text === "object" ? value.$long_text : null;
const only = (value, key) => value && typeof value === "object" && Object.keys(value).length === 1 && key in value;

/** The address of the image in a text, or "". */
function imageUrl(run, value) {
  const long = longText(value);
  if (long) return long.media?.startsWith("image/") ? fileUrl(run, long.digest) : "";
  if (typeof value !== "string" || value.length < 60) return "";
  if (/^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]+$/.test(value)) return value;
  const found = BASE64_IMAGES.find(([start]) => value.startsWith(start));
  return found && /^[A-Za-z0-9+/]+={0,2}$/.test(value) ? `data:${found[1]};base64,${value}` : "";
}

/** The image in a value, with a frame to open it, or null. */
export function picture(run, value, name = "image") {
  const inner = only(value, "$bytes") ? value.$bytes : value;
  const src = imageUrl(run, inner);
  if (!src) return null;
  const image = h("img", { src, alt: `${name}` });
  const size = longText(inner)?.size ?? inner.length;
  const label = h("span.dim", {}, bytes(Math.round(size * 0.75)));
  image.addEventListener("load", () => { label.textContent = `${image.naturalWidth} × ${image.naturalHeight} · ${label.textContent}`; });
  image.addEventListener("error", () => replace(image.parentElement, h("span.dim", {}, "an image that cannot be read")));
  return h("figure.picture", {}, h("button.plain", { title: "Larger or smaller", onclick: (event) => event.currentTarget.classList.toggle("large") }, image), h("figcaption", {}, label));
}

/** A text as it was said; a long one bit by bit. */
export function prose(run, value, { mono = false, clip = CLIP } = {}) {
  const box = h("div", { class: mono ? "text mono" : "text", dir: "auto" });
  const long = longText(value);
  if (long) {
    fillLong(box, run, long, clip);
  } else {
    const text = typeof value === "string" ? value : String(value ?? "");
    fill(box, text, Math.min(clip, text.length), text.length, async () => text);
  }
  return box;
}

function fillLong(box, run, long, clip) {
  if (long.is_missing) return replace(box, h("span.dim", {}, `a text of ${bytes(long.size)} that the log does not have`));
  if (!long.head) return replace(box, h("button.more", { onclick: () => load() }, `Show a text of ${bytes(long.size)}`));
  const load = async () => {
    const found = await getText(run, long.digest);
    fill(box, found.text, Math.min(STEP, found.text.length), found.characters, async (shown) => {
      if (shown < found.text.length) return found.text;
      return found.text + (await getText(run, long.digest, found.text.length)).text;
    });
  };
  replace(box, words(long.head.slice(0, clip)), h("span.cut", {}, "…"), h("button.more", { onclick: () => load().catch((e) => toast(e.message)) }, `Show all ${bytes(long.size)}`));
  return box;
}

function fill(box, text, shown, total, more) {
  replace(box, words(text.slice(0, shown)));
  if (shown >= total) return;
  const button = h("button.more", {
    onclick: async () => {
      const all = await more(shown);
      fill(box, all, Math.min(shown < STEP ? STEP : shown + STEP, all.length), Math.max(total, all.length), more);
    },
  }, `Show more (${count(total - shown)} characters)`);
  box.append(h("span.cut", {}, "…"), button);
}

/** JSON, coloured; `marks` says which names of the outermost object to mark, and how. */
export function tree(run, value, marks = {}) {
  const state = { left: MAX_NODES };
  return h("div.json", { dir: "ltr" }, node(run, value, 0, state, marks));
}

function node(run, value, depth, state, marks = {}) {
  state.left -= 1;
  if (state.left < 0) return h("span.dim", {}, "…");
  if (only(value, "$literal")) return node(run, value.$literal, depth, state);
  const shown = picture(run, value);
  if (shown) return shown;
  if (longText(value)) return prose(run, value, { mono: true, clip: 600 });
  if (only(value, "$bytes")) {
    const long = longText(value.$bytes);
    const size = Math.round((long?.size ?? String(value.$bytes).length) * 0.75);
    return h("span.chip", {}, `${bytes(size)} of a file`, long ? h("a", { href: fileUrl(run, long.digest), download: "file" }, " save") : null);
  }
  if (value === null || typeof value === "number" || typeof value === "boolean") return h("span.num", {}, String(value));
  if (typeof value === "string") return h("span.str", {}, "\u201c", value.length > CLIP ? prose(run, value, { mono: true }) : words(value), "\u201d");
  const pad = "  ".repeat(depth + 1);
  const isList = Array.isArray(value);
  const members = isList ? value.map((item) => [null, item]) : Object.entries(value);
  if (!members.length) return h("span.dim", {}, isList ? "[]" : "{}");
  return [
    isList ? "[" : "{",
    members.map(([name, member], index) => {
      const mark = depth === 0 && name !== null ? marks[name] : undefined;
      return h(mark ? `span.line.${mark}` : "span.line", {},
        "\n", pad, name === null ? null : [h("span.key", {}, words(name)), ": "], node(run, member, depth + 1, state), index < members.length - 1 ? "," : "",
        mark ? h("span.note", {}, ` ${mark}`) : null);
    }),
    "\n", "  ".repeat(depth), isList ? "]" : "}",
  ];
}

/** What a message or a result holds: a text, or parts. */
export function content(run, value, clip = CLIP) {
  if (value === null || value === undefined || value === "") return h("p.dim", {}, "nothing");
  if (typeof value === "string" || longText(value)) return picture(run, value) ?? prose(run, value, { clip });
  if (Array.isArray(value)) return value.map((part) => partOf(run, part, clip));
  return partOf(run, value, clip);
}

const DATA_NAMES = ["base64_data", "data", "blob", "image_url", "file_data", "url", "result", "content"];

function partOf(run, part, clip) {
  if (typeof part === "string" || longText(part)) return content(run, part, clip);
  if (!part || typeof part !== "object") return tree(run, part);
  const text = part.text ?? (["text", "input_text", "output_text"].includes(part.type) ? part.data : undefined);
  if (text !== undefined && (typeof text === "string" || longText(text))) return prose(run, text, { clip });
  for (const name of DATA_NAMES) {
    const found = typeof part[name] === "object" && part[name] !== null && "url" in part[name] ? part[name].url : part[name];
    const shown = found === undefined ? null : picture(run, found, part.filename ?? part.name ?? part.type ?? "image");
    if (shown) return shown;
    const long = longText(only(found, "$bytes") ? found.$bytes : found);
    if (long && part.type !== "text") {
      const label = [part.filename ?? part.name ?? part.type ?? "file", part.mime_type ?? part.format, bytes(Math.round(long.size * 0.75))].filter(Boolean).join(" · ");
      return h("p", {}, h("a.chip", { href: fileUrl(run, long.digest), download: "" }, words(label)));
    }
  }
  return tree(run, part);
}

/** A button that shows something below itself, made when it is first wanted. */
export function fold(title, make, { open = false, note = "" } = {}) {
  const body = h("div.body");
  const details = h("details.fold", { open }, h("summary", {}, title, note ? h("span.dim", {}, ` ${note}`) : null), body);
  const once = () => { if (details.open && !body.hasChildNodes()) replace(body, make()); };
  details.addEventListener("toggle", once);
  once();
  return details;
}
