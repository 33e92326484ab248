// Markdown as elements: paragraphs, emphasis, code, lists, quotes, and links to http and https. HTML in it is text, and so is a picture: nothing loads.

import { h } from "./dom.js";

const MOST = 100_000; // What is longer is shown as it was written.
const DEEP = 6;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const HEADING = /^ {0,3}#{1,6} +(.*)$/;
const RULE = /^ {0,3}([-*_])( *\1){2,} *$/;
const QUOTE = /^ {0,3}> ?(.*)$/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)]) +(.*)$/;
const BLOCKS = [FENCE, HEADING, RULE, QUOTE, ITEM];
// Bounded, so that no text takes long.
const INLINE = new RegExp([
  /\\([!-/:-@[-`{-~])/,
  /(`{1,9})(?!`)([^\n]{1,1000}?)(?<!`)\2(?!`)/,
  /!?\[([^\]\n]{0,500})\]\(([^\s()<>]{1,1000})(?: +"[^"\n]{0,300}")?\)/,
  /(\*\*|__)(?=\S)([^]{0,1000}?\S)\6/,
  /(?:\*(?=\S)([^*\n]{0,1000}?[^\s*])\*|(?<!\w)_(?=\S)([^_\n]{0,1000}?[^\s_])_(?!\w))/,
  /(https?:\/\/[^\s<>"'`*]{1,1000})/,
].map((one) => one.source).join("|"), "g");

export function markdown(text) {
  return text.length > MOST ? [h("p", {}, text)] : blocks(text.replaceAll("\r\n", "\n").split("\n"), 0);
}

const isBlank = (line) => !line?.trim();

function blocks(lines, depth) {
  const nodes = [];
  let at = 0;
  const takeWhile = (test) => {
    const first = at;
    while (at < lines.length && test(lines[at], at > first)) at += 1;
    return lines.slice(first, at);
  };
  while (at < lines.length) {
    const line = lines[at];
    let found = null;
    if (isBlank(line)) at += 1;
    else if ((found = FENCE.exec(line))) {
      at += 1;
      nodes.push(h("pre", { tabIndex: 0 }, h("code", {}, takeWhile((one) => !one.trim().startsWith(found[1])).join("\n"))));
      at += 1;
    } else if ((found = HEADING.exec(line))) {
      nodes.push(h("p.heading", {}, inline(found[1])));
      at += 1;
    } else if (RULE.test(line)) {
      nodes.push(h("hr"));
      at += 1;
    } else if (depth < DEEP && QUOTE.test(line)) {
      nodes.push(h("blockquote", {}, blocks(takeWhile((one) => QUOTE.test(one)).map((one) => QUOTE.exec(one)[1]), depth + 1)));
    } else if (depth < DEEP && (found = ITEM.exec(line))) {
      const [, indent, mark] = found;
      const isNumbered = /\d/.test(mark);
      const isNext = (one) => { const item = ITEM.exec(one ?? ""); return item && item[1].length <= indent.length && /\d/.test(item[2]) === isNumbered; };
      const list = h(isNumbered ? "ol" : "ul", isNumbered ? { start: parseInt(mark, 10) } : {});
      while (isNext(lines[at])) {
        const [first, ...rest] = takeWhile((one, isLater) => !isLater || (isBlank(one)
          ? /^ {2,}\S/.test(lines[at + 1] ?? "")
          : !isNext(one) && (/^ {2,}/.test(one) || (!isBlank(lines[at - 1]) && !BLOCKS.some((kind) => kind.test(one))))));
        const text = ITEM.exec(first)[3];
        const width = first.length - text.length;
        list.append(h("li", {}, blocks([text, ...rest.map((one) => one.slice(Math.min(width, one.search(/\S|$/))))], depth + 1)));
        const gap = at;
        takeWhile(isBlank);
        if (!isNext(lines[at])) at = gap;
      }
      nodes.push(list);
    } else {
      const text = takeWhile((one, isLater) => !isLater || !(isBlank(one) || BLOCKS.some((kind) => kind.test(one))));
      nodes.push(h("p", {}, inline(text.join("\n"))));
    }
  }
  return nodes;
}

function inline(text, depth = 0) {
  if (depth > DEEP) return [text];
  const nodes = [];
  let last = 0;
  for (const found of text.matchAll(INLINE)) {
    const [all, escaped, , coded, label, target, , strong, star, dash, address] = found;
    nodes.push(text.slice(last, found.index));
    last = found.index + all.length;
    if (escaped !== undefined) nodes.push(escaped);
    else if (coded !== undefined) nodes.push(h("code", {}, coded));
    else if (target !== undefined) nodes.push(link(target, label || target) ?? all);
    else if (strong !== undefined) nodes.push(h("strong", {}, inline(strong, depth + 1)));
    else if (address === undefined) nodes.push(h("em", {}, inline(star ?? dash, depth + 1)));
    else {
      const bare = address.replace(/[.,;:!?)\]]{1,9}$/, "");
      nodes.push(link(bare, bare) ?? bare, address.slice(bare.length));
    }
  }
  nodes.push(text.slice(last));
  return nodes;
}

/** A link whose target can be seen before it is followed; nothing for what is no address of the web. */
function link(target, label) {
  if (!/^https?:\/\//i.test(target) || !URL.canParse(target)) return null;
  const url = new URL(target);
  return h("a", { href: url.href, title: url.href, rel: "noopener noreferrer", target: "_blank" }, label);
}
