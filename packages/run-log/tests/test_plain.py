"""Whatever a program hands in, as plain JSON."""

import datetime as dt
import json
import pathlib
from collections import deque
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum, StrEnum
from types import SimpleNamespace

import pytest
from hypothesis import given
from pydantic import BaseModel
from written import JSON

from run_log import to_plain


class Role(StrEnum):
    USER = "user"


class Level(Enum):
    HIGH = ("high", 3)


class Model(BaseModel):
    role: Role
    data: bytes = b""


class Broken(BaseModel):
    def model_dump(self, **_):
        raise RuntimeError


class OwnMessage:
    def __init__(self):
        self.role, self.content, self._private = "user", "hi", 1


@dataclass(frozen=True)
class Message:
    role: str
    content: object = ""
    calls: tuple = ()
    secret: str = field(default="", repr=False)
    _own: str = "private"


@given(JSON.filter(lambda value: "$" not in json.dumps(value)))
def test_json_stays_what_it_is(value):
    assert to_plain(value) == value


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (Role.USER, "user"),
        (Level.HIGH, ["high", 3]),
        (b"abc", {"$bytes": "YWJj"}),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        (Decimal("0.00001"), "0.00001"),
        (pathlib.PurePath("/a"), "/a"),
        (dt.date(2026, 1, 2), "2026-01-02"),
        ((1, deque([2])), [1, [2]]),
        ({1: {2}}, {"1": [2]}),
        (SimpleNamespace(role="user"), {"role": "user"}),
        (Model(role=Role.USER, data=b"abc"), {"role": "user", "data": {"$bytes": "YWJj"}}),
        (Broken(), "<Broken>"),
        (Model, "<ModelMetaclass>"),
        (Message, "<type>"),
        (Message("user", secret="s", _own="x"), {"role": "user"}),
        (Message("user", print, (1,)), {"role": "user", "calls": [1]}),
        (Message("user", [0]), {"role": "user", "content": [0]}),
        (OwnMessage(), {"role": "user", "content": "hi"}),
        (print, "<builtin_function_or_method>"),
        (iter("abc"), "<str_ascii_iterator>"),
        (1 << 9_000, hex(1 << 9_000)),
        ({"$long_text": "x"}, {"$literal": {"$long_text": "x"}}),
        ({"$bytes": "x", "a": 1}, {"$literal": {"$bytes": "x", "a": 1}}),
    ],
)
def test_everything_else_becomes_what_can_be_written(value, plain):
    assert to_plain(value) == plain
    json.dumps(to_plain(value), allow_nan=False)


def test_an_iterator_is_not_read():
    numbers = iter([1, 2])
    to_plain({"numbers": numbers})
    assert list(numbers) == [1, 2]


def test_what_contains_itself_ends():
    ring = [1]
    ring.append(ring)
    assert to_plain(ring) == [1, "<nested too deeply>"]
    deep = "end"
    for _ in range(1_000):
        deep = [deep]
    assert "<nested too deeply>" in json.dumps(to_plain(deep))


def test_what_grows_with_every_level_is_cut():
    value = "x"
    for _ in range(40):
        value = [value, value]
    plain = json.dumps(to_plain(value))
    assert "<too many values>" in plain
    assert len(plain) < 10_000_000
    assert len(to_plain(["x"] * 300_000)) == 200_000
    members = to_plain({f"{number}": number for number in range(300_000)})
    assert list(members)[-1] == "199999"
    assert len(members) == 200_000
