import json
import subprocess
import sys
from pathlib import Path

import pytest


SCRIPT = Path(__file__).with_name("branch_coverage.py")

CODE = """
import asyncio
import contextlib


def choose(first, second):
    if first and second:
        both = True
    elif first:
        both = False
    else:
        return None
    return both


def loop(items, stop=None):
    for item in items:
        if item == stop:
            break
        if not item:
            continue
        seen = item
    else:
        return "all"
    while items:
        items = items[1:]
    return [item for item in items if item]


def catch(error, *, again=False):
    try:
        if error:
            raise error
    except ValueError:
        return "value"
    except (KeyError, IndexError) as raised:
        if again:
            raise
        return raised
    else:
        return "nothing"
    finally:
        done = True


def finish(error, flag):
    try:
        if error:
            raise error
    finally:
        if flag:
            flag = False


def finish_inside(error, flag):
    try:
        try:
            if error:
                raise error
        finally:
            if flag:
                flag = False
    except KeyError:
        flag = True


async def close(error, flag):
    try:
        if error:
            raise error
        yield flag
    finally:
        if flag or error is None:
            await asyncio.sleep(0)


def match(value):
    match value:
        case int() if value > 3:
            return "large"
        case [first, *_]:
            return first
        case {"key": found}:
            return found
    return None


def enter(error):
    with contextlib.suppress(KeyError), contextlib.nullcontext() as nothing:
        if error:
            raise error
        return nothing
    return "suppressed"


def recurse(depth):
    if depth:
        return recurse(depth - 1)
    total = 1
    while total < 3:
        total += 1
    return total


def generate(count):
    for number in range(count):
        if number == 2:
            return
        yield number


async def numbers(count, error):
    for number in range(count):
        yield number
    if error:
        raise error


async def follow(count, stop=None, error=None):
    async for number in numbers(count, error):
        if number == stop:
            break
    else:
        return "all"
    async with contextlib.AsyncExitStack() as stack:
        if stack and stop:
            return [one async for one in numbers(stop, None) if one]
    return "stopped"


def quietly(call):
    with contextlib.suppress(Exception):
        return call()


for word in {words!r}:
    quietly(lambda: eval(word))
"""

CALLS = [
    *("choose(1, 1)", "choose(1, 0)", "choose(0, 0)"),
    *("loop([])", "loop([1, 0])", "loop([1, 0, 2], 2)", "loop([0], 0)"),
    *("catch(None)", "catch(ValueError())", "catch(KeyError(), again=True)", "catch(KeyError())"),
    "catch(OSError())",
    *("finish(None, 1)", "finish(OSError(), 0)", "finish(None, 0)", "finish(OSError(), 1)"),
    *("finish_inside(KeyError(), 0)", "finish_inside(OSError(), 0)", "finish_inside(None, 1)"),
    *("asyncio.run(anext(close(OSError(), 0)))", "asyncio.run(anext(close(None, 0)))"),
    *("match(9)", "match(1)", "match([1])", "match({'key': 1})", "match('text')"),
    *("enter(None)", "enter(KeyError())", "enter(OSError())"),
    *("recurse(0)", "recurse(3)", "list(generate(0))", "list(generate(2))", "list(generate(5))"),
    *("asyncio.run(follow(0))", "asyncio.run(follow(3, 1))", "asyncio.run(follow(3, 0))"),
    "asyncio.run(follow(2, None, OSError()))",
]


def missing(command: list[str], code: str, folder: Path) -> tuple[list[int], list[list[int]]]:
    """Return the lines and branches that were not run when the code was."""
    folder.mkdir()
    (folder / "code.py").write_text(code)
    for arguments in (["run", "--branch", "--source", ".", "code.py"], ["json", "--quiet"]):
        subprocess.run([*command, *arguments], cwd=folder, check=True, capture_output=True)
    measured = json.loads((folder / "coverage.json").read_text())["files"]["code.py"]
    return measured["missing_lines"], measured["missing_branches"]


@pytest.mark.parametrize("calls", [CALLS, CALLS[::2], CALLS[1::2], CALLS[1::3]], ids=len)
def test_no_other_lines_and_branches_are_missing_than_by_the_tracer(
    tmp_path: Path, calls: list[str]
) -> None:
    code = CODE.replace("{words!r}", repr(calls))
    traced = missing([sys.executable, "-m", "coverage"], code, tmp_path / "traced")
    assert missing([sys.executable, str(SCRIPT)], code, tmp_path / "monitored") == traced
