"""The kinds of plugins that can be begun."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of plugin: the entries of its manifest, and what stands where.

    Attributes:
        section: The key under `plugins` of the manifest.
        provider: The file that it names.
        description: One line for Dify's list of plugins, which shows about 75 characters.
        tag: The tag by which the marketplace sorts it.
        places: Its own files and folders, each with its purpose.
        call: The arguments of `dify-host call` that call it, and their effect; empty if that command calls nothing of this kind.
        permission: The permissions, in YAML; none that the written code does not use.
        dependencies: The packages that its code imports beside the SDK.
    """

    section: str
    provider: str
    description: str
    tag: str
    places: Mapping[str, str]
    call: tuple[str, str] | tuple[()] = ()
    permission: str = "{}"
    dependencies: tuple[str, ...] = ()


_HTTPX, _PYDANTIC, _WERKZEUG = "httpx>=0.28,<1", "pydantic>=2.13,<3", "werkzeug>=3.1,<4"

KINDS: Mapping[str, Kind] = {
    "tool": Kind(
        section="tools",
        provider="provider/provider.yaml",
        description="Counts the words of a text.",
        tag="utilities",
        places={
            "provider/": "the provider of the tools, with the check of its credentials once it has some",
            "tools/": "each tool: its parameters in YAML, its code in Python",
        },
        call=('count_words text="one two"', "calls the tool once"),
    ),
    "model": Kind(
        section="models",
        provider="provider/provider.yaml",
        description="Models of a server that speaks OpenAI's chat completions.",
        tag="other",
        places={
            "provider/": "the provider: its form of credentials, and their check",
            "models/llm/*.yaml": "each model: its parameters, its size, its prices, and in `features` what else it can do",
            "models/llm/llm.py": "what Dify asks of a model: an answer, a number of tokens",
            "chat_api.py": "the client of the server's API",
        },
        call=(
            'gpt-4.1-mini prompt="hello"',
            "asks the model once; says in which variable it expects the key",
        ),
        dependencies=(_HTTPX, _PYDANTIC),
    ),
    "agent": Kind(
        section="agent_strategies",
        provider="provider/provider.yaml",
        description="An agent that calls tools until it can answer.",
        tag="agent",
        places={
            "provider/": "the name under which the strategies are listed",
            "strategies/": "each strategy: its parameters in YAML, its code in Python",
        },
        call=(
            'tool_calling instruction="Be brief." query="hello"',
            "runs it once, with a scripted model; `model=NAME --with MODEL_PLUGIN` takes one of another plugin",
        ),
        permission="{ tool: { enabled: true }, model: { enabled: true, llm: true } }",
        dependencies=(_PYDANTIC,),
    ),
    "endpoint": Kind(
        section="endpoints",
        provider="group/group.yaml",
        description="An endpoint that counts the words of a text.",
        tag="utilities",
        places={
            "group/": "the settings that all endpoints share",
            "endpoints/": "each endpoint: its path and method in YAML, its code in Python",
        },
        permission="{ endpoint: { enabled: true } }",
        dependencies=(_PYDANTIC, _WERKZEUG),
    ),
    "datasource": Kind(
        section="datasources",
        provider="provider/provider.yaml",
        description="Reads the entries of a JSON Feed as documents.",
        tag="rag",
        places={
            "provider/": "the provider: its form of credentials, and their check",
            "datasources/": "each data source: its variables in YAML, its code in Python",
            "json_feed.py": "the client of the feed's server",
        },
        dependencies=(_HTTPX, _PYDANTIC),
    ),
    "trigger": Kind(
        section="triggers",
        provider="provider/provider.yaml",
        description="Starts workflows on the messages of a webhook.",
        tag="trigger",
        places={
            "provider/": "the webhook: the form of a subscription, and which events a request means",
            "events/": "each event: its parameters and variables in YAML, its code in Python",
        },
        dependencies=(_PYDANTIC, _WERKZEUG),
    ),
}
"""Each kind by its name."""
