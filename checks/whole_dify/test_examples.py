"""The apps of examples/dify, imported as the studio imports a file, published and used."""

import json

import pytest

from conftest import ROOT
from upstream import call, items, said, thought


@pytest.fixture
def example(apps):
    return lambda name: apps.imported((ROOT / "examples/dify" / name).read_text(encoding="utf-8"))


def test_the_agent_of_the_chatflow_calls_tools_and_answers(example, upstream):
    calls = call("current_time"), call("weekday", year=2026, month=11, day=23)
    upstream.plays([thought(), *calls], [said("It is Monday.")])
    run = example("agent-chatflow.yml").chat("What weekday is it?")

    assert (run.error, run.answer) == ("", "It is Monday.")
    time, weekday = [
        item["output"] for item in items(upstream.requests[-1], "function_call_output")
    ]
    assert time.startswith("20")
    assert weekday == "November 23, 2026 is Monday."
    assert upstream.requests[0]["model"] == "gpt-6-luna"


def test_the_workflow_answers_with_an_object_of_its_schema(example, upstream):
    format_ = {}

    def answer(request):
        format_.update(request.text_format["schema"]["properties"])
        values = {
            name: shape.get("enum", ["The parcel is late."])[0] for name, shape in format_.items()
        }
        return [thought(), said(json.dumps(values))]

    upstream.answers(answer)
    run = example("structured-workflow.yml").run({"message": "Where is my parcel?"})
    assert run.error == ""
    assert set(run.outputs["result"]) == set(format_)
    # Dify makes texts of them.
    assert all(shape["type"] != "boolean" for shape in format_.values())


@pytest.mark.parametrize(
    ("name", "plugins"),
    [
        ("agent-chatflow.yml", ["openai_gpt5_responses", "gpt5_agent_strategies"]),
        ("structured-workflow.yml", ["openai_gpt5_responses"]),
    ],
)
def test_dify_names_the_plugins_of_an_app_and_finds_them(example, console, name, plugins):
    app = example(name).app
    # Listed as missing, since no file can know the checksum of a package that somebody has built.
    listed = console.get(f"/apps/imports/{app}/check-dependencies")["leaked_dependencies"]
    found = [one["current_identifier"].partition(":")[0] for one in listed]
    assert found == [f"gpt5-agent/{plugin}" for plugin in plugins]
