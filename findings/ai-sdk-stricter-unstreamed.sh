#!/bin/sh
# One would expect that the AI SDK takes the same answer from a stream and in one piece. Where a server sends a kind of item that
# it does not know, an annotation of a new kind, or a reasoning item without `summary` (as LiteLLM's bridge does), `streamText`
# passes over it, ends with `stop` and gives the text. `generateText` refuses the whole response, the good answer included, as
# "Invalid JSON response". A known item with a new value, such as another `phase`, is refused by both, but the stream gives its
# text all the same and ends with `error`. So a server that adds something works in chats and breaks the jobs behind them.
# Seen on 2026-11-28 on Node.js 20 with ai 7.0.173 and @ai-sdk/openai 4.0.118.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" ai@7.0.173 @ai-sdk/openai@4.0.118
cat > "$dir/client.mjs" <<'END'
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, streamText } from "ai";

const say = (text, more) => ({
  type: "message", id: `msg_${text.length}`, role: "assistant", status: "completed",
  content: [{ type: "output_text", text, annotations: [] }], ...more,
});
const cited = say("Look:");
cited.content[0].annotations = [{ type: "map_citation", place: "Rome" }];
const firsts = {
  "known item": { type: "reasoning", id: "rs_1", summary: [] },
  "unknown item": { type: "map_call", id: "map_1", status: "completed" },
  "unknown annotation": cited,
  "reasoning without summary": { type: "reasoning", id: "rs_1" },
  "unknown phase": say("Look:", { phase: "outlook" }),
};
const base = { id: "resp_1", object: "response", created_at: 1, model: "gpt-5", status: "completed" };

for (const [name, first] of Object.entries(firsts)) {
  const response = { ...base, output: [first, say("Sunny.")], usage: { input_tokens: 10, output_tokens: 5 } };
  const events = [{ type: "response.created", response: { ...response, output: [] } }];
  for (const [output_index, item] of response.output.entries()) {
    events.push({ type: "response.output_item.added", output_index, item: item.content ? { ...item, content: [] } : item });
    for (const { text } of item.content ?? [])
      events.push({ type: "response.output_text.delta", output_index, item_id: item.id, content_index: 0, delta: text });
    events.push({ type: "response.output_item.done", output_index, item });
  }
  events.push({ type: "response.completed", response });
  const fetch = async (_, { body }) =>
    JSON.parse(body).stream
      ? new Response(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""), {
          headers: { "content-type": "text/event-stream" },
        })
      : new Response(JSON.stringify(response), { headers: { "content-type": "application/json" } });
  const model = createOpenAI({ apiKey: "k", fetch }).responses("gpt-5");
  const result = streamText({ model, prompt: "Weather?", onError: () => {} });
  console.log(`${name}, streamText: ${await result.text} ${await result.finishReason}`);
  await generateText({ model, prompt: "Weather?" }).then(
    ({ text, finishReason }) => console.log(`${name}, generateText: ${text} ${finishReason}`),
    (error) => console.log(`${name}, generateText: ${error.name}, ${error.message}`),
  );
}
END
node "$dir/client.mjs" > "$dir/seen"
cat "$dir/seen"
diff - "$dir/seen" <<'END' || { echo "It is no longer as described." >&2; exit 1; }
known item, streamText: Sunny. stop
known item, generateText: Sunny. stop
unknown item, streamText: Sunny. stop
unknown item, generateText: AI_APICallError, Invalid JSON response
unknown annotation, streamText: Look:Sunny. stop
unknown annotation, generateText: AI_APICallError, Invalid JSON response
reasoning without summary, streamText: Sunny. stop
reasoning without summary, generateText: AI_APICallError, Invalid JSON response
unknown phase, streamText: Sunny. error
unknown phase, generateText: AI_APICallError, Invalid JSON response
END
