#!/bin/sh
# A person is asked on a page about a call of an MCP server, which OpenAI's server would make itself. Whatever the person says, a
# client sends the request for approval (or a reference to it, where it is stored) and an `mcp_approval_response`, and no result:
# it makes no call. The AI SDK differs in two ways. With `store: false` it leaves the request for approval out, in versions 6 and
# 7, so the response answers something that the conversation does not have. And for a no version 7 adds a
# `function_call_output` that says the execution was denied, under the id that the tool call has on the page and no item of the
# conversation has; version 6 does not. Strict servers refuse both: there is no such request, and no such call.
# Take results of the kind `execution-denied` out of converted messages whose call the provider executes, and store responses
# whose calls a person has to approve.
# Seen on 2026-11-28 on Node.js 20 with ai 7.0.173 and 6.0.326, @ai-sdk/openai 4.0.118 and 3.0.141.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" ai@7.0.173 @ai-sdk/openai@4.0.118 \
    ai-6@npm:ai@6.0.326 ai-6-openai@npm:@ai-sdk/openai@3.0.141
cat > "$dir/client.mjs" <<'END'
import { createRequire } from "node:module";

const [ai, provider] = process.argv.slice(2);
const load = createRequire(import.meta.url);
const { convertToModelMessages, generateText } = load(ai);
const { createOpenAI } = load(provider);
globalThis.AI_SDK_LOG_WARNINGS = false;

const said = { type: "output_text", text: "Fine.", annotations: [] };
const message = { type: "message", id: "msg_1", role: "assistant", status: "completed", content: [said] };
const answer = {
  id: "resp_1", object: "response", created_at: 1, model: "gpt-5", status: "completed",
  output: [message], usage: { input_tokens: 1, output_tokens: 1 },
};
let body;
const fetch = async (_, request) => {
  body = JSON.parse(request.body);
  return new Response(JSON.stringify(answer), { headers: { "content-type": "application/json" } });
};
const openai = createOpenAI({ apiKey: "k", fetch });
const bank = openai.tools.mcp({ serverLabel: "bank", serverUrl: "https://bank.example/mcp", requireApproval: "always" });
const about = ({ call_id, approval_request_id, id }) => call_id ?? approval_request_id ?? id;

for (const approved of [true, false]) {
  const call = { type: "dynamic-tool", toolName: "mcp.refund", toolCallId: "call_on_the_page", input: { amount: 30 } };
  const asked = { ...call, providerExecuted: true, state: "approval-responded", approval: { id: "mcpr_1", approved } };
  const messages = await convertToModelMessages([
    { role: "user", parts: [{ type: "text", text: "Refund me." }] },
    { role: "assistant", parts: [asked] },
  ]);
  for (const store of [true, false]) {
    const options = { tools: { bank }, providerOptions: { openai: { store } } };
    await generateText({ model: openai.responses("gpt-5"), messages, ...options });
    const sent = body.input.slice(1).map((item) => `${item.type} ${about(item)}`);
    console.log(`${ai}, ${approved ? "yes" : "no"}, store ${store}: ${sent.join(", ")}`);
  }
}
END
for pair in "ai-6 ai-6-openai" "ai @ai-sdk/openai"; do
    node "$dir/client.mjs" $pair
done > "$dir/seen"
cat "$dir/seen"
diff - "$dir/seen" <<'END' || { echo "It is no longer as described." >&2; exit 1; }
ai-6, yes, store true: item_reference mcpr_1, mcp_approval_response mcpr_1
ai-6, yes, store false: mcp_approval_response mcpr_1
ai-6, no, store true: item_reference mcpr_1, mcp_approval_response mcpr_1
ai-6, no, store false: mcp_approval_response mcpr_1
ai, yes, store true: item_reference mcpr_1, mcp_approval_response mcpr_1
ai, yes, store false: mcp_approval_response mcpr_1
ai, no, store true: item_reference mcpr_1, mcp_approval_response mcpr_1, function_call_output call_on_the_page
ai, no, store false: mcp_approval_response mcpr_1, function_call_output call_on_the_page
END
