#!/bin/sh
# A response that stops at max_output_tokens is `incomplete`, and so is the function call in it. One would expect that nobody
# runs such a call, for it may lack what the model was about to write. Where its arguments happen to be valid JSON, Pydantic AI
# and langchain run it and go on; the AI SDK does not and ends with `length`; openai-agents gives the run up with an error.
# Whoever sets max_output_tokens, or serves agents behind a gateway that caps it, gets side effects from one client and none
# from another.
# Seen on 2026-11-28 with pydantic-ai-slim 2.68.0, langchain 1.5.2 with langchain-openai 1.7.4, openai-agents 0.24.0 (openai
# 3.57.0), and on Node.js 20 ai 7.0.173 with @ai-sdk/openai 4.0.118.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
uv venv --quiet --python 3.12 "$dir/venv"
uv pip install --quiet --python "$dir/venv/bin/python" openai==3.57.0 openai-agents==0.24.0 \
  "pydantic-ai-slim[openai]==2.68.0" langchain==1.5.2 langchain-openai==1.7.4
npm install --silent --no-audit --no-fund --prefix "$dir" ai@7.0.173 @ai-sdk/openai@4.0.118 zod@4.6.7
cat > "$dir/answers.json" <<'END'
[
  {
    "id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-5", "status": "incomplete",
    "incomplete_details": {"reason": "max_output_tokens"},
    "output": [
      {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "pay", "arguments": "{\"euros\": 12}", "status": "incomplete"}
    ],
    "parallel_tool_calls": true, "tool_choice": "auto", "tools": [],
    "usage": {
      "input_tokens": 10, "input_tokens_details": {"cached_tokens": 0},
      "output_tokens": 16, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 26
    }
  },
  {
    "id": "resp_2", "object": "response", "created_at": 2, "model": "gpt-5", "status": "completed",
    "output": [
      {
        "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": "Paid.", "annotations": []}]
      }
    ],
    "parallel_tool_calls": true, "tool_choice": "auto", "tools": [],
    "usage": {
      "input_tokens": 20, "input_tokens_details": {"cached_tokens": 0},
      "output_tokens": 3, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 23
    }
  }
]
END
cat > "$dir/clients.py" <<'END'
import json
import sys

import httpx2
from agents import Agent, ModelBehaviorError, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from openai import AsyncOpenAI
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.models.openai import OpenAIResponsesModel as PydanticModel
from pydantic_ai.providers.openai import OpenAIProvider

with open(sys.argv[1], encoding="utf-8") as file:
    ANSWERS = json.load(file)
paid = []


def pay(euros: int) -> str:
    """Pay an amount."""
    paid.append(euros)
    return "ok"


def transport() -> httpx2.MockTransport:
    paid.clear()
    answers = iter(ANSWERS)
    return httpx2.MockTransport(lambda _: httpx2.Response(200, json=next(answers)))


def connect() -> AsyncOpenAI:
    return AsyncOpenAI(api_key="k", http_client=httpx2.AsyncClient(transport=transport()))


model = PydanticModel("gpt-5", provider=OpenAIProvider(openai_client=connect()))
print("pydantic-ai:", PydanticAgent(model, tools=[pay]).run_sync("Pay 12.").output, "ran", paid)

chat = ChatOpenAI(model="gpt-5", api_key="k", use_responses_api=True, http_client=httpx2.Client(transport=transport()))
messages = create_agent(chat, [pay]).invoke({"messages": [("user", "Pay 12.")]})["messages"]
print("langchain:", messages[-1].text, "ran", paid)

set_tracing_disabled(True)
try:
    model = OpenAIResponsesModel("gpt-5", connect())
    Runner.run_sync(Agent(name="a", model=model, tools=[function_tool(pay)]), "Pay 12.")
except ModelBehaviorError as error:
    print("openai-agents:", type(error).__name__, "ran", paid)
END
cat > "$dir/client.mjs" <<'END'
import { readFileSync } from "node:fs";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, isStepCount, tool } from "ai";
import { z } from "zod";

const answers = JSON.parse(readFileSync(process.argv[2], "utf8"));
const fetch = async () => new Response(JSON.stringify(answers.shift()), { headers: { "content-type": "application/json" } });
const paid = [];
const pay = tool({
  description: "Pay an amount.",
  inputSchema: z.object({ euros: z.number() }),
  execute: async ({ euros }) => (paid.push(euros), "ok"),
});
const model = createOpenAI({ apiKey: "k", fetch }).responses("gpt-5");
const result = await generateText({ model, prompt: "Pay 12.", tools: { pay }, stopWhen: isStepCount(3) });
console.log("ai:", result.finishReason, "ran", JSON.stringify(paid));
END
"$dir/venv/bin/python" "$dir/clients.py" "$dir/answers.json" > "$dir/seen"
node "$dir/client.mjs" "$dir/answers.json" >> "$dir/seen"
cat "$dir/seen"
diff - "$dir/seen" <<'END' || { echo "It is no longer as described." >&2; exit 1; }
pydantic-ai: Paid. ran [12]
langchain: Paid. ran [12]
openai-agents: ModelBehaviorError ran []
ai: length ran []
END
