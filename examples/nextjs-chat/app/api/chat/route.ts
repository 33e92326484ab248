// Stands between the page and the agent, so that the endpoint's key stays on the server.
import { createOpenAI } from "@ai-sdk/openai";
import {
  APICallError,
  convertToModelMessages,
  createUIMessageStreamResponse,
  isStepCount,
  streamText,
  tool,
  toUIMessageStream,
  type ModelMessage,
  type StopCondition,
  type UIMessage,
} from "ai";
import { z } from "zod";

const endpoint = createOpenAI({
  baseURL: process.env.ENDPOINT_URL ?? "http://127.0.0.1:8080/v1",
  apiKey: process.env.ENDPOINT_KEY ?? "none",
});

// A tool of this server's own, beside those that the agent has.
const local_time = tool({
  description: "Tell the local time of a city.",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => {
    const zone = `Europe/${city.trim().replaceAll(" ", "_")}`;
    return new Date().toLocaleTimeString("en-GB", { timeZone: zone });
  },
});

// The agent goes on once it has every answer: what the tools here give waits for what the person decides.
const isAsked: StopCondition<{ local_time: typeof local_time }> = ({ steps }) =>
  steps.at(-1)?.content.some((part) => part.type === "tool-approval-request") ?? false;

// Beside a refusal the AI SDK 7 sends a result of a call that this server was never asked for, which the endpoint would refuse.
function withoutDenials(messages: ModelMessage[]): ModelMessage[] {
  return messages.map((message) =>
    message.role === "tool"
      ? { ...message, content: message.content.filter((part) => !isDenial(part)) }
      : message,
  );
}

function isDenial(part: { type: string; output?: { type: string } }): boolean {
  return part.type === "tool-result" && part.output?.type === "execution-denied";
}

export async function POST(request: Request): Promise<Response> {
  const { messages } = (await request.json()) as { messages: UIMessage[] };
  const result = streamText({
    model: endpoint.responses(process.env.ENDPOINT_AGENT ?? "shop"),
    messages: withoutDenials(await convertToModelMessages(messages)),
    tools: { local_time },
    stopWhen: [isStepCount(10), isAsked],
    abortSignal: request.signal,
  });
  const stream = toUIMessageStream({
    stream: result.stream,
    originalMessages: messages,
    onError: (error) => (APICallError.isInstance(error) ? error.message : "Something went wrong."),
  });
  return createUIMessageStreamResponse({ stream });
}
