import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest


DEMO_TOOLS = Path(__file__).parents[1] / "plugins" / "demo_tools"
WAITS = "wire.ready()\nfor request in wire.requests():\n    pass\n"
USAGE = {
    "tokens": 1,
    "total_tokens": 1,
    "unit_price": "0",
    "price_unit": "0",
    "total_price": "0",
    "currency": "USD",
    "latency": 0.5,
}


@pytest.fixture(autouse=True)
def _no_settings_in_the_environment(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "DIFY_HOST_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def declare(make_plugin):
    """Write a plugin with one provider of a kind, and files for its parts."""

    def write(kind, provider, script=WAITS, name="other", **parts):
        folder = make_plugin(script, name=name, plugins={kind: ["p.yaml"]})
        (folder / "p.yaml").write_text(json.dumps(provider))
        for part, content in parts.items():
            (folder / f"{part}.yaml").write_text(json.dumps(content))
        return folder

    return write


def shown(count):
    """Read what people are shown, up to the end of so many samples."""
    return lambda host: [line for _ in range(count) for line in host.read("  -H 'Content-Type")]


def copied(lines, **variables):
    """Run each sample as it stands in a shell that has the key; return what each answers."""
    (key,) = (line for line in lines if line.startswith("export "))
    text = "\n".join(lines)
    samples = ["curl " + rest.partition("\n#")[0] for rest in text.split("\ncurl ")[1:]]
    environment = {**os.environ, "http_proxy": "http://127.0.0.1:9", **variables}
    answers = []
    for sample in samples:
        done = subprocess.run(
            ["sh", "-c", f"{key}\n{sample}"],
            capture_output=True,
            text=True,
            env=environment,
            check=True,
        )
        events = [
            json.loads(line[6:]) for line in done.stdout.splitlines() if line.startswith("data: ")
        ]
        assert events
        assert all(event["code"] == 0 for event in events), done.stdout
        answers.append(events)
    return answers


def data_of(lines):
    """Return the body of the last sample, decoded as a shell would hand it on."""
    _, _, quoted = lines[-1].partition(" -d ")
    done = subprocess.run(
        ["sh", "-c", f"printf %s {quoted}"], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def test_samples_of_a_model_a_tool_and_a_strategy_run_as_they_stand(serve, plugins):
    shutil.copytree(DEMO_TOOLS, plugins / "demo_tools")
    tools = plugins / "demo_tools" / "tools"
    (tools / "words.yaml").write_text(
        (tools / "words.yaml").read_text().replace("default: space", 'default: "it\'s"')
    )

    def talk(host):
        lines = shown(3)(host)
        return copied(lines)

    model, tool, strategy = serve("--simulator", talk=talk)
    assert model[0]["data"]["delta"]["message"]["content"] == "hello"
    assert tool[0]["data"]["type"] == "text"
    assert strategy[-1]["data"]["message"]["json_object"]["execution_metadata"]["rounds"] == 1


def test_a_sample_refers_to_the_key_and_does_not_show_it(serve, plugins, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    model = plugins / "echo_model" / "main.py"
    model.write_text(
        model.read_text().replace(
            "chunk(request, said,",
            'chunk(request, request["data"]["credentials"]["openai_api_key"],',
        )
    )

    def talk(host):
        lines = shown(1)(host)
        return lines, copied(lines, OPENAI_API_KEY="sk-of-the-shell")

    lines, (answer,) = serve(plugins / "echo_model", talk=talk)
    assert "sk-very-secret" not in "\n".join(lines)
    assert "# set OPENAI_API_KEY first" in lines
    assert answer[0]["data"]["delta"]["message"]["content"] == "sk-of-the-shell"


def test_what_other_providers_require_comes_from_variables_of_their_name(serve, declare, plugins):
    fields = [
        {"variable": "api_key", "type": "secret-input", "required": True},
        {"variable": "region", "type": "select", "required": True, "options": [{"value": "eu"}]},
        {"variable": "other_url", "type": "text-input", "required": True},
        {"variable": "proxy", "type": "text-input"},
    ]
    provider = {
        "provider": "other",
        "supported_model_types": ["llm"],
        "provider_credential_schema": {"credential_form_schemas": fields},
        "models": {"llm": {"predefined": ["m.yaml"]}},
    }
    folder = declare("models", provider, m={"model": "m", "model_type": "llm"})
    lines = serve(folder, plugins / "small_agent", talk=shown(2))
    assert lines.count("# set OTHER_API_KEY, OTHER_URL first") == 2
    context = data_of(lines)["context"]["credentials"]["provider_credentials"]
    assert context == {"tests/other/other": {"api_key": "", "region": "eu", "other_url": ""}}


@pytest.mark.parametrize(
    ("model_type", "field", "answer"),
    [
        (
            "text-embedding",
            "texts",
            {"model": "m-1", "embeddings": [[0.5]], "usage": USAGE},
        ),
        (
            "rerank",
            "docs",
            {"model": "m-1", "docs": [{"index": 1, "text": "good bye", "score": 0.5}]},
        ),
        ("moderation", "text", {"result": True}),
        ("tts", "content_text", {"result": "00ff"}),
    ],
)
def test_models_of_every_type_are_named_by_their_route(serve, declare, model_type, field, answer):
    path = f"{model_type.replace('-', '_')}/invoke"
    provider = {
        "provider": "p",
        "supported_model_types": [model_type],
        "models": {"kind": {"predefined": ["m*.yaml"]}},
    }
    models = {f"m{n}": {"model": f"m-{n}", "model_type": model_type} for n in (1, 2)}

    def talk(host):
        lines = shown(1)(host)
        return lines, copied(lines)

    script = f"""
        wire.ready()
        for request in wire.requests():
            assert request["data"][{field!r}]
            wire.stream(request, {answer!r})
            wire.end(request)
    """
    lines, (answers,) = serve(declare("models", provider, script, **models), talk=talk)
    assert f"  {path}: p: m-1, m-2" in lines
    assert f"/dispatch/{path} " in lines[-3]
    assert [event["data"] for event in answers] == [answer]


def test_a_provider_whose_users_name_the_models_says_so(serve, declare):
    fields = [{"variable": "base_url", "type": "text-input", "required": True}]
    schema = {"model": {}, "credential_form_schemas": fields}
    provider = {
        "provider": "own",
        "supported_model_types": ["llm", "speech2text"],
        "model_credential_schema": schema,
    }
    folder = declare("models", provider)
    lines = serve(folder, talk=shown(1))
    assert "  llm/invoke: own: models that you name" in lines
    assert "  speech2text/invoke: own: models that you name" in lines
    assert "# set MODEL, OWN_BASE_URL first" in lines
    ready = serve(folder, "--json", talk=lambda host: host.ready)
    (plugin,) = ready["plugins"]
    assert plugin["models"] == {"own": []}
    assert plugin["model_types"] == {"own": {"llm": [], "speech2text": []}}


@pytest.mark.parametrize(
    ("provider", "part", "shown"),
    [
        ({"endpoints": ["part.yaml"]}, {"path": "/hook", "method": "POST"}, ("endpoints: POST /hook", {"": ["POST /hook"]})),
        ({"identity": {"name": "d"}, "datasources": ["part.yaml"]}, {"identity": {"name": "pages"}}, ("datasources: d: pages", {"d": ["pages"]})),
        ({"identity": {"name": "t"}, "events": ["part.yaml"]}, {"identity": {"name": "opened"}}, ("triggers: t: opened", {"t": ["opened"]})),
    ],
)  # fmt: skip
def test_what_has_no_route_is_named_all_the_same(serve, declare, provider, part, shown):
    line, names = shown
    kind = line.partition(":")[0]
    folder = declare(kind, provider, part=part)
    assert f"  {line} (no route for these)" in serve(
        folder, talk=lambda host: host.read("Callers send")
    )
    (plugin,) = serve(folder, "--json", talk=lambda host: host.ready)["plugins"]
    assert plugin[kind] == names
    assert not any(plugin[other] for other in ("models", "tools", "agent_strategies"))


def test_values_are_made_up_for_what_a_tool_requires(serve, declare):
    parameters = [
        {"name": "number", "type": "number", "required": True, "min": 3},
        {
            "name": "choice",
            "type": "select",
            "required": True,
            "options": [{"value": "a"}, {"value": "b"}],
        },
        {"name": "flag", "type": "boolean", "required": True},
        {"name": "preset", "type": "string", "required": True, "default": "set"},
        {"name": "day", "type": "date", "required": True},
        {"name": "optional", "type": "string"},
    ]
    tools = {
        "needs_a_file": {
            "identity": {"name": "needs_a_file"},
            "parameters": [{"name": "f", "type": "file", "required": True}],
        },
        "free": {"identity": {"name": "free"}, "parameters": parameters},
    }
    provider = {"identity": {"name": "p"}, "tools": ["needs_a_file.yaml", "free.yaml"]}
    provider["credentials_for_provider"] = {"api_key": {"type": "secret-input", "required": True}}
    body = data_of(serve(declare("tools", provider, **tools), talk=shown(1)))["data"]
    assert (body["tool"], body["credentials"], body["credential_type"]) == (
        "free",
        {"api_key": ""},
        "api-key",
    )
    expected = {"number": 3, "choice": "a", "flag": True, "preset": "set", "day": "2026-01-31"}
    assert body["tool_parameters"] == expected


@pytest.mark.parametrize(
    ("kind", "key", "path"),
    [
        ("tools", "tools", "tool/invoke"),
        ("agent_strategies", "strategies", "agent_strategy/invoke"),
    ],
)
def test_what_needs_something_that_nobody_can_make_up_has_no_sample(
    serve, declare, kind, key, path
):
    required = {"name": "document", "type": "file", "required": True}
    part = {"identity": {"name": "reads"}, "parameters": [required]}
    folder = declare(kind, {"identity": {"name": "p"}, key: ["part.yaml"]}, part=part)
    lines = serve(folder, talk=lambda host: host.read("Callers send"))
    assert f"  {path}: p: reads" in lines


def test_whoever_gave_the_key_is_told_where_the_samples_look_for_it(serve, plugins):
    lines = serve(plugins / "echo_model", "--api-key", "my-key", talk=shown(1))
    assert "# DIFY_HOST_API_KEY: the key that you gave" in lines
    assert "my-key" not in "\n".join(lines)
