import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Annotated, Any, Final, Literal, NamedTuple, TypedDict

import pytest
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from agent_tooling import DeclarationError, Tool, ToolError, tool


PREFIX = "tool arguments validation error: "


class Unit(Enum):
    """A unit of temperature."""

    C = "C"
    F = "F"


class Address(BaseModel):
    """A place to live."""

    street: str
    zip: int = Field(description="Five digits.", ge=0)


class Person(BaseModel):
    name: str
    home: Address
    work: Address | None = None


class Tree(BaseModel):
    name: str
    children: "list[Tree]" = []


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    age: int


@dataclass
class Point:
    x: int
    y: int = 0


class Size(TypedDict):
    width: int


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int


def refusal(made, **arguments):
    bound = made.bind(json.dumps(arguments))
    assert not bound.ok
    assert bound.error.startswith(PREFIX)
    return bound.error.removeprefix(PREFIX)


def outcome(made, **arguments):
    bound = made.bind(json.dumps(arguments))
    assert bound.ok, bound.error
    return made.invoke(bound.args).content


def of(annotation, **more):
    """Make a tool with one parameter, which tells what it was given."""

    def take(value):
        return repr(value)

    take.__annotations__["value"] = annotation
    return Tool.from_function(take, **more)


def schema_of(annotation):
    return of(annotation).parameters["properties"]["value"]


def test_a_function_with_a_docstring_is_a_tool():
    @tool
    def weather(
        city: str, days: Annotated[int, Field(ge=1)] = 3, unit: Literal["C", "F"] = "C"
    ) -> str:
        """Look up the weather.

        Args:
            city: Which city, as in
                "Oslo".
            days: How many days.
        """
        return f"{city} {days} {unit}"

    assert (weather.name, weather.description) == ("weather", "Look up the weather.")
    assert weather.parameters == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": 'Which city, as in "Oslo".'},
            "days": {
                "type": "integer",
                "minimum": 1,
                "default": 3,
                "description": "How many days.",
            },
            "unit": {"type": "string", "enum": ["C", "F"], "default": "C"},
        },
        "required": ["city"],
        "additionalProperties": False,
    }
    assert outcome(weather, city="Oslo") == "Oslo 3 C"
    assert weather("Oslo", days=1) == "Oslo 1 C"
    assert not weather.is_async


def test_what_the_annotation_says_wins_over_the_docstring():
    @tool(name="find", description="Find it.")
    def search(
        first: Annotated[str, Field(description="in a field")],
        second: Annotated[str, "in a text"],
        third: str,
    ):
        """Search.

        :param first: in the docstring
        :param second: in the docstring
        :param third: in the docstring
        """

    told = {name: item["description"] for name, item in search.parameters["properties"].items()}
    assert told == {"first": "in a field", "second": "in a text", "third": "in the docstring"}
    assert (search.name, search.description) == ("find", "Find it.")


def test_names_that_pydantic_would_not_have_are_names_of_parameters():
    @tool
    def odd(schema: int, model_config: int, _private: int, copy: int, argument_0: int) -> dict:
        return locals()

    names = ("schema", "model_config", "_private", "copy", "argument_0")
    arguments = dict(zip(names, range(5), strict=True))
    assert list(odd.parameters["properties"]) == list(arguments)
    assert json.loads(outcome(odd, **arguments)) == arguments


@pytest.mark.parametrize(
    ("annotation", "value", "said"),
    [
        (int, 3.0, "3"),
        (float, 3, "3.0"),
        (Any, 3.5, "3.5"),
        (date, "2026-11-22", "datetime.date(2026, 11, 22)"),
        (Unit, "F", "<Unit.F: 'F'>"),
        (Point, {"x": 1}, "Point(x=1, y=0)"),
        (Size, {"width": 2}, "{'width': 2}"),
        (set[int], [1, 1], "{1}"),
        (tuple[int, str], [1, "a"], "(1, 'a')"),
        (int | None, None, "None"),
        (list[int | str], [1, "a", 2.0], "[1, 'a', 2]"),
        (Cat | Dog, {"kind": "dog", "age": 3.0}, "Dog(kind='dog', age=3)"),
        (Open, {"a": 1, "b": 2}, "Open(a=1, b=2)"),
        (dict[str, float], {"a": 1}, "{'a': 1.0}"),
    ],
)
def test_a_model_s_json_becomes_the_value_that_the_function_is_annotated_with(
    annotation, value, said
):
    assert outcome(of(annotation), value=value) == said


@pytest.mark.parametrize(
    ("annotation", "value", "said"),
    [
        (int, "3", 'parameter \'value\' must be a valid integer, got "3"'),
        (int, 3.5, "parameter 'value' must be a valid integer, got 3.5"),
        (bool, 1, "parameter 'value' must be a valid boolean, got 1"),
        (int | str, 1.5, "parameter 'value' must be a valid integer or must be a valid string, got 1.5"),
        (Unit, "K", "parameter 'value' must be 'C' or 'F', got \"K\""),
        (Annotated[str, Field(min_length=2)], "a", "parameter 'value' must have at least 2 characters, got \"a\""),
        (list[int], [1, "b"], "parameter 'value[1]' must be a valid integer, got \"b\""),
        (Address, {"street": 1}, "missing required parameter 'value.zip'; parameter 'value.street' must be a valid string, got 1"),
        (Address, {"street": "a", "zip": 1, "zap": 2}, "unknown parameters ['value.zap']"),
        (Person | None, {"name": "a", "home": {}}, "missing required parameter 'value.home.street'; missing required parameter 'value.home.zip'"),
        (tuple[int, str], [1], "missing required parameter 'value[1]'"),
        (dict[int, str], {"a": "b"}, "parameter 'value.a' must be a valid integer, unable to parse string as an integer, got \"a\""),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_a_sentence_that_names_what_was_expected_and_given(
    annotation, value, said
):
    assert refusal(of(annotation), value=value) == said


def test_sentences_stay_short_and_tell_nothing_of_pydantic():
    @tool
    def many(numbers: list[int], unit: Literal[tuple(f"unit {n}" for n in range(500))]):
        """Take much."""

    said = refusal(many, numbers=["x" * 1_000] * 20, unit="", **{"y" * 9_999: 1})

    assert said.endswith("; and 17 more")
    assert len(said) < 2_000
    assert "pydantic" not in said
    assert "http" not in said


def test_missing_and_unknown_arguments_are_named():
    made = of(int)

    assert refusal(made, wert=1, zahl=2) == (
        "unknown parameters ['wert', 'zahl']; missing required parameter 'value'"
    )


@pytest.mark.parametrize("text", ["{", "[]", '{"value": 1e999}', '{"value": 1' + 30 * "0" + "}"])
def test_what_is_no_json_object_that_can_be_carried_is_refused(text):
    assert of(int).bind(text).error.startswith("tool arguments parse error: ")


def test_no_text_stands_for_no_arguments():
    @tool
    def now() -> str:
        return "noon"

    assert now.parameters["properties"] == {}
    assert now.invoke(now.bind("").args).content == "noon"


def refuse(value: int) -> int:
    if value == 1:
        raise ValueError("only even numbers are served")
    if value == 2:
        raise ToolError("two is reserved")
    if value == 3:
        raise LookupError("password hunter2")
    return value


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (1, "parameter 'value' is refused: only even numbers are served, got 1"),
        (2, "two is reserved"),
        (3, "the arguments could not be checked"),
    ],
)
def test_a_validator_says_why_where_it_means_to(value, said):
    assert refusal(of(Annotated[int, AfterValidator(refuse)]), value=value) == said


def test_a_hidden_value_is_neither_shown_nor_settable_and_wins():
    @tool(hidden={"user": "alice", "limit": 5})
    def orders(status: str, *, user, limit: int = 1) -> str:
        """List orders.

        Args:
            status: Which.
            user: Whose.
        """
        return f"{status} {user} {limit}"

    assert list(orders.parameters["properties"]) == ["status"]
    assert "alice" not in repr(orders)
    assert refusal(orders, status="open", user="bob") == "unknown parameters ['user']"
    assert outcome(orders, status="open") == "open alice 5"
    assert outcome(orders.with_hidden(user="eve"), status="open") == "open eve 5"
    assert outcome(orders, status="open") == "open alice 5"
    with pytest.raises(DeclarationError, match="'status' of orders must be hidden"):
        orders.with_hidden(status="closed")


def test_what_partial_gives_stays_hidden():
    def search(index: str, query: str, key: str) -> str:
        return f"{index} {query} {key}"

    made = Tool.from_function(functools.partial(search, "books", key="secret"))

    assert made.name == "search"
    assert list(made.parameters["properties"]) == ["query"]
    assert outcome(made, query="q") == "books q secret"


SOME = Field([7], description="Some.")


def test_a_default_is_the_function_s_own():
    marker = object()

    @tool
    def take(value: int = marker, other: list[int] = SOME) -> str:
        return f"{value is marker} {other}"

    assert take.parameters["properties"]["value"] == {"type": "integer"}
    assert take.parameters["properties"]["other"]["description"] == "Some."
    assert outcome(take) == "True [7]"
    assert outcome(take, other=[1]) == "True [1]"


def test_methods_objects_and_wrapped_functions_are_tools_too():
    class Store:
        def find(self, key: "int") -> str:
            """Find a value."""
            return f"value {key}"

        def __call__(self, key: "int") -> str:
            """Call the store."""
            return f"called {key}"

    @functools.wraps(Store.find)
    def wrapper(*args, **kwargs):
        return Store.find(*args, **kwargs)

    store = Store()
    bound = Tool.from_function(store.find)
    called = Tool.from_function(store)
    wrapped = Tool.from_function(wrapper, hidden={"self": store})
    assert outcome(bound, key=1) == "value 1"
    assert (called.name, called.description, outcome(called, key=2)) == (
        "Store",
        "Call the store.",
        "called 2",
    )
    assert (wrapped.name, outcome(wrapped, key=3)) == ("find", "value 3")


class Documented:
    """A store to look something up in.

    Args:
        key: What to look for.
    """

    def __call__(self, key: int) -> int:
        return key


class Inherited(Documented):
    def __call__(self, key: int) -> int:
        return key


class Silent:
    def __call__(self, key: int) -> int:
        return key


@dataclass
class Bare:
    store: dict[str, int]

    def __call__(self, key: int) -> int:
        return key


@dataclass
class Kept:
    """A price.

    Args:
        key: What to look for.
    """

    key: int


class Calling(Documented):
    """Not this."""

    def __call__(self, key: int) -> int:
        """Call it.

        Args:
            key: What to look for.
        """
        return key


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (Documented(), "A store to look something up in."),
        (functools.partial(Documented()), "A store to look something up in."),
        (Inherited(), "A store to look something up in."),
        (Calling(), "Call it."),
        (Silent(), ""),
        (Bare({}), ""),
        (Bare, ""),
        (Kept, "A price."),
    ],
)
def test_an_object_that_is_called_is_described_by_its_class_where_its_call_is_not(function, said):
    made = Tool.from_function(function)

    assert made.description == said
    described = made.parameters["properties"].get("key", {}).get("description")
    assert described == ("What to look for." if said else None)


def positional(a: int, /): ...
def several(*args: int): ...
def named(**kwargs: int): ...
def bare(a): ...
def unresolved(a: "Nowhere"): ...  # noqa: F821
def unfit(a: int, b: Callable[[], int]): ...
def final(a: int, b: Final[int] = 3): ...


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (positional, "parameter 'a' of positional() must be one that can be passed by name"),
        (several, "parameter 'args' of several() must be a single parameter"),
        (named, "parameter 'kwargs' of named() must be a parameter with a name"),
        (bare, "parameter 'a' of bare() must be annotated with a type"),
        (unresolved, "parameter 'a' of unresolved() must be annotated with a type that can be found, got Nowhere"),
        (unfit, "parameter 'b' of unfit() must be of a type that pydantic can check"),
        (lambda a: a, "parameter 'a' of <lambda>"),
        (lambda: 1, "tool name must be 1 to 64 letters"),
        (print, "parameter 'args' of print"),
        (3, "tool function must be one with a signature"),
    ],
)  # fmt: skip
def test_what_cannot_be_told_to_a_model_is_an_error_where_the_tool_is_made(function, said):
    with pytest.raises(DeclarationError) as caught:
        Tool.from_function(function)
    assert str(caught.value).startswith(said)


@pytest.mark.filterwarnings("ignore:.*Final")  # of pydantic, which goes on without the parameter
def test_a_parameter_that_pydantic_takes_for_one_of_the_class_is_an_error():
    with pytest.raises(DeclarationError, match=r"'b' of final\(\) must be of a type"):
        Tool.from_function(final)


def test_types_that_do_not_go_together_are_an_error_of_the_function():
    def odd(a: Annotated[int, Field(alias="x")], b: Annotated[int, Field(alias="x")]): ...

    with pytest.raises(DeclarationError, match="two fields have the same alias"):
        Tool.from_function(odd)


def test_hiding_what_is_no_parameter_is_an_error():
    with pytest.raises(DeclarationError, match="hidden must be values"):
        Tool.from_function(bare, hidden={"a"})
    with pytest.raises(DeclarationError, match="'key' of bare"):
        Tool.from_function(bare, hidden={"a": 1, "key": 2})


def test_a_definition_stands_where_it_is_used():
    schema = of(Cat | Dog | Unit).parameters

    assert "$defs" not in schema
    assert [item.get("enum") for item in schema["properties"]["value"]["anyOf"]][-1] == ["C", "F"]


def test_only_what_is_used_twice_or_inside_of_itself_stays_a_definition():
    assert list(of(Person).parameters["$defs"]) == ["Address"]
    assert list(of(list[Tree]).parameters["$defs"]) == ["Tree"]
    assert outcome(of(Tree), value={"name": "a", "children": [{"name": "b"}]}).count("Tree") == 2


def test_a_schema_has_nothing_that_apis_are_known_to_refuse():
    union = Annotated[Cat | Dog, Field(discriminator="kind")]
    assert list(schema_of(union)) == ["anyOf"]
    assert schema_of(set[int]) == {"type": "array", "items": {"type": "integer"}}
    assert schema_of(tuple[int, int])["items"] == {"type": "integer"}
    assert schema_of(tuple[int, str])["items"] == {
        "anyOf": [{"type": "integer"}, {"type": "string"}]
    }
    assert schema_of(tuple[()])["items"] == {}
    assert schema_of(Point)["additionalProperties"] is False


def test_a_model_that_takes_anything_is_left_as_open_as_it_is():
    assert schema_of(Open)["additionalProperties"] is True
    assert (
        "additionalProperties"
        not in of(list[Open | Address]).parameters["properties"]["value"]["items"]["anyOf"][1]
    )


class Pair(NamedTuple):
    a: int
    b: str = "x"


def test_a_named_tuple_is_a_list():
    assert outcome(of(Pair), value=[1]) == "Pair(a=1, b='x')"


def test_arguments_that_were_never_bound_are_refused_all_the_same():
    made = of(int)

    output = made.invoke({"value": "x"})

    assert output.error == f"{PREFIX}parameter 'value' must be a valid integer, got \"x\""
    assert output.content == output.error


class First(BaseModel):
    second: "Second | None" = None


class Second(BaseModel):
    first: First | None = None
    third: Address | None = None


def test_definitions_that_need_each_other_stay():
    assert list(of(First).parameters["$defs"]) == ["First", "Second"]
