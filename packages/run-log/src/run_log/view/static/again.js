// Running a run again from a round on, with another instruction or another model.

import { getAgain, getRound, runAgain } from "./api.js";
import { h, replace, toast, words } from "./dom.js";

const LOOK = 400;

export async function askAgain(run, head, rows, index) {
  const instruction = h("textarea", { id: "again-instruction", rows: 8, spellcheck: false });
  const model = h("input", { id: "again-model", value: "", placeholder: String(head.start?.about?.model ?? "as it was"), list: "again-models" });
  const round = h("select", { id: "again-round" }, rows.map((row) => h("option", { value: String(row.index), selected: row.index === index }, `${row.number}`)));
  const state = h("p", { role: "status" });
  let system = "";
  const go = h("button.primary", { type: "submit" }, "Run again");
  const dialog = h("dialog", { "aria-labelledby": "again-title" },
    h("form", { method: "dialog", onsubmit: (event) => { event.preventDefault(); start(); } },
      h("h2", { id: "again-title" }, "Run again"),
      h("p.dim", {}, "Answers and results before this round stand as they were; from it on the model is asked anew and tools are called."),
      h("label", { for: "again-round" }, "from round"), round,
      h("label", { for: "again-instruction" }, "instruction"), instruction,
      h("label", { for: "again-model" }, "model"), model, h("datalist", { id: "again-models" }, head.models.map((name) => h("option", { value: name }))),
      state, h("div.actions", {}, go, h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"))));
  document.body.append(dialog);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.showModal();
  const own = head.start?.about?.instruction;
  if (typeof own === "string") instruction.value = system = own;
  else try {
    const detail = await getRound(run, 0);
    const found = detail.records[0]?.added?.find((message) => ["system", "developer"].includes(message?.role))?.content;
    system = typeof found === "string" ? found : found?.$long_text?.head && found.$long_text.size <= found.$long_text.head.length ? found.$long_text.head : "";
    if (!system && found) instruction.placeholder = "as it was; what is written here takes its place";
    instruction.value = system;
  } catch (error) { replace(state, words(error.message)); }

  async function start() {
    go.disabled = true;
    replace(state, "It runs …");
    try {
      const row = rows[Number(round.value)];
      const wanted = { round: row.place + 1, instruction: instruction.value && instruction.value !== system ? instruction.value : null, model: model.value || null };
      const { token } = await runAgain(row.run, wanted);
      for (;;) {
        const job = await getAgain(token);
        if (job.run) { dialog.close(); location.hash = `#/run/${job.run}`; toast("This is the new run."); return; }
        if (job.state === "failed") throw new Error(job.error);
        if (job.state === "done") throw new Error("It was run, and has left no log.");
        await new Promise((done) => setTimeout(done, LOOK));
        if (!dialog.open) return;
      }
    } catch (error) {
      replace(state, h("strong", {}, "It did not run: "), words(error.message));
      go.disabled = false;
    }
  }
}

const KEYS = [
  ["j k  ↓ ↑", "the next and the round before"], ["Enter", "open or close the round"], ["b", "the next round that broke the cache"], ["e", "the next failure or refusal"],
  ["/", "search in this run, or in all runs"], ["c", "copy as pytest fixture"], ["x", "compare with another run"], ["r", "run again"], ["g", "all runs"], ["t", "light or dark"], ["Esc", "close what is open"], ["?", "this"],
];

export function help() {
  const dialog = h("dialog", { "aria-labelledby": "help-title" }, h("h2", { id: "help-title" }, "Keys"), h("dl.keys", {}, KEYS.map(([key, what]) => [h("dt", {}, key.split(" ").filter(Boolean).map((one) => h("kbd", {}, one))), h("dd", {}, what)])),
    h("div.actions", {}, h("button", { onclick: () => dialog.close() }, "Close")));
  document.body.append(dialog);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.showModal();
}
