// Why a run has stopped, in words and in a tone.

const REASONS = {
  answered: "answered", maximum_iterations: "all rounds used", time_limit: "out of time", budget: "budget used up", output_limit: "output limit",
  empty_answer: "empty answer", size_limit: "request too large", cancelled: "cancelled", error: "failed", closed: "let go of", approval: "waits for approval",
};
const GOOD = new Set(["answered"]);
const BAD = new Set(["error", "empty_answer", "size_limit"]);

export const reasonOf = (end) => (end ? REASONS[end.reason] ?? (typeof end.reason === "string" ? end.reason.replaceAll("_", " ") : "ended") : "going on");
export const toneOf = (end) => (!end ? "live" : GOOD.has(end.reason) ? "good" : BAD.has(end.reason) ? "bad" : "warn");
