// What @openai/agents makes of served agents, printed as JSON: `node with_openai_agents.mjs PACKAGES BASE_URL`.
import { createRequire } from "node:module";

const [packages, baseURL] = process.argv.slice(2);
const load = createRequire(`${packages}/`);
const { Agent, hostedMcpTool, OpenAIResponsesModel, run, setTracingDisabled, tool } = load("@openai/agents");
const { z } = load("zod");
const OpenAI = load("openai");
setTracingDisabled(true);
const client = new OpenAI({ baseURL, apiKey: "k1", maxRetries: 0 });
const told = {};

const get_weather = tool({
  name: "get_weather",
  description: "Tell the weather of a city.",
  parameters: z.object({ city: z.string() }),
  execute: async ({ city }) => `sunny in ${city}`,
});
const clerk = (model, settings) =>
  new Agent({ name: "clerk", model: new OpenAIResponsesModel(client, model), ...settings });

for (const store of [true, false]) {
  // Two turns with a tool of its own, the second one streamed.
  const agent = clerk("asker", { tools: [get_weather], modelSettings: { maxTokens: 100, store } });
  const first = await run(agent, "How is the weather?");
  const history = [...first.history, { role: "user", content: "And now?" }];
  const second = await run(agent, history, { stream: true });
  const pieces = [];
  for await (const piece of second.toTextStream()) pieces.push(piece);
  await second.completed;
  told[store ? "stored" : "unstored"] = { first: first.finalOutput, pieces, second: second.finalOutput };

  // A person's decision.
  for (const approves of [true, false]) {
    const tools = [hostedMcpTool({ serverLabel: "payer", requireApproval: "always" })];
    const payer = clerk("payer", { tools, modelSettings: { store } });
    const waiting = await run(payer, "Refund me.");
    for (const asked of waiting.interruptions) {
      if (approves) waiting.state.approve(asked);
      else waiting.state.reject(asked);
    }
    told[`${store} ${approves}`] = (await run(payer, waiting.state)).finalOutput;
  }
}

const talker = clerk("talker", {});
const begun = await run(talker, "One.");
told.byId = (await run(talker, "Two.", { previousResponseId: begun.lastResponseId })).finalOutput;
told.adder = (await run(clerk("adder", {}), "Add.")).finalOutput;

console.log(JSON.stringify(told));
