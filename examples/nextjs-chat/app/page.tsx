"use client";

import { useChat } from "@ai-sdk/react";
import {
  getToolName,
  isToolUIPart,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  type DynamicToolUIPart,
  type ToolUIPart,
  type UIMessage,
} from "ai";
import { useState } from "react";

type Decide = (id: string, approved: boolean) => void;
type Call = ToolUIPart | DynamicToolUIPart;

function textOf(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

// What a tool of the agent's gave comes with its name and arguments, as the API tells it.
function resultOf(output: unknown): string {
  const told = output as { output?: unknown; error?: { content?: { text: string }[] } } | null;
  return textOf(told?.output ?? told?.error?.content?.[0]?.text ?? output);
}

function stateOf(call: Call): string {
  switch (call.state) {
    case "output-available":
      return `→ ${resultOf(call.output)}`;
    case "output-error":
      return `→ ${call.errorText}`;
    case "approval-responded":
      return call.approval.approved ? "allowed" : "not allowed";
    case "output-denied":
      return "not allowed";
    default:
      return "…";
  }
}

function ToolCall({ call, decide }: { call: Call; decide: Decide }) {
  const told = `${getToolName(call).replace(/^mcp\./, "")} ${textOf(call.input)}`;
  if (call.state !== "approval-requested") {
    return <p className="call">{`${told} ${stateOf(call)}`}</p>;
  }
  return (
    <div className="approval" role="group" aria-label="Approval">
      <p>{`Allow ${told}?`}</p>
      <button onClick={() => decide(call.approval.id, true)}>Allow</button>
      <button onClick={() => decide(call.approval.id, false)}>Refuse</button>
    </div>
  );
}

function Message({ message, decide }: { message: UIMessage; decide: Decide }) {
  return (
    <article className={message.role}>
      {message.parts.map((part, index) => {
        if (isToolUIPart(part)) return <ToolCall key={index} call={part} decide={decide} />;
        if (part.type === "text") return <p key={index}>{part.text}</p>;
        if (part.type === "reasoning" && part.text) {
          return <p key={index} className="thought">{part.text}</p>;
        }
        return null;
      })}
    </article>
  );
}

export default function Page() {
  const [input, setInput] = useState("");
  const { messages, sendMessage, addToolApprovalResponse, status, stop, error } = useChat({
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  const decide: Decide = (id, approved) => void addToolApprovalResponse({ id, approved });
  const isBusy = status === "submitted" || status === "streaming";
  const isAsked = messages
    .at(-1)
    ?.parts.some((part) => isToolUIPart(part) && part.state === "approval-requested");

  return (
    <main>
      <h1>Shop</h1>
      <div aria-live="polite">
        {messages.map((message) => (
          <Message key={message.id} message={message} decide={decide} />
        ))}
      </div>
      {error && <p className="error" role="alert">{error.message}</p>}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (!input.trim() || isBusy || isAsked) return;
          void sendMessage({ text: input });
          setInput("");
        }}
      >
        <input
          aria-label="Message"
          placeholder={isAsked ? "Decide first" : "What about order 7?"}
          value={input}
          onChange={(event) => setInput(event.target.value)}
        />
        {isBusy ? (
          <button type="button" onClick={() => void stop()}>
            Stop
          </button>
        ) : (
          <button type="submit" disabled={isAsked}>
            Send
          </button>
        )}
      </form>
    </main>
  );
}
