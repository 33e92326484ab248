// The requests of the page to its own server; it makes no others.

async function ask(path, options) {
  const answer = await fetch(path, options);
  if (!answer.ok) {
    const problem = await answer.json().catch(() => ({}));
    throw new Error(problem.detail ?? `The server answered ${answer.status}.`);
  }
  return answer;
}

const json = async (path, options) => (await ask(path, options)).json();
const q = encodeURIComponent;
const of = (run) => `api/runs/${q(run)}`;

export const getRuns = (count) => json(`api/runs?count=${count}`);
export const getAgents = (runs) => json(`api/runs?${runs.map((run) => `called_by=${q(run)}`).join("&")}`).then((found) => found.runs);
export const getRun = (run) => json(of(run));
export const getRounds = (run, first, count) => json(`${of(run)}/rounds?first=${first}&count=${count}`).then((found) => found.rounds);
export const getRound = (run, index) => json(`${of(run)}/rounds/${index}`);
export const getText = (run, digest, first = 0) => json(`${of(run)}/texts/${digest}?first=${first}`);
export const fileUrl = (run, digest) => `${of(run)}/files/${digest}`;
export const searchRun = (run, text) => json(`${of(run)}/search?q=${q(text)}`);
export const searchRuns = (text) => json(`api/search?q=${q(text)}`);
export const compareRuns = (run, other) => json(`${of(run)}/compare/${q(other)}`);
export const getFixture = async (run) => (await ask(`${of(run)}/fixture`)).text();
export const getAgain = (token) => json(`api/again/${q(token)}`);
export const runAgain = (run, wanted) => json(`${of(run)}/again`, {
  method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(wanted),
});

/** Call back whenever the run's file has grown; returns a function that stops it. */
export function follow(run, onNews, onGone) {
  const source = new EventSource(`${of(run)}/events`);
  source.addEventListener("news", (event) => {
    const news = JSON.parse(event.data);
    if (news.is_over) source.close();
    onNews(news);
  });
  source.addEventListener("gone", (event) => { source.close(); onGone(JSON.parse(event.data)); });
  return () => source.close();
}
