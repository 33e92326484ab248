"""The context parameter, in any shape."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scripted_dify import chunk


RESULT = {
    "title": "Guide",
    "content": "Use the door.",
    "metadata": {
        "position": 1,
        "dataset_id": "d",
        "dataset_name": "Docs",
        "document_id": "x",
        "document_name": "guide.md",
        "document_data_source_type": "upload_file",
        "segment_id": "s",
        "retriever_from": "workflow",
        "score": 0.9,
        "segment_hit_count": 3,
        "segment_word_count": 4,
        "segment_position": 2,
        "segment_index_node_hash": "h",
        "page": 7,
        "doc_metadata": {"author": "me"},
    },
}
CITED = {
    "position": 1,
    "dataset_id": "d",
    "dataset_name": "Docs",
    "document_id": "x",
    "document_name": "guide.md",
    "data_source_type": "upload_file",
    "segment_id": "s",
    "retriever_from": "workflow",
    "score": 0.9,
    "hit_count": 3,
    "word_count": 4,
    "segment_position": 2,
    "index_node_hash": "h",
    "content": "Use the door.",
    "page": 7,
    "doc_metadata": {"author": "me"},
}


def cite(agent, context):
    agent.dify.model = [[chunk("Done.")]]
    transcript = agent.run(context=context)
    assert transcript.error is None
    messages = transcript.of("retriever_resources")
    resources = [item for m in messages for item in m["message"]["retriever_resources"]]
    return [
        {name: value for name, value in item.items() if value is not None} for item in resources
    ]


@pytest.mark.parametrize(
    "context", [[RESULT], RESULT, json.dumps([RESULT])], ids=["list", "object", "json"]
)
def test_a_retrieved_segment_is_cited_with_all_that_is_known_of_it(agent, context):
    """C19: the official strategy takes a list of one exact shape only."""
    assert cite(agent, context) == [CITED]


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        ("plain text", [{"content": "plain text"}]),
        (["a", None, " "], [{"content": "a"}]),
        ({"text": "words", "title": "T"}, [{"content": "words", "document_name": "T"}]),
        ({"answer": 42}, [{"content": '{"answer": 42}'}]),
        (42, [{"content": "42"}]),
        (
            {"content": "words", "metadata": {"score": "high", "page": 2}},
            [{"content": "words", "page": 2}],
        ),
        (None, []),
        ([], []),
        ({}, []),
        ("", []),
    ],
)
def test_any_other_shape_is_cited_as_far_as_it_goes(agent, context, expected):
    assert cite(agent, context) == expected


SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
)
NAMES = st.sampled_from(["content", "title", "metadata", "text", "score", "page", "position", "x"])
CONTEXTS = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)


ANY_CONTEXT = given(CONTEXTS | CONTEXTS.map(json.dumps))
SHARED = [HealthCheck.function_scoped_fixture]


@ANY_CONTEXT
@settings(max_examples=15, suppress_health_check=SHARED)
def test_no_context_ever_ends_a_run(agent, context):
    for resource in cite(agent, context):
        assert resource


@pytest.mark.long
@ANY_CONTEXT
@settings(max_examples=300, suppress_health_check=SHARED)
def test_none_of_many_contexts_ends_a_run(agent, context):
    assert all(cite(agent, context))


def test_half_a_character_in_a_context_is_cited_as_it_was_written(agent):
    text = '[{"content": "\\ud83d"}]'
    assert cite(agent, text) == [{"content": text}]
