#!/bin/sh
# One would expect that a value which goes through Temporal's default data converter into a workflow, an activity, a signal or a
# query comes out as what it was, or not at all. A dataclass in a union comes out as the first member whose fields it has, and
# the fields that this one lacks are gone: a call of a tool becomes a plain text. Under the hint `int` a number loses its
# fraction. Neither is said anywhere. Agents are full of such unions (events, messages, results). The Pydantic converter of the
# same package chooses the right member and refuses the fraction; with the default one the richest member has to stand first.
# Seen on 2026-11-28 with temporalio 1.35.0 and pydantic 2.14.4.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
uv venv --quiet --python 3.12 "$dir/venv"
uv pip install --quiet --python "$dir/venv/bin/python" temporalio==1.35.0 pydantic==2.14.4
"$dir/venv/bin/python" - > "$dir/seen" <<'END'
import asyncio
from dataclasses import dataclass

from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.converter import DataConverter


@dataclass
class Said:
    text: str


@dataclass
class Called:
    text: str
    tool: str
    tokens: int


@dataclass
class Step:
    event: Said | Called


@dataclass
class Reordered:
    event: Called | Said


async def send(name: str, converter: DataConverter, value: object, hint: type) -> None:
    payloads = await converter.encode([value])
    try:
        (received,) = await converter.decode(payloads, [hint])
    except ValueError as error:
        received = type(error).__name__
    print(f"{name}: {payloads[0].data.decode()} -> {received}")


async def main() -> None:
    called = Called("I look.", "search", 12)
    for name, converter in (("default", DataConverter()), ("pydantic", pydantic_data_converter)):
        await send(name, converter, Step(called), Step)
        await send(name, converter, Reordered(called), Reordered)
        await send(name, converter, 2.9, int)


asyncio.run(main())
END
cat "$dir/seen"
diff - "$dir/seen" <<'END' || { echo "It is no longer as described." >&2; exit 1; }
default: {"event":{"text":"I look.","tokens":12,"tool":"search"}} -> Step(event=Said(text='I look.'))
default: {"event":{"text":"I look.","tokens":12,"tool":"search"}} -> Reordered(event=Called(text='I look.', tool='search', tokens=12))
default: 2.9 -> 2
pydantic: {"event":{"text":"I look.","tool":"search","tokens":12}} -> Step(event=Called(text='I look.', tool='search', tokens=12))
pydantic: {"event":{"text":"I look.","tool":"search","tokens":12}} -> Reordered(event=Called(text='I look.', tool='search', tokens=12))
pydantic: 2.9 -> ValidationError
END
