"""Apps as people build them in Dify's studio: chats, LLM nodes and Agent nodes, made by the console and deleted at the end."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from dify import Console, Json, Refused, Service


MODEL = "gpt-5.2"
MODELS = "gpt5-agent/openai_gpt5_responses/openai_gpt5_responses"
STRATEGIES = "gpt5-agent/gpt5_agent_strategies/gpt5_agent_strategies"
_NAME = "whole-dify"
_UPLOADS: Json = {
    "enabled": True,
    "number_limits": 3,
    "allowed_file_types": ["image", "document"],
    "allowed_file_extensions": [],
    "allowed_file_upload_methods": ["local_file"],
}
_IMAGES: Json = {
    "enabled": True,
    "number_limits": 3,
    "detail": "high",
    "transfer_methods": ["local_file"],
}
_TEXT: Json = {
    "variable": "text",
    "label": "text",
    "type": "paragraph",
    "required": True,
    "max_length": 4000,
    "options": [],
}


def tool(kind: str, provider: str, name: str, *, fills: Sequence[str] = (), **form: Any) -> Json:
    """Return an entry of an Agent node's tools: what the model fills in, and what is set in the form."""
    return {
        "enabled": True,
        "type": kind,
        "provider_name": provider,
        "tool_name": name,
        "tool_label": name,
        "tool_description": f"Does {name}.",
        "extra": {"description": ""},
        "schemas": [],
        "settings": {key: {"value": _constant(value)} for key, value in form.items()},
        "parameters": {key: {"auto": 1, "value": None} for key in fills},
    }


def weekday(**form: Any) -> Json:
    """Return a tool of Dify's own that answers at once."""
    fills = [name for name in ("year", "month", "day") if name not in form]
    entry = tool("builtin", "time", "weekday", fills=fills)
    entry["parameters"] |= {
        name: {"auto": 0, "value": _constant(value)} for name, value in form.items()
    }
    return entry


def agent_node(
    tools: Sequence[Json],
    *,
    strategy: tuple[str, str] = (STRATEGIES, "gpt5_function_calling"),
    provider: str = MODELS,
    memory: bool = True,
    model_parameters: Json | None = None,
    query: str = "{{#sys.query#}}",
    files: bool = False,
    **options: Any,
) -> Json:
    """Return an Agent node as the studio saves it; an option is saved only if it is given."""
    model = {"provider": provider, "model": MODEL, "model_type": "llm", "mode": "chat"}
    model["completion_params"] = model_parameters or {}
    values = {
        "model": model,
        "tools": list(tools),
        "instruction": "Be brief.",
        "query": query,
        "maximum_iterations": 10,
        **options,
    }
    parameters = {name: _constant(value) for name, value in values.items()}
    if files:
        parameters["files"] = {"type": "variable", "value": ["sys", "files"]}
    window = {"query_prompt_template": query, "window": {"enabled": True, "size": 20}}
    return {
        "agent_strategy_provider_name": strategy[0],
        "agent_strategy_name": strategy[1],
        "agent_strategy_label": strategy[1],
        "tool_node_version": "2",
        "output_schema": {"type": "object", "properties": {"final_answer": {"type": "string"}}},
        "agent_parameters": parameters,
        **({"memory": window} if memory else {}),
    }


def llm_node(
    *,
    model: str = MODEL,
    provider: str = MODELS,
    query: str = "{{#sys.query#}}",
    schema: Json | None = None,
    **model_parameters: Any,
) -> Json:
    """Return an LLM node as the studio saves it."""
    chosen = {"provider": provider, "name": model, "mode": "chat"}
    output = {"structured_output_enabled": True, "structured_output": {"schema": schema}}
    vision = {"detail": "high", "variable_selector": ["sys", "files"]}
    return {
        "model": {**chosen, "completion_params": model_parameters},
        "variables": [],
        "context": {"enabled": False, "variable_selector": []},
        "vision": {"enabled": True, "configs": vision},
        "prompt_template": [
            {"id": "system", "role": "system", "text": "Be brief."},
            {"id": "user", "role": "user", "text": query},
        ],
        **(output if schema else {}),
    }


@dataclass
class Apps:
    """What makes apps, with fresh names, and deletes them.

    Attributes:
        console: The console of the Dify.
        url: Where its API is.
    """

    console: Console
    url: str

    def chat(self, model: str = MODEL, provider: str = MODELS, **model_parameters: Any) -> Service:
        """Make a chat app."""
        service = self._new("chat")
        chosen = {"provider": provider, "name": model, "mode": "chat"}
        off = {"enabled": False}
        config = {
            "model": {**chosen, "completion_params": model_parameters},
            "pre_prompt": "Be brief.",
            "prompt_type": "simple",
            "chat_prompt_config": {},
            "completion_prompt_config": {},
            "user_input_form": [],
            "dataset_query_variable": "",
            "opening_statement": "",
            "suggested_questions": [],
            "suggested_questions_after_answer": off,
            "speech_to_text": off,
            "text_to_speech": {**off, "voice": "", "language": ""},
            "retriever_resource": {"enabled": True},
            "sensitive_word_avoidance": off,
            "more_like_this": off,
            "agent_mode": {**off, "max_iteration": 5, "strategy": "function_call", "tools": []},
            "dataset_configs": {"retrieval_model": "multiple", "datasets": {"datasets": []}},
            "file_upload": {**_UPLOADS, "image": _IMAGES},
        }
        self.console.post(f"/apps/{service.app}/model-config", **config)
        return service

    def chatflow(
        self,
        kind: str,
        node: Json,
        output: str = "text",
        *,
        failed: str | None = None,
        aggregated: bool = False,
    ) -> Service:
        """Make a chatflow of one node, named `node`, that shows its output, or what its fail branch says.

        On request the output comes through a variable aggregator.
        """
        nodes = {"start": ("start", {"variables": []}), "node": (kind, node)}
        shown = f"node.{output}"
        if aggregated:
            joined = {"output_type": "string", "variables": [["node", output]]}
            nodes["joined"], shown = ("variable-aggregator", joined), "joined.output"
        nodes["answer"] = _answer(f"{{{{#{shown}#}}}}")
        if failed is not None:
            nodes |= {
                "node": (kind, {**node, "error_strategy": "fail-branch"}),
                "failed": _answer(failed),
            }
        return self._flow("advanced-chat", nodes)

    def workflow(self, kind: str, node: Json, output: str = "text") -> Service:
        """Make a workflow of one node, which it names `node`, from an input `text` to an output `found`."""
        start = ("start", {"variables": [_TEXT]})
        return self._flow(
            "workflow", {"start": start, "node": (kind, node), "end": _end("node", output)}
        )

    def echo_workflow(self) -> Service:
        """Make a workflow that returns its input `text`."""
        start = ("start", {"variables": [_TEXT]})
        return self._flow("workflow", {"start": start, "end": _end("start", "text")})

    def imported(self, text: str) -> Service:
        """Make an app of a file, as the studio imports it, and publish it."""
        given = {"mode": "yaml-content", "yaml_content": text, "name": _fresh_name()}
        done = self.console.post("/apps/imports", **given)
        if done["status"] == "pending":
            done = self.console.post(f"/apps/imports/{done['id']}/confirm")
        self._publish(done["app_id"])
        return self._service(done["app_id"])

    def delete(self) -> None:
        """Delete all that were made, also by a session that did not come to its end."""
        for app in self.console.get("/apps", page=1, limit=100, name=_NAME)["data"]:
            self.console.delete(f"/apps/{app['id']}")

    def _flow(self, mode: str, kinds: dict[str, tuple[str, Json]]) -> Service:
        service = self._new(mode)
        nodes = [_node(name, *kinds[name], place) for place, name in enumerate(kinds)]
        edges = [
            _edge(one, kinds[one][0], following, kinds[following][0])
            for one, following in pairwise(name for name in kinds if name != "failed")
        ]
        if "failed" in kinds:
            edges.append(_edge("node", kinds["node"][0], "failed", "answer", handle="fail-branch"))
        draft = {
            "graph": {"nodes": nodes, "edges": edges, "viewport": {"x": 0, "y": 0, "zoom": 1}},
            "features": {"file_upload": {**_UPLOADS, "image": _IMAGES}},
            "conversation_variables": [],
        }
        path = f"/apps/{service.app}/workflows/draft"
        try:
            self.console.post(path, **draft, environment_variables=[])
        except Refused:
            # From 1.17 on these have a request of their own; 1.10 wants them here.
            self.console.post(path, **draft)
        self._publish(service.app)
        return service

    def _new(self, mode: str) -> Service:
        icon = {"icon_type": "emoji", "icon": "🤖", "icon_background": "#FFEAD5"}
        app = self.console.post("/apps", name=_fresh_name(), mode=mode, description="", **icon)[
            "id"
        ]
        return self._service(app)

    def _service(self, app: str) -> Service:
        return Service(self.url, self.console.post(f"/apps/{app}/api-keys")["token"], app)

    def _publish(self, app: str) -> None:
        self.console.post(f"/apps/{app}/workflows/publish", marked_name="", marked_comment="")


def _fresh_name() -> str:
    return f"{_NAME} {uuid.uuid4().hex[:6]}"


def _answer(text: str) -> tuple[str, Json]:
    return "answer", {"answer": text, "variables": []}


def _end(node: str, output: str) -> tuple[str, Json]:
    found = {"variable": "found", "value_selector": [node, output], "value_type": "string"}
    return "end", {"outputs": [found]}


def _constant(value: Any) -> Json:
    return {"type": "constant", "value": value}


def _node(name: str, kind: str, data: Json, place: int) -> Json:
    position = {"x": 80 + 300 * place, "y": 280}
    return {
        "id": name,
        "type": "custom",
        "position": position,
        "positionAbsolute": position,
        "sourcePosition": "right",
        "targetPosition": "left",
        "data": {"type": kind, "title": name, "desc": "", **data},
    }


def _edge(
    source: str, source_type: str, target: str, target_type: str, *, handle: str = "source"
) -> Json:
    return {
        "id": f"{source}-{handle}-{target}-target",
        "type": "custom",
        "source": source,
        "sourceHandle": handle,
        "target": target,
        "targetHandle": "target",
        "zIndex": 0,
        "data": {"isInIteration": False, "sourceType": source_type, "targetType": target_type},
    }
