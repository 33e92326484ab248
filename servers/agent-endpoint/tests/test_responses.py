"""Agents at `/v1/responses`."""

import json
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic import BaseModel, Field
from scripted import adding, asked, call, calls, pay, paying, script

from agent_driver import Agent


FLOOR = {"type": "object", "properties": {"floor": {"type": "string"}}}


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"


class Dog(BaseModel):
    kind: Literal["dog"]


@dataclass
class Sum:
    total: int


async def create(client, status=200, **body):
    answer = await client.post("/v1/responses", json={"model": "agent", **body})
    assert answer.status_code == status, answer.text
    return answer.json()


def text(response):
    return response["output"][-1]["content"][0]["text"]


def read(stream):
    """Return the events of a stream."""
    lines = [line[6:] for line in stream.text.splitlines() if line.startswith("data: {")]
    return [json.loads(line) for line in lines]


async def test_an_agent_answers_with_its_calls_and_its_text(tmp_path):
    async with asked(tmp_path, {"agent": adding}) as client:
        body = {"model": "agent", "input": "?", "stream": True}
        events = read(await client.post("/v1/responses", json=body))
        models = (await client.get("/v1/models")).json()

    response = events[-1]["response"]
    assert events[-1]["type"] == "response.completed"
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert [item["type"] for item in response["output"]] == ["mcp_call", "mcp_call", "message"]
    assert [item["output"] for item in response["output"][:2]] == ["paid 2", "paid 3"]
    assert text(response) == "It was five. "
    assert response["usage"]["input_tokens"] == 14
    assert [model["id"] for model in models["data"]] == ["agent"]


async def test_a_conversation_goes_on_from_a_response(tmp_path, monkeypatch):
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr("opentelemetry.trace.get_tracer_provider", lambda: provider)

    def recall(asked_):
        said = [one.content for one in asked_.messages[1:] if one.role == "user"]
        return " and ".join(said)

    def repeat(asked_):
        return "|".join(f"{one.role}:{one.content}" for one in asked_.messages)

    agent = Agent(script(recall), instruction="Be brief.")
    agents = {"agent": agent, "other": Agent(script(repeat))}
    async with asked(tmp_path, agents, traces=True) as client:
        first = await create(client, input="One")
        second = await create(client, input="two", previous_response_id=first["id"])
        third = await create(
            client, input="three", previous_response_id=second["id"], instructions="Be polite."
        )

        # As the AI SDK says it, whoever of the agents has answered.
        reference = {"type": "item_reference", "id": first["output"][0]["id"]}
        again = [reference, {"role": "user", "content": "two"}]
        referring = await create(client, model="other", input=again)

    assert text(third) == "One and two and three "
    assert text(referring) == "assistant:One |user:two "
    runs = [one for one in exporter.get_finished_spans() if one.name == "invoke_agent agent"]
    assert [one.attributes["agent_server.run.id"].replace("-", "") for one in runs] == [
        one["id"].split("_")[1] for one in (first, second, third)
    ]
    assert {one.attributes["gen_ai.conversation.id"].replace("-", "") for one in runs} == {
        first["id"].split("_")[1]
    }


async def test_a_response_that_waits_for_approval_goes_on_with_it(tmp_path):
    async with asked(tmp_path, {"agent": paying}) as client:
        first = await create(client, input="Pay.")
        [request] = first["output"]
        answer = {
            "type": "mcp_approval_response",
            "approval_request_id": request["id"],
            "approve": True,
        }
        second = await create(client, input=[answer], previous_response_id=first["id"])

    assert (request["type"], request["name"]) == ("mcp_approval_request", "pay")
    assert [item["type"] for item in second["output"]] == ["mcp_call", "message"]
    assert second["output"][0]["output"] == "paid 5"


async def test_a_clients_function_is_called_by_the_client(tmp_path):
    made = call("open", floor="1" * 30_000)
    model = script(calls(made), lambda asked_: f"Result: {asked_.messages[-1].content}")
    tool = {"type": "function", "name": "open", "parameters": FLOOR}
    output = [{"type": "input_text", "text": "it"}, {"type": "input_text", "text": "opens"}]
    async with asked(tmp_path, {"agent": Agent(model, [pay])}) as client:
        first = await create(client, input="Open.", tools=[tool])
        [asked_for] = first["output"]
        given = {
            "type": "function_call_output",
            "call_id": asked_for["call_id"],
            "output": output,
        }
        second = await create(client, input=[given], previous_response_id=first["id"])
        refused = await create(client, 400, input="x", tools=[{**tool, "name": "pay"}])

    assert (asked_for["type"], asked_for["name"]) == ("function_call", "open")
    assert asked_for["arguments"] == made["arguments"]
    assert text(second) == "Result: it\nopens "
    assert refused["error"]["param"] == "tools[0].name"


async def test_half_a_character_is_no_reason_to_fail(tmp_path):
    agent = Agent(script(lambda asked_: asked_.messages[0].content))
    async with asked(tmp_path, {"agent": agent}) as client:
        body = '{"model": "agent", "input": "a\\ud83d"}'
        kind = {"Content-Type": "application/json"}
        first = (await client.post("/v1/responses", content=body, headers=kind)).json()
        second = await create(client, input="?", previous_response_id=first["id"])

    assert (first["status"], second["status"]) == ("completed", "completed")
    assert text(second) == "a\ud83d "


async def test_a_refusal_quotes_nothing_of_a_functions_schema(tmp_path):
    schema = {"type": "array", "items": {"$ref": "https://secret"}}
    tools = [{"type": "function", "name": "open", "parameters": schema}]
    async with asked(tmp_path, {"agent": adding}) as client:
        refused = (await create(client, 400, input="?", tools=tools))["error"]

    assert refused["param"] == "tools[0]"
    assert "'object'" in refused["message"]
    assert "secret" not in refused["message"]


async def test_a_form_of_answer_is_the_agents_own(tmp_path):
    typed = Agent(script('{"total":4}{"total":4}'), answer=Sum)  # As two equal messages.
    schema = {"type": "json_schema", "name": "sum", "schema": dict(typed.answer_schema)}
    async with asked(tmp_path, {"agent": typed, "plain": adding}) as client:
        answered = await create(client, input="?", text={"format": schema})
        plain = await create(client, model="plain", input="?", text={"format": {"type": "text"}})
        for one in (schema, {**schema, "schema": {}}, {**schema, "type": "json_object"}):
            refused = await create(client, 400, model="plain", input="?", text={"format": one})
            assert refused["error"]["param"] == "text.format"

    assert json.loads(text(answered)) == {"total": 4}
    assert answered["status"] == plain["status"] == "completed"


@dataclass
class Titled:
    title: str
    notes: list[str | int]


async def test_a_form_is_the_agents_own_whatever_it_is_titled(tmp_path):
    """Source: openai 3.55.1, `responses.parse(text_format=…)` sends the titles that pydantic gives."""
    agent = Agent(script('{"title": "a", "notes": []}'), answer=Titled)
    properties = {
        "title": {"type": "string", "title": "Title", "description": "Of it."},
        "notes": {
            "type": "array",
            "items": {"anyOf": [{"type": "string", "title": "Note"}, {"type": "integer"}]},
        },
    }
    schema = {**agent.answer_schema, "properties": properties, "title": "Titled"}
    form = {"type": "json_schema", "name": "titled", "schema": schema}
    other = {**form, "schema": {**schema, "properties": {"notes": properties["notes"]}}}
    async with asked(tmp_path, {"agent": agent}) as client:
        answered = await create(client, input="?", text={"format": form})
        refused = await create(client, 400, input="?", text={"format": other})

    assert json.loads(text(answered)) == {"title": "a", "notes": []}
    assert refused["error"]["param"] == "text.format"


class Pet(BaseModel):
    name: str
    age: int = 0


class Order(BaseModel):
    title: str = "none"
    pets: list[Pet] = Field(default_factory=list)
    first: Pet | None = None
    best: Pet = Pet(name="Rex")
    size: tuple[int, str] = (1, "m")
    kin: Cat | Dog = Field(discriminator="kind")
    default: int = 1


def strict(schema):
    """Return a schema of pydantic as the openai client writes it."""
    schema = {name: one for name, one in schema.items() if (name, one) != ("default", None)}
    if schema.get("type") == "object":
        schema = {"additionalProperties": False, **schema}
        schema["required"] = list(schema["properties"])
    for name in ("properties", "$defs"):
        if name in schema:
            schema[name] = {key: strict(one) for key, one in schema[name].items()}
    if "$ref" in schema and len(schema) > 1:
        name = schema.pop("$ref").rpartition("/")[2]
        return strict(Order.model_json_schema()["$defs"][name] | schema)
    return schema


async def test_a_form_is_the_agents_own_in_each_way_of_writing_its_class(tmp_path):
    """Source: openai 3.57.0, `responses.parse(text_format=…)`."""
    agent = Agent(script('{"kin": {"kind": "cat"}}'), answer=Order)
    plain = Order.model_json_schema()
    told = {"type": "array", "items": {"$ref": "#/$defs/Pet"}}
    # Pydantic AI 2.68 gives a reference with a default the choice of one.
    chosen = {"anyOf": [{"$ref": "#/$defs/Pet"}], "default": {"name": "Rex"}}
    one_of = {**plain, "properties": {**plain["properties"], "best": chosen}}
    circle = {
        "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
        "$ref": "#/$defs/a",
    }
    others = [
        {**plain, "required": ["kin", "title"]},
        {**plain, "required": "title"},
        {**plain, "required": [[]]},
        {**plain, "additionalProperties": True},
        {**plain, "properties": []},
        {**plain, "properties": {**plain["properties"], "pets": {**told, "minItems": 1}}},
        {**plain, "properties": {**plain["properties"], "pets": {"type": ["array"]}}},
        {**plain, "properties": {**plain["properties"], "default": {"type": "number"}}},
        {**plain, "properties": {**plain["properties"], "kin": {"anyOf": [{}]}}},
        {**plain, "properties": {**plain["properties"], "best": {"$ref": "#/$defs/None"}}},
        {**plain, "$defs": {"Pet": True}},
        circle,
        None,
    ]
    async with asked(tmp_path, {"agent": agent}) as client:
        for schema in (plain, strict(plain), dict(agent.answer_schema), one_of):
            form = {"type": "json_schema", "name": "order", "schema": schema}
            answered = await create(client, input="?", text={"format": form})
            assert Order.model_validate_json(text(answered)).best.name == "Rex"
        for schema in others:
            form = {"type": "json_schema", "name": "order", "schema": schema}
            refused = await create(client, 400, input="?", text={"format": form})
            assert refused["error"]["param"] == "text.format", schema


class Entry(BaseModel):
    """An entry."""

    name: str
    parts: list["Entry"] = Field(default_factory=list)


class Pick(BaseModel):
    number: int


class Bill(BaseModel):
    total: int
    tax: float = Field(ge=0, le=1)
    state: Literal["open", "paid"] | None
    kind: Literal["bill"]
    version: Literal[1]
    more: dict[str, Any]
    size: tuple[int, str]
    due: date
    whose: str | int | None
    lines: list[int | list[Entry]] = Field(max_length=9)
    unit: str = "euros"
    first: Entry = Entry(name="a")
    pick: Pick | float | None


INTEGER = {"type": "integer", "minimum": 1 - 2**53, "maximum": 2**53 - 1}
OBJECT = {"type": "object", "additionalProperties": False}
NULL = {"type": "null"}
WRITTEN_BY_ZOD = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    **OBJECT,
    "properties": {
        "total": INTEGER,
        "tax": {"type": "number", "minimum": 0, "maximum": 1},
        "state": {"anyOf": [{"type": "string", "enum": ["paid", "open"]}, NULL]},
        "kind": {"type": "string", "const": "bill"},
        "version": {"type": "number", "const": 1},
        "more": {
            "type": "object",
            "propertyNames": {"type": "string"},
            "additionalProperties": {},
        },
        "size": {
            "type": "array",
            "items": [INTEGER, {"type": "string"}],
            "additionalItems": False,
            "minItems": 2,
            "maxItems": 2,
        },
        "due": {"type": "string", "format": "date", "pattern": r"^\d{4}-\d\d-\d\d$"},
        "whose": {"anyOf": [{"anyOf": [{"type": "string"}, INTEGER]}, NULL]},
        "lines": {
            "type": "array",
            "maxItems": 9,
            "items": {
                "anyOf": [INTEGER, {"type": "array", "items": {"$ref": "#/definitions/__0"}}]
            },
        },
        "unit": {"type": "string", "default": "euros"},
        "first": {"$ref": "#/definitions/__0"},
        "pick": {
            "anyOf": [
                {**OBJECT, "properties": {"number": INTEGER}, "required": ["number"]},
                {"type": ["number", "null"]},
            ]
        },
    },
    "required": [
        *("total", "tax", "state", "kind", "version", "more", "size", "due", "whose"),
        *("lines", "pick"),
    ],
    "definitions": {
        "__0": {
            **OBJECT,
            "properties": {
                "name": {"type": "string"},
                "parts": {"type": "array", "items": {"$ref": "#/definitions/__0"}},
            },
            "required": ["name"],
        }
    },
}
ENTRY = {
    **OBJECT,
    "properties": {
        "name": {"type": "string"},
        "parts": {"type": "array", "items": {"$ref": "#"}},
    },
    "required": ["name"],
}


async def test_a_form_is_the_agents_own_as_zod_writes_it_and_another_is_named_by_its_place(
    tmp_path,
):
    """Source: @ai-sdk/openai 4.0.118 and 3.0.141 with zod 4.6.7, `Output.object`; openai 3.57.0, `responses.parse`."""
    bill = {"total": 4, "tax": 0, "state": None, "kind": "bill", "version": 1, "more": {}}
    bill |= {"size": [1, "m"], "due": "2026-11-28", "whose": 2, "lines": [], "pick": None}
    agents = {
        "bill": Agent(script(json.dumps(bill)), answer=Bill),
        "entry": Agent(script('{"name": "a", "parts": [{"name": "b"}]}'), answer=Entry),
        "plain": adding,
    }
    properties = WRITTEN_BY_ZOD["properties"]
    changes = {
        "properties.total.type": {"total": {**INTEGER, "type": "number"}},
        "properties.total.minimum": {"total": {**INTEGER, "minimum": 0}},
        "properties.state.anyOf.0.enum.1": {
            "state": {"anyOf": [{"type": "string", "enum": ["open", "done"]}, NULL]}
        },
        "properties.more.additionalProperties.type": {
            "more": {"type": "object", "additionalProperties": {"type": "string"}}
        },
        "properties.due.format": {"due": {"type": "string", "pattern": "^2026"}},
        "properties.first.properties.nested": {
            "first": {**ENTRY, "properties": {**ENTRY["properties"], "nested": {}}}
        },
        "properties.whose.anyOf.2": {"whose": {"type": ["string", "integer"]}},
        f"properties.{200 * 'x'}"[:200]: {300 * "x": INTEGER},
    }
    refused = {}

    async def parse(client, model, schema, status=200):
        form = {"type": "json_schema", "name": "form", "schema": schema}
        return await create(client, status, model=model, input="?", text={"format": form})

    async with asked(tmp_path, agents) as client:
        answered = [await parse(client, "bill", WRITTEN_BY_ZOD)] + [
            await parse(client, "entry", schema)
            for schema in (ENTRY, Entry.model_json_schema(), dict(agents["entry"].answer_schema))
        ]
        for where, change in changes.items():
            other = {**WRITTEN_BY_ZOD, "properties": {**properties, **change}}
            refused[where] = (await parse(client, "bill", other, 400))["error"]
        partly = {**ENTRY, "properties": {**ENTRY["properties"], "more": {}}}
        refused["properties.more"] = (await parse(client, "entry", partly, 400))["error"]
        more = {**WRITTEN_BY_ZOD, "required": [*WRITTEN_BY_ZOD["required"], "unit"]}
        refused["required.unit"] = (await parse(client, "bill", more, 400))["error"]
        none = (await parse(client, "plain", ENTRY, 400))["error"]
        objects = {"format": {"type": "json_object"}}
        any_object = await create(client, model="bill", input="?", text=objects)
        no_form = (
            await create(client, 400, model="bill", input="?", text={"format": {"type": "x"}})
        )["error"]

    assert [json.loads(text(one)) for one in answered[1:]] == [
        {"name": "a", "parts": [{"name": "b"}]}
    ] * 3
    assert json.loads(text(answered[0])) == json.loads(text(any_object)) == bill
    for where, error in refused.items():
        assert (error["param"], f"`{where}`" in error["message"]) == ("text.format", True), error
    assert no_form["message"].endswith("expected the form that the agent answers in")
    assert none["message"] == "text.format: expected to be absent: the agent answers in text"


async def test_a_conversation_that_cannot_be_kept_is_not_gone_on_with(tmp_path):
    async def model(_asked):
        yield "Done."
        yield {"opaque_body": {"key": object()}}

    async with asked(tmp_path, {"agent": Agent(model)}) as client:
        first = await create(client, input="x")

    assert first["status"] == "failed"
