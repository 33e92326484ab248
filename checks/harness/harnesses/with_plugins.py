"""Two Dify plugins through our host: `with_plugins.py MODEL_PLUGIN AGENT_PLUGIN STRATEGY`.

Each is a folder, with `{official}` for the checkout of the official ones.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

from serving import MODEL, TOOL_SECONDS, Case, NotOffered, build_function, serve

from dify_plugin_host import PluginHost, PythonTool, StrategyRequest, ToolParameter
from gpt5_simulator import SIMULATOR_KEY


HINTS = {"string": str, "integer": int, "number": float, "boolean": bool}
LISTS = {kind: list[hint] for kind, hint in HINTS.items()}


def read_tool(raw: dict[str, Any]) -> PythonTool:
    """Return a tool as Dify has it: its parameters are texts, numbers, booleans and arrays."""
    return PythonTool(
        name=raw["name"],
        description=raw["description"],
        parameters=tuple(
            ToolParameter(
                name=one["name"],
                hint=LISTS[one["items"]] if one["items"] else HINTS[one["type"]],
                type="number" if one["type"] == "integer" else one["type"],
                description=one["description"],
                required=one["required"],
                has_default=not one["required"],
                schema={"type": "array", "items": {"type": one["items"]}} if one["items"] else None,
            )
            for one in raw["parameters"]
        ),
        function=build_function(raw),
    )


places = {"official": os.environ["HARNESS_OFFICIAL"], "ours": Path(__file__).parents[3] / "plugins"}
*folders, strategy = (argument.format(**places) for argument in sys.argv[1:])
known = json.loads(Path(os.environ["HARNESS_POOL"]).read_text(encoding="utf-8"))
tools = {raw["name"]: read_tool(raw) for raw in known}
credentials = {"openai_api_key": SIMULATOR_KEY, "openai_api_base": os.environ["OPENAI_BASE_URL"]}
host = PluginHost(
    *folders,
    credentials=credentials,
    tools=list(tools.values()),
    # Of the two agent plugins one documents it.
    environment={**os.environ, "GPT5_AGENT_TOOL_SECONDS": str(TOOL_SECONDS)},
)


async def answer(case: Case) -> str:
    model = await host.model_value(MODEL)
    query, rules = case.question, {}
    if case.asks:
        if strategy != "gpt5_function_calling":
            raise NotOffered
        rules = {"approval_rules": json.dumps({case.asks: "always"})}
    if call := case.open_call:
        function = {"name": call["name"], "arguments": call["arguments"]}
        asked = {"id": call["call_id"], "type": "function", "function": function}
        model["history_prompt_messages"] = [
            {"role": "user", "content": case.question},
            {"role": "assistant", "content": "", "tool_calls": [asked]},
        ]
        query = "Go on."
    parameters = {"model": model, "query": query, "instruction": case.instruction, **rules}
    parameters["tools"] = [tools[raw["name"]].to_entity() for raw in case.tools]
    request = StrategyRequest(strategy=strategy, parameters=parameters | {"maximum_iterations": 10})
    shown = ""
    async for message in host.invoke_strategy(request):
        if message["type"] == "text":
            shown += message["message"]["text"]
    return shown


serve(answer, host.start)
