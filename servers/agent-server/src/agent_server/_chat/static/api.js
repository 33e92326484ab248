// The requests of the page to its own server; it makes no others.

import { keep, read } from "./dom.js";

const LAST = new Set(["response.completed", "response.failed", "response.incomplete"]);
const TRANSIENT = new Set([408, 429, 500, 502, 503, 504]);
const FIRST_PAUSE = 250; // milliseconds
const LONGEST_PAUSE = 2000;

let key = read("key");
let asking = null;
let askForKey = async () => "";

/** What the server has refused; `transient` if it may pass. */
export class RefusedError extends Error {
  constructor(status, message, code) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** Set what asks for a key, each time that the server wants another one. */
export const onKey = (ask) => { askForKey = ask; };
export const hasKey = () => key !== null;
export const forgetKey = () => { key = null; keep("key", null); };
/** Whether a text may be a key of a server; another one could not even be sent. */
export const isKey = (text) => /^[!-~]+$/.test(text);
if (!isKey(key ?? "")) forgetKey();

async function renewKey(refused) {
  if (key !== refused) return;
  keep("key", null);
  asking ??= askForKey(refused !== null).then((given) => { key = given; keep("key", given); asking = null; });
  await asking;
}

async function ask(path, { body, headers = {} } = {}) {
  for (;;) {
    const used = key;
    const answer = await fetch(`../${path}`, {
      method: body === undefined ? "GET" : "POST",
      // Without the key that a browser may know as a password for the page of runs.
      credentials: "omit",
      headers: { ...headers, ...(body === undefined ? {} : { "content-type": "application/json" }), ...(used === null ? {} : { authorization: `Bearer ${used}` }) },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    if (answer.ok) return answer;
    if (answer.status === 401) {
      await renewKey(used);
      continue;
    }
    const told = await answer.json().catch(() => ({}));
    throw new RefusedError(answer.status, told.error?.message ?? told.detail ?? `The server answered ${answer.status}.`, told.error?.code);
  }
}

const json = async (path, options) => (await ask(path, options)).json();

export const getAbout = () => json("chat/about.json");
export const getAgents = async () => {
  const about = await getAbout();
  if (about.has_keys && key === null) await renewKey(null);
  return { about, agents: (await json("models")).data.map((one) => one.id) };
};
export const cancel = (id) => json(`responses/${id}/cancel`, { body: {} });
export const getLogs = async () => (await json("view/api/runs?count=200")).runs;

async function* readEvents(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const frames = (rest + value).split("\n\n");
      rest = frames.pop();
      for (const frame of frames) {
        const data = frame.split("\n").find((line) => line.startsWith("data: "));
        if (data) yield JSON.parse(data.slice(6));
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** Yield the events of a turn's response, each once, up to the last, however often the connection breaks or the server restarts. */
export async function* follow(turn, onBreak) {
  let last = -1;
  let pause = FIRST_PAUSE;
  for (;;) {
    try {
      // With its key, a request that is sent again begins nothing a second time.
      const answer = await (turn.id
        ? ask(`responses/${turn.id}?stream=true&starting_after=${last}`)
        : ask("responses", { body: { ...turn.body, stream: true }, headers: { "idempotency-key": turn.key } }));
      for await (const event of readEvents(answer)) {
        if (event.sequence_number <= last) continue;
        last = event.sequence_number;
        pause = FIRST_PAUSE;
        yield event;
        if (LAST.has(event.type)) return;
      }
    } catch (error) {
      // Browsers have no better name for a connection that breaks.
      const mayPass = error instanceof RefusedError ? TRANSIENT.has(error.status) : error instanceof TypeError;
      if (!mayPass) throw error;
    }
    onBreak();
    await new Promise((done) => { setTimeout(done, pause); });
    pause = Math.min(2 * pause, LONGEST_PAUSE);
  }
}
