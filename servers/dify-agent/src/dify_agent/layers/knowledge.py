"""The layer with knowledge that Dify searches: with the model's questions by a tool, with the app's before the model is asked.

Source: docs/contracts/dify-agent.md, C67 and C68; dify-agent 1.16.0, its `layers/knowledge`; langgenius/dify at 234df0742088,
`api/controllers/inner_api/knowledge/retrieval.py`.
"""

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Final, Literal, override

import httpx
from pydantic import BaseModel, ConfigDict, Field
from pydantic_ai import Tool, ToolReturn

from agent_tooling import ResultBudget, invoke_error_text, parameters_error_text
from dify_agent._inner_api import InnerApiClient, InnerApiError
from dify_agent.compositor import LayerDeps, PlainLayer, RunStart, StepWork

from ._knowledge_config import DifyKnowledgeLayerConfig, KnowledgeSet
from ._knowledge_results import NO_RESULTS, render_results
from .dify_plugin._prepared_tool import ShownResults, build_tool
from .dify_plugin._secrets import ConfigSecrets
from .execution_context import DifyExecutionContextLayer


__all__ = ["DifyKnowledgeLayer", "DifyKnowledgeLayerConfig"]


_TOOL_NAME: Final = "knowledge_base_search"

_UNAVAILABLE: Final = "The knowledge base could not be searched just now."
# What the operation knows of its caller; it refuses anything more.
_CALLER: Final = ("tenant_id", "user_id", "app_id", "user_from", "invoke_from")


class KnowledgeAnswer(BaseModel):
    """The answer to a question of the app.

    Attributes:
        set_id: The set that was searched.
        set_name: Its name.
        query: The question.
        observation: The text for the model.
        status: Whether anything was found.
    """

    model_config = ConfigDict(extra="ignore")  # Dify's own may have more.

    set_id: str
    set_name: str
    query: str
    observation: str
    status: Literal["success", "empty", "temporarily_unavailable"]


class DifyKnowledgeState(BaseModel):
    """The answers to the app's questions, which a later run with the same questions continues with.

    Attributes:
        eager_config_fingerprint: A digest of the questions; None if one has to be asked again.
        eager_results: The answers.
    """

    model_config = ConfigDict(extra="forbid")

    eager_config_fingerprint: str | None = None
    eager_results: list[KnowledgeAnswer] = Field(default_factory=list[KnowledgeAnswer])


class DifyKnowledgeDeps(LayerDeps):
    """The dependencies of knowledge.

    Attributes:
        execution_context: The layer with the caller and Dify's inner API.
    """

    execution_context: DifyExecutionContextLayer


@dataclass(frozen=True, slots=True, kw_only=True)
class _Search:
    """What searches in the name of a run."""

    client: InnerApiClient
    caller: Mapping[str, str | None]
    config: DifyKnowledgeLayerConfig

    async def ask(self, knowledge: KnowledgeSet, query: str) -> str:
        """Search a set, and return the text for the model.

        Raises:
            InnerApiError: If the search failed.
        """
        payload = {"caller": self.caller, **knowledge.build_search(query)}
        reply = await self.client.post("knowledge/retrieve", payload)
        return render_results(
            reply,
            most_of_each=self.config.max_result_content_chars,
            most=self.config.max_observation_chars,
        )


@dataclass(slots=True, eq=False)
class DifyKnowledgeLayer(
    PlainLayer[DifyKnowledgeDeps, DifyKnowledgeLayerConfig, DifyKnowledgeState]
):
    """The knowledge of a run.

    Attributes:
        config: What is searched, and who asks.
    """

    type_id: ClassVar[str] = "dify.knowledge_base"

    config: DifyKnowledgeLayerConfig

    @override
    async def on_start(self, start: RunStart) -> None:
        """Ask the app's questions, once in the life of the run; where Dify is away, the text says so.

        Raises:
            InnerApiError: If a search failed in a way that does not pass.
            AgentRunValidationError: If the server does not know Dify's inner API, or the context does not say who calls.
        """
        asked = [each for each in self.config.sets if each.query.mode == "user_query"]
        if not asked:
            self.runtime_state = DifyKnowledgeState()
            return
        fingerprint = _fingerprint(self.config, asked)
        if fingerprint == self.runtime_state.eager_config_fingerprint:
            return
        search = self._build_search(start.http_client)
        answers = [
            await _answer(search, each, partial(start.once, f"knowledge:{number}"))
            for number, each in enumerate(asked)
        ]
        is_complete = all(each.status != "temporarily_unavailable" for each in answers)
        self.runtime_state = DifyKnowledgeState(
            eager_config_fingerprint=fingerprint if is_complete else None, eager_results=answers
        )

    @property
    @override
    def found_prompts(self) -> Sequence[str]:
        """Return the answers to the app's questions."""
        answers = "\n\n".join(
            f"Set: {each.set_name}\nQuery: {each.query}\nResults:\n{each.observation}"
            for each in self.runtime_state.eager_results
        )
        return [f"Knowledge base search results:\n\n{answers}"] if answers else []

    async def get_tools(self, *, http_client: httpx.AsyncClient) -> list[Tool[object]]:
        """Return the tool by which the model searches; none if it has nothing to ask.

        Args:
            http_client: The caller's client; it must be open, and remains the caller's.

        Raises:
            AgentRunValidationError: If the server does not know Dify's inner API, or the context does not say who calls.
            RuntimeError: If the HTTP client is closed.
        """
        sets = {each.name: each for each in self.config.sets if each.query.mode != "user_query"}
        if not sets:
            return []
        search = self._build_search(http_client)
        shown = ShownResults(budget=ResultBudget(), secrets=ConfigSecrets([]))

        async def invoke(arguments: Mapping[str, Any]) -> ToolReturn[str]:
            name, query = arguments.get("set_name"), str(arguments.get("query") or "").strip()
            if name not in sets or not query:
                problem = "expected a query" if name in sets else f"there is no set named {name!r}"
                return shown.build_failure(
                    parameters_error_text(problem), "invalid_arguments", problem
                )
            try:
                return ToolReturn(shown.fit(await search.ask(sets[name], query)))
            except InnerApiError as error:
                # What does not pass, such as a dataset that is gone, is a fault of the app, and ends the run.
                if not error.is_transient:
                    raise
                text = invoke_error_text(error.message)
                return shown.build_failure(
                    text, error.error_type, error.message, error.status_code, is_transient=True
                )

        return [
            build_tool(
                invoke,
                name=_TOOL_NAME,
                description=_describe(list(sets.values())),
                schema=_build_schema(list(sets)),
            )
        ]

    def _build_search(self, http_client: httpx.AsyncClient) -> _Search:
        context = self.deps.execution_context
        known = context.build_caller()
        return _Search(
            client=context.create_inner_api_client(http_client=http_client),
            caller={name: known[name] for name in _CALLER},
            config=self.config,
        )


async def _answer(
    search: _Search, knowledge: KnowledgeSet, once: Callable[[StepWork], Awaitable[bytes]]
) -> KnowledgeAnswer:
    query = (knowledge.query.value or "").strip()
    about = {"set_id": knowledge.id, "set_name": knowledge.name, "query": query}

    async def ask() -> bytes:
        return (await search.ask(knowledge, query)).encode(errors="surrogatepass")

    try:
        found = (await once(ask)).decode(errors="surrogatepass")
    except InnerApiError as error:
        if not error.is_transient:
            raise
        return KnowledgeAnswer(**about, observation=_UNAVAILABLE, status="temporarily_unavailable")
    return KnowledgeAnswer(
        **about, observation=found, status="empty" if found == NO_RESULTS else "success"
    )


def _fingerprint(config: DifyKnowledgeLayerConfig, asked: Sequence[KnowledgeSet]) -> str:
    told = {
        "sets": [each.model_dump(mode="json") for each in asked],
        "most": [config.max_result_content_chars, config.max_observation_chars],
    }
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def _describe(sets: Sequence[KnowledgeSet]) -> str:
    listed = "".join(
        f"\n- {each.name}: {each.description}" if each.description else f"\n- {each.name}"
        for each in sets
    )
    return (
        f"Search one set of the knowledge base with a short, specific query. The sets are:{listed}"
    )


def _build_schema(names: Sequence[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "set_name": {
                "type": "string",
                "enum": list(names),
                "description": "The set to search.",
            },
            "query": {"type": "string", "description": "What to look for."},
        },
        "required": ["set_name", "query"],
        "additionalProperties": False,
    }
