import asyncio
import base64
import datetime as dt
import queue
import textwrap
import threading

import pytest

from dify_plugin_host import (
    BackwardsError,
    HostSettings,
    PythonTool,
    ToolFileError,
    ToolParameter,
    builtin_tools,
    load_tools,
)


@pytest.fixture
def tools_file(tmp_path):
    def write(source, name="tools.py"):
        path = tmp_path / name
        path.write_text(textwrap.dedent(source))
        return path

    return write


@pytest.fixture
def load(tools_file):
    """Load the tools of a source text, by name."""

    def load(source):
        return {tool.name: tool for tool in load_tools(tools_file(source))}

    return load


def call(tool, **arguments):
    return asyncio.run(tool.invoke(arguments))


def text_of(tool, **arguments):
    (message,) = call(tool, **arguments)
    assert message["type"] == "text"
    return message["message"]["text"]


def builtin(name):
    return next(tool for tool in builtin_tools() if tool.name == name)


WEATHER = '''
from typing import Literal, Optional

def weather(
    city: str,
    days: int = 1,
    unit: Literal["c", "f"] = "c",
    exact: bool = False,
    limits: list[float] | None = None,
    more: Optional[dict] = None,
) -> dict:
    """Tell the weather.

    It covers the whole
    world.

    Args:
        (all of them)
        city: The city,
            in English.
        days (int): How many days.
        unit: Celsius or Fahrenheit.

    Returns:
        The forecast.
    """
    return {"city": city, "days": days, "unit": unit, "limits": limits}
'''


def test_name_docstring_and_hints_become_the_declaration(load):
    tool = load(WEATHER)["weather"]
    assert tool.description == "Tell the weather.\nIt covers the whole world."
    shown = [
        (item.name, item.type, item.required, item.default, item.description)
        for item in tool.parameters
    ]
    assert shown == [
        ("city", "string", True, None, "The city, in English."),
        ("days", "number", False, 1, "How many days."),
        ("unit", "select", False, "c", "Celsius or Fahrenheit."),
        ("exact", "boolean", False, False, ""),
        ("limits", "array", False, None, ""),
        ("more", "object", False, None, ""),
    ]


def test_a_tool_is_declared_to_strategies_as_dify_does_it(load):
    entity = load(WEATHER)["weather"].to_entity()
    assert entity["identity"]["name"] == "weather"
    assert entity["identity"]["provider"] == "host"
    assert entity["provider_type"] == "builtin"
    assert entity["runtime_parameters"] == {}
    assert entity["credential_id"] is None
    parameters = {parameter["name"]: parameter for parameter in entity["parameters"]}
    assert {parameter["form"] for parameter in parameters.values()} == {"llm"}
    assert parameters["city"]["human_description"]["en_US"] == "The city, in English."
    assert [option["value"] for option in parameters["unit"]["options"]] == ["c", "f"]
    assert parameters["limits"]["input_schema"] == {
        "type": "array",
        "items": {"type": "number"},
        "description": "",
    }


def test_arguments_are_converted_to_the_hints_and_defaults_are_the_functions_own(load):
    (message,) = call(load(WEATHER)["weather"], city="Oslo", days=2.0, limits=[1])
    assert message["type"] == "json"
    expected = {"city": "Oslo", "days": 2, "unit": "c", "limits": [1.0]}
    assert message["message"]["json_object"] == expected


def test_null_for_an_optional_argument_means_its_default(load):
    (message,) = call(load(WEATHER)["weather"], city="Oslo", days=None)
    assert message["message"]["json_object"]["days"] == 1


def test_an_optional_parameter_without_a_default_may_be_left_out(load):
    tool = load('def f(x: str | None) -> str:\n    "F."\n    return repr(x)')["f"]
    assert tool.parameters[0].required is False
    assert text_of(tool) == "None"
    assert text_of(tool, x="a") == "'a'"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "tool invoke error: tool 'weather': missing parameter 'city'"),
        ({"city": None}, "tool invoke error: tool 'weather': missing parameter 'city'"),
        ({"city": "a", "when": 1}, "tool invoke error: tool 'weather': unknown parameter 'when'"),
        (
            {"city": "a", "days": "many"},
            "tool invoke error: tool 'weather': parameter 'days': Input should be a valid integer",
        ),
        (
            {"city": "a", "unit": "k"},
            "tool invoke error: tool 'weather': parameter 'unit': Input should be 'c' or 'f'",
        ),
    ],
)
def test_arguments_that_do_not_fit_are_refused(load, arguments, problem):
    with pytest.raises(BackwardsError) as caught:
        call(load(WEATHER)["weather"], **arguments)
    assert str(caught.value).startswith(problem)


def test_only_the_public_functions_of_the_file_itself_become_tools(load):
    tools = load(
        '''
        from textwrap import dedent
        from math import sqrt

        class Thing:
            """No function."""

        def one() -> str:
            """One."""
            return _two()

        def _two():
            return "2"

        async def three() -> str:
            "Three."
            return "3"
        '''
    )
    assert sorted(tools) == ["one", "three"]
    assert text_of(tools["one"]) == "2"
    assert text_of(tools["three"]) == "3"


def test_a_tools_file_may_import_its_neighbours_and_define_dataclasses(tools_file, load):
    tools_file("NAME = 'neighbour'", name="next_door.py")
    tools = load(
        '''
        from __future__ import annotations
        from dataclasses import dataclass
        from next_door import NAME

        @dataclass
        class Pair:
            left: int

        def tell(n: int) -> str:
            """Tell."""
            return f"{NAME} {Pair(n).left}"
        '''
    )
    assert text_of(tools["tell"], n=3) == "neighbour 3"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = 1", "expected at least one public function"),
        ("def f(:", "cannot be imported: SyntaxError"),
        ("import nothing_like_it", "cannot be imported: ModuleNotFoundError"),
        ("raise SystemExit(0)", "cannot be imported: SystemExit"),
        ("def f() -> str: return ''", "function 'f': expected a docstring"),
        ("def f(a): 'F.'", "function 'f', parameter 'a': expected a type hint: str, int"),
        ("def f(a: set): 'F.'", "function 'f', parameter 'a': expected a type hint of str,"),
        ("def f(a: list[set]): 'F.'", "function 'f', parameter 'a': expected a type hint of str,"),
        ("def f(a: str | int): 'F.'", "function 'f', parameter 'a': expected a type hint of str,"),
        ("def f(*a: str): 'F.'", "parameter 'a': expected a parameter that can be passed by name"),
        (
            "def f(a: str, /): 'F.'",
            "parameter 'a': expected a parameter that can be passed by name",
        ),
        ("def f(a: 'Missing'): 'F.'", "function 'f': its type hints cannot be read"),
        ("def größe(): 'F.'", "its name: expected up to 64 ASCII letters"),
        (
            "from typing import Literal\ndef f(a: Literal[1]): 'F.'",
            "parameter 'a': expected a type hint of str, int, float, bool, bytes, Literal of strings",
        ),
    ],
)
def test_a_file_that_cannot_become_tools_is_refused_with_the_place(tools_file, source, expected):
    path = tools_file(source)
    with pytest.raises(ToolFileError) as caught:
        load_tools(path)
    assert str(caught.value).startswith(f"{path}")
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.path == path


def test_the_error_of_a_tools_file_names_function_and_parameter(tools_file):
    with pytest.raises(ToolFileError) as caught:
        load_tools(tools_file("def f(a: set): 'F.'"))
    assert (caught.value.function, caught.value.parameter) == ("f", "a")


def test_a_tools_file_must_be_there(tmp_path):
    with pytest.raises(ToolFileError, match="no such file; expected a Python file"):
        load_tools(tmp_path / "missing.py")


def test_a_tools_file_must_be_a_python_file(tools_file):
    with pytest.raises(ToolFileError, match=r"with a name that ends in \.py"):
        load_tools(tools_file("", name="tools.txt"))


@pytest.mark.parametrize(
    ("result", "text"), [("None", ""), ("3", "3"), ("True", "True"), ("1.5", "1.5")]
)
def test_plain_results_become_text(load, result, text):
    assert text_of(load(f'def f():\n    "F."\n    return {result}')["f"]) == text


@pytest.mark.parametrize(
    ("result", "problem"),
    [
        ("{1, 2}", "expected a str, dict, list or bytes as its result, got set"),
        ("[object()]", "expected a result of plain JSON values"),
        (r"['\udc80']", "expected a result of plain JSON values"),
        (r"'\udc80'", "expected a result that is text"),
        ("10**5000", "expected a result that is text"),
    ],
)
def test_other_results_are_refused(load, result, problem):
    with pytest.raises(BackwardsError, match=problem):
        call(load(f'def f():\n    "F."\n    return {result}')["f"])


def test_a_number_that_json_does_not_have_arrives_as_null(load):
    tools = load('def f():\n    "F."\n    return {"x": float("nan"), "y": [float("inf")]}')
    (message,) = call(tools["f"])
    assert message["message"] == {"json_object": {"x": None, "y": [None]}}


@pytest.mark.parametrize("size", [0, 1, 8192, 20_000])
def test_bytes_leave_in_chunks_that_the_platform_accepts(load, size):
    messages = call(load(f'def f():\n    "F."\n    return bytes({size})')["f"])
    chunks = [message["message"] for message in messages]
    pieces = [base64.b64decode(chunk["blob"]) for chunk in chunks]
    assert {message["type"] for message in messages} == {"blob_chunk"}
    assert b"".join(pieces) == bytes(size)
    assert max(map(len, pieces)) <= HostSettings().blob_chunk_limit_bytes
    assert [chunk["sequence"] for chunk in chunks] == list(range(len(chunks)))
    assert [chunk["end"] for chunk in chunks] == [False] * (len(chunks) - 1) + [True]
    assert {chunk["total_length"] for chunk in chunks} == {size}


@pytest.mark.parametrize(
    ("failure", "text"),
    [
        ("raise ValueError('bad day')", "tool invoke error: bad day"),
        ("raise ValueError", "tool invoke error: ValueError"),
        ("raise SystemExit(3)", "tool invoke error: 3"),
    ],
)
@pytest.mark.parametrize("kind", ["def", "async def"])
def test_what_a_tool_raises_becomes_difys_text(load, kind, failure, text):
    with pytest.raises(BackwardsError) as caught:
        call(load(f'{kind} f():\n    "F."\n    {failure}')["f"])
    assert str(caught.value) == text


@pytest.mark.parametrize("error", ["KeyboardInterrupt", "GeneratorExit", "StopIteration"])
def test_what_a_synchronous_tool_raises_never_ends_the_host(load, error):
    with pytest.raises(BackwardsError, match=f"tool invoke error: {error}"):
        call(load(f'def f():\n    "F."\n    raise {error}')["f"])


async def test_synchronous_tools_run_at_the_same_time():
    barrier = threading.Barrier(8)

    def meet() -> str:
        barrier.wait(timeout=120)
        return "met"

    tool = PythonTool(name="meet", description="Meet.", parameters=(), function=meet)

    assert len(await asyncio.gather(*(tool.invoke({}) for _ in range(8)))) == 8


def test_a_tool_that_hangs_does_not_keep_the_host_from_ending():
    release = threading.Event()
    tool = PythonTool(name="hang", description="", parameters=(), function=release.wait)

    with pytest.raises(TimeoutError):
        asyncio.run(asyncio.wait_for(tool.invoke({}), 0.05))  # Its end waits for no thread.
    release.set()


async def test_a_result_that_comes_after_the_wait_was_given_up_is_dropped():
    release = threading.Event()
    threads = queue.SimpleQueue()

    def hang() -> str:
        threads.put(threading.current_thread())
        release.wait()
        return "late"

    tool = PythonTool(name="hang", description="", parameters=(), function=hang)

    waiting = asyncio.create_task(tool.invoke({}))
    thread = await asyncio.to_thread(threads.get)
    waiting.cancel()
    await asyncio.wait({waiting})
    release.set()
    await asyncio.to_thread(thread.join)
    await asyncio.sleep(0)


def test_a_parameter_can_be_described_by_hand():
    parameter = ToolParameter(name="n", hint=int, type="number")
    tool = PythonTool(
        name="double", description="Double.", parameters=(parameter,), function=lambda n: 2 * n
    )
    assert text_of(tool, n=4) == "8"


def test_the_clock_tells_the_time_of_a_zone():
    before = dt.datetime.now(dt.UTC).replace(microsecond=0)
    text = text_of(builtin("clock"), timezone="Asia/Tokyo")
    assert "(UTC+0900) in Asia/Tokyo" in text
    stamp = text.split(", ", 1)[1][:19]
    assert before <= dt.datetime.fromisoformat(f"{stamp}+09:00") <= dt.datetime.now(dt.UTC)


def test_the_clock_is_in_utc_by_default():
    assert text_of(builtin("clock")).endswith("in UTC")


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../etc/passwd", ""])
def test_the_clock_names_what_it_expects(zone):
    with pytest.raises(BackwardsError, match="expected an IANA name such as Asia/Tokyo"):
        call(builtin("clock"), timezone=zone)


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("17 * 23", "391"),
        ("(1 + 2) * -3", "-9"),
        ("7 // 2 + 7 % 2 - +1", "3"),
        ("1 / 4", "0.25"),
        ("2 ** 10", "1024"),
        ("2 ** -1", "0.5"),
        ("1.5e3", "1500.0"),
    ],
)
def test_the_calculator_calculates(expression, result):
    assert text_of(builtin("calculator"), expression=expression) == f"{expression} = {result}"


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("1 +", "expected an arithmetic expression"),
        ("__import__('os').getcwd()", "expected numbers, parentheses and"),
        ("True + 1", "expected numbers, parentheses and"),
        ("~1", "expected numbers, parentheses and"),
        ("1 << 9", "expected numbers, parentheses and"),
        ("1j", "expected numbers, parentheses and"),
        ("1 / 0", "division by zero"),
        ("9 ** 9 ** 9", "the result is too large"),
        ("1e308 * 10", "not a finite real number"),
        ("(-8) ** 0.5", "not a finite real number"),
        ("10.0 ** 400", "the result is too large"),
        ("-" * 60 + "1", "expected at most 50 operations inside each other"),
        ("1" * 201, "expected at most 200 characters"),
    ],
)
def test_the_calculator_refuses_what_is_no_arithmetic(expression, problem):
    with pytest.raises(BackwardsError, match=problem):
        call(builtin("calculator"), expression=expression)


def test_a_tool_fails_on_demand():
    with pytest.raises(BackwardsError, match="tool invoke error: out of ink"):
        call(builtin("fail_on_demand"), message="out of ink")
