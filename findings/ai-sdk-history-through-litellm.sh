#!/bin/sh
# In a second turn the AI SDK's OpenAI provider does not send what the assistant said, but `item_reference`s to the reasoning
# and the answer, unless `store: false` is set; it does so also where the response itself says `"store": false`. LiteLLM's bridge
# from Responses to a chat model cannot know such items. One would expect that it refuses them: it drops
# them without a word, and the model answers a conversation without its own turns. An unknown `previous_response_id` is
# dropped likewise, and even echoed in the answer. Behind such a bridge set `store: false` in the AI SDK, and send all items.
# Seen on 2026-11-28 with ai 7.0.173, @ai-sdk/openai 4.0.118 on Node.js 20, and litellm 1.110.2 with openai 3.57.0.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
uv venv --quiet --python 3.12 "$dir/venv"
uv pip install --quiet --python "$dir/venv/bin/python" litellm==1.110.2 openai==3.57.0
npm install --silent --no-audit --no-fund --prefix "$dir" ai@7.0.173 @ai-sdk/openai@4.0.118
cat > "$dir/client.mjs" <<'END'
import { createOpenAI } from "@ai-sdk/openai";
import { generateText } from "ai";

const answer = {
  id: "resp_1", object: "response", created_at: 1, model: "gpt-5", status: "completed", store: false,
  output: [
    { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAA" },
    {
      type: "message", id: "msg_1", role: "assistant", status: "completed",
      content: [{ type: "output_text", text: "Your cat is called Momo.", annotations: [] }],
    },
  ],
  usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
};
const requests = [];
const fetch = async (_, { body }) => {
  requests.push(JSON.parse(body));
  return new Response(JSON.stringify(answer), { headers: { "content-type": "application/json" } });
};
const model = createOpenAI({ apiKey: "k", fetch }).responses("gpt-5");
const messages = [{ role: "user", content: "Guess my cat's name." }];
messages.push(...(await generateText({ model, messages })).response.messages);
messages.push({ role: "user", content: "Right! How did you know?" });
await generateText({ model, messages });
console.log(JSON.stringify(requests[1].input));
END
cat > "$dir/bridge.py" <<'END'
import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm

ANSWER = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "What?"}}],
    "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
}


class ChatModel(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        for message in request["messages"]:
            print("chat model gets", json.dumps(message))
        body = json.dumps(ANSWER).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


server = HTTPServer(("127.0.0.1", 0), ChatModel)
threading.Thread(target=server.serve_forever, daemon=True).start()
target = {"model": "deepseek/m", "api_base": f"http://127.0.0.1:{server.server_port}", "api_key": "k"}
items = json.load(sys.stdin)
for item in items:
    print("client sends", json.dumps(item))
print(litellm.responses(input=items, **target).status)
answer = litellm.responses(input="And my dog's?", previous_response_id="resp_nobody_knows", **target)
print(answer.status, "after", answer.previous_response_id)
END
node "$dir/client.mjs" > "$dir/items.json"
"$dir/venv/bin/python" "$dir/bridge.py" < "$dir/items.json" > "$dir/seen"
cat "$dir/seen"
diff - "$dir/seen" <<'END' || { echo "It is no longer as described." >&2; exit 1; }
client sends {"role": "user", "content": [{"type": "input_text", "text": "Guess my cat's name."}]}
client sends {"type": "item_reference", "id": "rs_1"}
client sends {"type": "item_reference", "id": "msg_1"}
client sends {"role": "user", "content": [{"type": "input_text", "text": "Right! How did you know?"}]}
chat model gets {"role": "user", "content": "Guess my cat's name."}
chat model gets {"role": "user", "content": "Right! How did you know?"}
completed
chat model gets {"role": "user", "content": "And my dog's?"}
completed after resp_nobody_knows
END
