"""What the official client makes of Pydantic's models for strict answers and tools goes out as strict."""

from enum import StrEnum
from typing import Literal

import openai
import pytest
from pydantic import BaseModel, Field

from gpt5_payloads import PayloadError, build_request, function_tool


class Colour(StrEnum):
    """A colour that paint has."""

    RED = "red"
    BLUE = "blue"


class Empty(BaseModel):
    """Nothing."""


class Point(BaseModel):
    """A point with two numbers."""

    x: float
    y: float = Field(ge=0, lt=1e6, description="Upwards.")


class Shape(BaseModel):
    """A shape, with everything that one can have."""

    name: str = Field(pattern=r"^[a-z]+$", description="Its name.")
    kind: Literal["line", "area"]
    fixed: Literal["yes"]
    colour: Colour = Field(description="Which makes of a reference more than one.")
    centre: Point | None
    outline: list[Point]
    tags: list[str] | None = None
    sides: int | float


class Node(BaseModel):
    """A tree."""

    value: str
    children: list["Node"]


class Chain(BaseModel):
    """A list that refers to itself and may end."""

    next: "Chain | None" = None


class Cat(BaseModel):
    """An animal that tells itself apart."""

    animal: Literal["cat"]
    lives: int


class Dog(BaseModel):
    """Another one."""

    animal: Literal["dog"]
    barks: bool


class Pet(BaseModel):
    """A choice."""

    pet: Cat | Dog
    other: str | int | None


MODELS = [Empty, Point, Shape, Node, Chain, Pet]


@pytest.mark.parametrize("model", MODELS)
def test_what_the_official_client_makes_strict_is_strict(model: type[BaseModel]) -> None:
    tool = openai.pydantic_function_tool(model)["function"]

    for said in ({}, {"strict": True}):
        shape = {"name": "answer", "schema": tool["parameters"], **said}
        parameters = {"response_format": "json_schema", "json_schema": shape}
        request = build_request(model="gpt-5.2", input="hi", parameters=parameters)
        assert request["text"]["format"]["strict"] is True
        assert function_tool({**tool, "strict": None, **said}) == {
            "type": "function",
            "description": "",
            **tool,
        }


@pytest.mark.parametrize("model", [Point, Shape, Node, Chain, Pet])
def test_what_pydantic_makes_by_itself_is_not_strict(model: type[BaseModel]) -> None:
    """Its objects are open, which the API refuses."""
    schema = model.model_json_schema()
    parameters = {"response_format": "json_schema", "json_schema": {"schema": schema}}
    request = build_request(model="gpt-5.2", input="hi", parameters=parameters)
    assert request["text"]["format"]["strict"] is False

    parameters["json_schema"]["strict"] = True
    with pytest.raises(PayloadError, match=r"json_schema\.schema cannot be strict"):
        build_request(model="gpt-5.2", input="hi", parameters=parameters)
