"""PRIVACY.md tells all that leaves, and what it says of the plugin's memory is so."""

import hashlib
import inspect
import json
import re

import yaml

from gpt5_messages import ItemStore
from gpt5_simulator import ResponsesSimulator
from model_plugin import PLUGIN, ModelPlugin, credentials_for


TEXT = (PLUGIN / "PRIVACY.md").read_text(encoding="utf-8")
TOOL = {"name": "lookup", "description": "Look up", "parameters": {"type": "object"}}
# What every HTTP client says, and what says nothing of a person or a machine.
PLAIN_HEADERS = {
    *("accept", "accept-encoding", "connection", "content-length", "content-type", "host"),
}
TOLD_HEADERS = {
    "authorization": "API key",
    "openai-organization": "organization",
    "user-agent": "its name",
    "x-client-request-id": "a random id of the request",
}
TOLD_FIELDS = {
    "input": "texts of the conversation",
    "tools": "tools offered",
    "safety_identifier": "safety identifier",
    "prompt_cache_key": "prompt cache key",
    "store": "`store: false`",
}
TOLD_LINES = {
    "_error_mapping.py": ["the lines of code", "what the server said of that"],
    "_parameters.py": ["names of parameters"],
    "_plugin_log.py": [
        "OPENAI_GPT5_AUDIT_LOG",
        "tokens came from the prompt cache",
        "models that OpenAI shuts down",
        "OPENAI_GPT5_LOG_TOOL_CONTENT",
    ],
    "_polling.py": ["because of which an answer is asked for again"],
}
SETTINGS = {
    *("include", "max_output_tokens", "model", "parallel_tool_calls", "reasoning", "stream"),
    *("stream_options", "text", "tool_choice", "truncation"),
}


def test_all_that_a_request_holds_is_told(plugin: ModelPlugin, server: ResponsesSimulator) -> None:
    credentials = {**credentials_for(server, "key"), "openai_organization": "org-1"}
    plugin.invoke(server, credentials=credentials, tools=[TOOL], stop=["STOP"], user_id="ann")

    [request] = server.requests
    assert {name.lower() for name in request.headers} - PLAIN_HEADERS == TOLD_HEADERS.keys()
    assert request.body.keys() - SETTINGS == TOLD_FIELDS.keys()
    for words in (*TOLD_HEADERS.values(), *TOLD_FIELDS.values()):
        assert words.lower() in TEXT.lower()


def test_what_is_stored_of_an_answer_in_the_background_is_told(
    plugin: ModelPlugin, server: ResponsesSimulator
) -> None:
    plugin.invoke(server, model_parameters={"background": True})

    [request] = server.requests
    assert request.body["store"] is True
    assert request.body.keys() - SETTINGS - TOLD_FIELDS.keys() == {"background"}
    for words in (
        "`background`",
        "for 30 days",
        "polling variant",
        "stop sequences",
        "ends with a token",
    ):
        assert words in TEXT


def test_every_tool_of_openai_s_says_what_it_receives() -> None:
    rules = yaml.safe_load((PLUGIN / "parameter_rules.yaml").read_text(encoding="utf-8"))
    names = {rule["label"]["en_US"].partition(" (")[0] for rule in rules}
    tools = {"Web Search", "Code Interpreter", "Image Generation", "MCP Servers", "Extra Tools"}

    assert tools <= names
    for tool in (*tools, "File Search"):
        assert f"- **{tool.lower()}" in TEXT.lower()


def test_the_user_is_sent_as_the_digest_that_is_told(
    plugin: ModelPlugin, server: ResponsesSimulator
) -> None:
    plugin.invoke(server, user_id="ann-4711")

    [request] = server.requests
    assert "SHA-256 digest of the Dify user's id" in TEXT
    assert request.body["safety_identifier"] == hashlib.sha256(b"ann-4711").hexdigest()
    assert "ann-4711" not in json.dumps([request.body, dict(request.headers)])


def test_the_bounds_of_the_memory_are_those_that_are_told() -> None:
    bounds = inspect.signature(ItemStore).parameters
    entries, size, age = (
        bounds[name].default for name in ("max_entries", "max_bytes", "max_age_seconds")
    )

    assert (entries, size, age) == (1_000, 32 * 1024**2, 3_600)
    assert "1,000 answers, 32 MiB, one hour" in TEXT
    code = (PLUGIN / "model_adapter/_request.py").read_text(encoding="utf-8")
    assert re.findall(r"ItemStore\((.*)\)", code) == [""]  # as it comes


def test_every_line_of_the_log_is_told() -> None:
    writers = {
        path.name
        for path in PLUGIN.glob("model_adapter/*.py")
        if re.search(r"LOGGER\.(debug|info|warning|error|exception)\(", path.read_text("utf-8"))
    }

    assert writers == TOLD_LINES.keys()
    assert all(words in TEXT for lines in TOLD_LINES.values() for words in lines)
