// What the openai client for JavaScript makes of served agents, printed as JSON: `node with_openai.mjs PACKAGES BASE_URL`.
import { createRequire } from "node:module";

const [packages, baseURL] = process.argv.slice(2);
const load = createRequire(`${packages}/`);
const OpenAI = load("openai");
const { zodTextFormat } = load("openai/helpers/zod");
const { z } = load("zod");
const client = new OpenAI({ baseURL, apiKey: "k1", maxRetries: 0 });
const told = {};

const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const tools = [{ type: "function", name: "get_weather", parameters, strict: false }];

async function read(stream) {
  const events = [];
  for await (const event of stream) events.push(event);
  return events;
}

function textOf(events) {
  return events
    .filter((event) => event.type === "response.output_text.delta")
    .map((event) => event.delta)
    .join("");
}

async function refusal(promise) {
  try {
    await promise;
    return null;
  } catch (error) {
    return { kind: error.constructor.name, status: error.status, code: error.code, param: error.param };
  }
}

// Streaming, by the events themselves and by the helper.
const events = await read(
  await client.responses.create({ model: "thinker", input: "Which?", stream: true }),
);
told.types = events.map((event) => event.type);
told.numbers = events.map((event) => event.sequence_number);
told.text = textOf(events);
const helper = client.responses.stream({ model: "adder", input: "Add." });
told.helped = textOf(await read(helper));
const added = await helper.finalResponse();
told.calls = added.output.filter((item) => item.type === "mcp_call").map((item) => item.output);
told.added = added.output_text;

// A tool of the client's own.
const asked = await client.responses.stream({ model: "asker", input: "Weather?", tools }).finalResponse();
const calls = asked.output.filter((item) => item.type === "function_call");
told.asked = calls.map((call) => [call.name, JSON.parse(call.arguments)]);
const input = calls.map((call) => ({
  type: "function_call_output",
  call_id: call.call_id,
  output: `sunny in ${JSON.parse(call.arguments).city}`,
}));
const answered = await client.responses.create({
  model: "asker",
  input,
  tools,
  previous_response_id: asked.id,
});
told.answered = answered.output_text;

// A person's decision.
const waiting = await client.responses.create({ model: "payer", input: "Refund me." });
const [request] = waiting.output;
told.request = [request.type, request.name, request.server_label];
const paid = await client.responses
  .stream({
    model: "payer",
    input: [{ type: "mcp_approval_response", approval_request_id: request.id, approve: true }],
    previous_response_id: waiting.id,
  })
  .finalResponse();
told.paid = paid.output_text;

// Going on, by the id and by the history.
const first = await client.responses.create({ model: "talker", input: "One." });
const byId = await client.responses.create({
  model: "talker",
  input: "Two.",
  previous_response_id: first.id,
});
const history = [{ role: "user", content: "One." }, ...first.output, { role: "user", content: "Two." }];
const byHistory = await client.responses.create({ model: "talker", input: history, store: false });
told.turns = [first, byId, byHistory].map((response) => response.output_text);

// The background, and a stream that is taken up again.
const started = await client.responses.create({ model: "adder", input: "Add.", background: true });
const all = await read(await client.responses.retrieve(started.id, { stream: true }));
const rest = await read(
  await client.responses.retrieve(started.id, { stream: true, starting_after: 4 }),
);
told.resumed = [all.length, rest[0].sequence_number, rest.at(-1).type];
const again = client.responses.stream({ response_id: started.id, starting_after: 4 });
told.followed = (await read(again)).map((event) => event.sequence_number);
told.followedText = (await again.finalResponse()).output_text;
const sleeping = await client.responses.create({ model: "sleeper", input: "?", background: true });
told.cancelled = (await client.responses.cancel(sleeping.id)).status;
await client.responses.delete(sleeping.id);
told.deleted = await refusal(client.responses.retrieve(sleeping.id));

const items = [];
for await (const item of client.responses.inputItems.list(byHistory.id, { limit: 1, order: "asc" })) {
  items.push(item.role);
}
told.items = items;
const models = [];
for await (const model of client.models.list()) models.push(model.id);
told.models = models;
told.refused = await refusal(
  client.responses.create({ model: "talker", input: "?", max_tool_calls: 1 }),
);

// An answer in the agent's form, and in another.
const Step = z.object({
  name: z.string(),
  weight: z.int().nullable(),
  get steps() {
    return z.array(Step);
  },
});
const parse = (schema) =>
  client.responses.parse({ model: "planner", input: "?", text: { format: zodTextFormat(schema, "step") } });
told.parsed = (await parse(Step)).output_parsed;
told.unlike = await parse(Step.extend({ weight: z.string() })).catch((error) => error.message);

console.log(JSON.stringify(told));
