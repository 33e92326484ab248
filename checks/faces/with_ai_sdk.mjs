// What Vercel's AI SDK makes of served agents, printed as JSON: `node with_ai_sdk.mjs PACKAGES BASE_URL AI PROVIDER`, the last two as the packages are named there.
import { createRequire } from "node:module";

const [packages, baseURL, ai, provider] = process.argv.slice(2);
const load = createRequire(`${packages}/`);
const { convertToModelMessages, generateText, Output, stepCountIs, streamText, tool } = load(ai);
const openai = load(provider).createOpenAI({ baseURL, apiKey: "k1" });
const { z } = load("zod");
globalThis.AI_SDK_LOG_WARNINGS = false;
const told = {};

const get_weather = tool({
  description: "Tell the weather of a city.",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `sunny in ${city}`,
});
const limits = { maxOutputTokens: 500, maxRetries: 0 };

async function refusal(promise) {
  try {
    return await promise;
  } catch (error) {
    return error.message;
  }
}

for (const [name, settings] of [["stored", {}], ["unstored", { openai: { store: false } }]]) {
  const asked = { ...limits, providerOptions: settings };
  const kinds = (result) => result.content.map((part) => part.type);

  // Two turns with tools of its own, the second one streamed.
  const messages = [{ role: "user", content: "How is the weather?" }];
  const turn = { model: openai("asker"), tools: { get_weather }, stopWhen: stepCountIs(5), ...asked };
  const first = await generateText({ ...turn, messages });
  messages.push(...first.response.messages, { role: "user", content: "And now?" });
  const second = streamText({ ...turn, messages });
  const pieces = [];
  for await (const piece of second.textStream) pieces.push(piece);
  told[name] = { first: first.text, steps: first.steps.length, pieces };

  // The agent's own tools and thoughts, and a turn after them.
  for (const model of ["adder", "thinker"]) {
    const history = [{ role: "user", content: "Go." }];
    const done = await generateText({ model: openai(model), messages: history, ...asked });
    history.push(...done.response.messages, { role: "user", content: "Again." });
    const again = await generateText({ model: openai(model), messages: history, ...asked });
    told[name][model] = [kinds(done), again.text];
  }

  // A person's decision, and a turn after it.
  const decision = { type: "tool-approval-response", approved: true, providerExecuted: true };
  const talk = [{ role: "user", content: "Refund me." }];
  const waiting = await generateText({ model: openai("payer"), messages: talk, ...asked });
  // Without `providerExecuted` the SDK keeps the decision to itself.
  const decisions = waiting.content
    .filter((part) => part.type === "tool-approval-request")
    .map(({ approvalId }) => ({ ...decision, approvalId }));
  talk.push(...waiting.response.messages, { role: "tool", content: decisions });
  const paid = await generateText({ model: openai("payer"), messages: talk, ...asked });
  talk.push(...paid.response.messages, { role: "user", content: "And again." });
  const more = await generateText({ model: openai("payer"), messages: talk, ...asked });
  told[name].payer = [kinds(waiting), paid.text, kinds(more)];

  // A refusal on a page. Version 7 sends a result of it, too, under an id that nobody has given out.
  const { toolName, toolCallId, input } = more.content[0];
  const approval = { id: more.content[1].approvalId, approved: false };
  const part = { type: "dynamic-tool", toolName, toolCallId, input, providerExecuted: true, approval };
  const page = await convertToModelMessages([
    { role: "user", parts: [{ type: "text", text: "Refund me." }] },
    { role: "assistant", parts: [{ ...part, state: "approval-responded" }] },
  ]);
  for (const message of page.filter(({ role }) => role === "tool")) {
    message.content = message.content.filter((one) => one.output?.type !== "execution-denied");
  }
  const refused = await generateText({ model: openai("payer"), messages: page, ...asked });
  told[name].refused = refused.text;
}

// Answers in the agent's form, and in another.
const answer = async (model, schema) =>
  (await generateText({ model: openai(model), prompt: "?", output: Output.object({ schema }), ...limits }))
    .output;
const Part = z.object({ euros: z.int().optional() });
const Sum = z.object({
  total: z.int(),
  unit: z.string().optional(),
  first: Part.optional(),
  parts: z.array(Part).optional(),
});
const Step = z.object({
  name: z.string(),
  weight: z.int().nullable(),
  get steps() {
    return z.array(Step);
  },
});
told.sum = await answer("filler", Sum);
told.step = await answer("planner", Step);
told.other = await refusal(answer("filler", Sum.extend({ total: z.string() })));

// By the id, and what the agent does not leave to its client.
const begun = await generateText({ model: openai("talker"), prompt: "One.", ...limits });
const { responseId } = begun.providerMetadata.openai;
const providerOptions = { openai: { previousResponseId: responseId } };
told.byId = (await generateText({ model: openai("talker"), prompt: "Two.", providerOptions })).text;
const choice = { model: openai("asker"), prompt: "?", tools: { get_weather }, toolChoice: "required" };
told.choice = await refusal(generateText(choice));
told.failed = await refusal(generateText({ model: openai("failing"), prompt: "?", ...limits }));

console.log(JSON.stringify(told));
