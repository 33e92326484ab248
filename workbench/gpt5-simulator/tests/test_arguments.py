from pathlib import Path

import pytest

from gpt5_simulator import CutStream, FunctionCall, ResponsesSimulator, ScriptedModel, Text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"faults": [5]}, r"faults\[0\]: expected a fault such as CutStream\(\) or 'cut', or None"),
        ({"faults": "cut"}, r"faults: expected a list, found str 'cut'; write faults=\['cut'\]"),
        ({"faults": [CutStream(), CutStream]}, r"faults\[1\]: expected a fault"),
        ({"faults": CutStream()}, "faults: expected a list, found CutStream"),
        ({"replay": "dir"}, r"replay: expected a list, found str 'dir'; write replay=\['dir'\]"),
        ({"replay": Path("dir")}, "replay: expected a list, found PosixPath"),
        ({"replay": [5]}, r"replay\[0\]: expected a path or a Recording, found int 5"),
        ({"models": "gpt-5"}, r"models: expected a list, .*write models=\['gpt-5'\]"),
        ({"models": [5]}, r"models\[0\]: expected text, found int 5"),
        ({"api_keys": "k"}, "api_keys: expected a list"),
        (
            {"model": "gpt-5"},
            "model: expected an object with a method `respond`, found str 'gpt-5'",
        ),
        ({"port": "8080"}, "port: expected a whole number, found str '8080'"),
        ({"port": True}, "port: expected a whole number"),
        ({"chunk_bytes": "7"}, "chunk_bytes: expected a list"),
        ({"chunk_bytes": [1.5]}, r"chunk_bytes\[0\]: expected a whole number"),
        ({"delay_seconds": "1"}, "delay_seconds: expected a number"),
        ({"background_seconds": "1"}, "background_seconds: expected a number"),
        ({"shutdown_dates": ["gpt-5"]}, "shutdown_dates: expected a mapping of ids to days"),
        ({"strict": "no"}, "strict: expected True or False"),
        ({"clock": 5}, "clock: expected a function"),
        ({"models_status": "404"}, "models_status: expected a whole number"),
    ],
)
def test_an_argument_of_the_wrong_kind_is_told(arguments, message):
    with pytest.raises(TypeError, match=message):
        ResponsesSimulator(**arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"chunk_bytes": 0}, "chunk_bytes: expected a number from 1 up, found 0"),
        ({"chunk_bytes": [3, 0]}, r"chunk_bytes\[1\]: expected a number from 1 up"),
        ({"delay_seconds": -1}, "delay_seconds: expected a number from 0 up, found -1"),
        ({"background_seconds": -0.5}, "background_seconds: expected a number from 0 up"),
        ({"models_status": 99}, "models_status: expected a number from 200 to 599, found 99"),
    ],
)
def test_a_number_out_of_range_is_told(arguments, message):
    with pytest.raises(ValueError, match=message):
        ResponsesSimulator(**arguments)


def test_a_fault_that_is_none_is_told_while_the_server_runs(server):
    with pytest.raises(TypeError, match=r"fault: expected a fault .*, found type"):
        server.add_fault(CutStream)


@pytest.mark.parametrize(
    ("turns", "message"),
    [
        ([Text(text="Hello")], r"turns\[0\]: expected a list, found Text"),
        (["Hello"], r"turns\[0\]: expected a list, found str 'Hello'"),
        ([["Hello"]], r"turns\[0\]\[0\]: expected an item of a turn, such as Text"),
        (Text(text="Hello"), "turns: expected a list"),
        ([[FunctionCall]], r"turns\[0\]\[0\]: expected an item of a turn"),
    ],
)
def test_a_script_that_is_none_is_told(turns, message):
    with pytest.raises(TypeError, match=message):
        ScriptedModel(turns)


def test_arguments_may_be_any_kind_of_list():
    with ResponsesSimulator(
        faults=(fault for fault in [None]), models={"gpt-5"}, chunk_bytes=lambda number: number + 1
    ) as simulator:
        assert simulator.base_url
