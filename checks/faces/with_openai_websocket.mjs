// What the WebSocket of the openai client for JavaScript makes of the simulator, printed as JSON: `node with_openai_websocket.mjs PACKAGES _ BASE_URL`.
import { createRequire } from "node:module";

const [packages, , baseURL] = process.argv.slice(2);
const load = createRequire(`${packages}/`);
const OpenAI = load("openai");
const { ResponsesWS } = load("openai/resources/responses/ws");
const socket = new ResponsesWS(new OpenAI({ baseURL, apiKey: "k1", maxRetries: 0 }));
const events = socket.stream();
const told = {};

const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const tools = [{ type: "function", name: "weather", parameters, strict: false }];

async function ask(body) {
  socket.send({ type: "response.create", model: "gpt-5.2", store: false, tools, ...body });
  // Not `for await`, which would end the iterator with the first answer.
  for (;;) {
    const { value } = await events.next();
    if (value.type === "error") return value.error.error;
    if (value.message?.type === "response.completed") return value.message.response;
  }
}

const asked = await ask({ input: 'How is the weather in "Oslo"?' });
const call = asked.output.at(-1);
told.call = call.arguments;
const input = [{ type: "function_call_output", call_id: call.call_id, output: "It snows." }];
const answered = await ask({ input, previous_response_id: asked.id });
told.answer = answered.output.at(-1).content[0].text;
const refused = await ask({ input: "?", previous_response_id: "resp_0" });
told.refused = [refused.status, refused.error.code];
socket.close();

console.log(JSON.stringify(told));
