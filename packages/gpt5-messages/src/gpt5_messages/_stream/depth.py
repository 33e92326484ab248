"""Where a JSON text nests deeper than any reader can follow, found without recursion."""

import json
import re

from stream_text import MAX_DEPTH


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}:,]')
_NAMED_LEVELS = 4  # such as `response.output[0].content`


def deep_path(text: str) -> str:
    """Return the path of what nests too deep in a JSON text, which does nest too deep.

    Example:
        >>> deep_path('{"output": [1, {"data": ' + "[" * 2_000)
        'output[1].data'
    """
    path: list[str | int] = []
    string = ""
    tokens = (match[0] for match in _TOKEN.finditer(text))
    while len(path) <= MAX_DEPTH:
        match token := next(tokens):
            case "{":
                path.append("")
            case "[":
                path.append(0)
            case "}" | "]":
                del path[-1:]
            case ":":
                path[-1:] = [string]
            case ",":
                path[-1:] = [step + 1 if isinstance(step, int) else step for step in path[-1:]]
            case _:
                string = json.loads(token, strict=False)
    del path[_NAMED_LEVELS:]
    while path and isinstance(path[-1], int):
        path.pop()
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(steps).removeprefix(".") or "the event"
