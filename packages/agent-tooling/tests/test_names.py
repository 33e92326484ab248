"""The names that other teams import, wherever their code stands in the package."""

import re
from pathlib import Path

import pytest

import agent_tooling


PROMISED = [
    "FailureMemory",
    "cast_value",
    "llm_json_schema",
    "merge_blob_chunks",
    "merge_parameters",
    "missing_hidden_parameters",
    "observation_text",
    "option_violation",
    "parse_tool_arguments",
    "prepare_arguments",
    "read_local_file",
]


@pytest.mark.parametrize("name", PROMISED)
def test_a_name_that_is_promised_to_others_is_exported(name):
    assert name in agent_tooling.__all__
    assert callable(getattr(agent_tooling, name))


def test_one_room_alone_knows_dify():
    package = Path(agent_tooling.__file__).parent
    others = [path for path in package.rglob("*.py") if "_dify" not in path.parts]
    named = [
        line
        for path in others
        for line in path.read_text("utf-8").splitlines()
        if re.search("dify", line.replace("from ._dify import", ""), re.IGNORECASE)
        and not re.search(r"docs/(contracts|evidence)/", line)
    ]
    assert len(others) > 20
    assert named == []
