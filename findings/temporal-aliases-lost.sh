#!/bin/sh
# Temporal's default data converter takes Pydantic models with no more than a warning, so one would expect them to come out as
# they went in. It writes the fields by their names and reads them by their aliases. A required field with an alias fails at
# the first try; an optional one falls back to its default, without a word: a result that is an error arrives as a success. Models
# of other people's camelCase JSON are made of such fields. The Pydantic converter of the same package writes aliases, and so
# cures this, but not `validation_alias`: there, too, the flag is lost. Give such models `validate_by_name=True`.
# Seen on 2026-11-28 with temporalio 1.35.0 and pydantic 2.14.4.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
uv venv --quiet --python 3.12 "$dir/venv"
uv pip install --quiet --python "$dir/venv/bin/python" temporalio==1.35.0 pydantic==2.14.4
"$dir/venv/bin/python" -W ignore - > "$dir/seen" <<'END'
import asyncio

from pydantic import BaseModel, ConfigDict, Field
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.converter import DataConverter


class Required(BaseModel):
    call_id: str = Field(alias="callId")


class Result(BaseModel):
    is_error: bool = Field(default=False, alias="isError")


class ReadOnly(BaseModel):
    is_error: bool = Field(default=False, validation_alias="isError")


class ByName(ReadOnly):
    model_config = ConfigDict(validate_by_name=True)


VALUES = (Required(callId="call_1"), Result(isError=True), ReadOnly(isError=True), ByName(isError=True))


async def main() -> None:
    for name, converter in (("default", DataConverter.default), ("pydantic", pydantic_data_converter)):
        for value in VALUES:
            payloads = await converter.encode([value])
            try:
                (received,) = await converter.decode(payloads, [type(value)])
            except ValueError as error:
                received = type(error).__name__
            print(f"{name}: {value!r} as {payloads[0].data.decode()} -> {received!r}")


asyncio.run(main())
END
cat "$dir/seen"
diff - "$dir/seen" <<'END' || { echo "It is no longer as described." >&2; exit 1; }
default: Required(call_id='call_1') as {"call_id":"call_1"} -> 'ValidationError'
default: Result(is_error=True) as {"is_error":true} -> Result(is_error=False)
default: ReadOnly(is_error=True) as {"is_error":true} -> ReadOnly(is_error=False)
default: ByName(is_error=True) as {"is_error":true} -> ByName(is_error=True)
pydantic: Required(call_id='call_1') as {"callId":"call_1"} -> Required(call_id='call_1')
pydantic: Result(is_error=True) as {"isError":true} -> Result(is_error=True)
pydantic: ReadOnly(is_error=True) as {"is_error":true} -> ReadOnly(is_error=False)
pydantic: ByName(is_error=True) as {"is_error":true} -> ByName(is_error=True)
END
