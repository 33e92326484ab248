import json

import pytest

from gpt5_simulator import DemoModel, ResponsesSimulator, ResultsError, read_results_file


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"telepathy": []}, "telepathy: expected one of web_search, file_search, "),
        ({"web_search": {}}, "web_search: expected an array of objects"),
        ({"web_search": ["Paris"]}, r"web_search\[0\]: expected an object"),
        ({"shell": [{"url": "u"}]}, r"shell\[0\]\.url: expected one of match, items, text"),
        ({"shell": [{"items": {}}]}, r"shell\[0\]\.items: expected an array"),
        ({"shell": [{"items": [{}]}]}, r"shell\[0\]\.items\[0\]: expected an object with a type"),
        ({"web_search": [{"match": 1}]}, r"web_search\[0\]\.match: expected text"),
        ({"web_search": [{"url": 1}]}, r"web_search\[0\]\.url: expected text"),
        (
            {"image_generation": [{"colour": "red"}]},
            r"image_generation\[0\]\.colour: expected an array",
        ),
        ({"web_search": [{"link": "no"}]}, r"web_search\[0\]\.link: expected true or false"),
    ],
)
def test_a_table_that_cannot_be_read_is_told(table, message):
    with pytest.raises(ResultsError, match=message):
        ResponsesSimulator(hosted_results=table)


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "No such file"), ("{", "expected JSON"), ("[]", "expected a JSON object")],
)
def test_a_file_that_cannot_be_read_is_told(tmp_path, content, message):
    path = tmp_path / "results.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ResultsError, match=message) as caught:
        read_results_file(path)
    assert str(path) == caught.value.path


def test_a_file_says_what_tools_find(tmp_path, ask):
    path = tmp_path / "results.json"
    rows = [{"match": "Rhône Geneva", "text": "Geneva lies on the Rhône"}]
    path.write_text(json.dumps({"web_search": rows}))
    tools = [{"type": "web_search"}]
    with ResponsesSimulator(hosted_results=read_results_file(path)) as simulator:
        found = ask(simulator, input="geneva on the rhône?", tools=tools)
        other = ask(simulator, input="Geneva?", tools=tools)
    assert "Geneva lies on the Rhône" in found.text
    assert "web_search_call" not in other.text


def test_a_model_of_ones_own_uses_no_table():
    with pytest.raises(TypeError, match="hosted_results: expected no model beside it"):
        ResponsesSimulator(model=DemoModel(), hosted_results={})
