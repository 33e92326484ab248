"""How near the model plugin's token counts come to what servers have counted: a table from recorded requests, as docs/token-counts.md has it.

    uv run python tools/benchmarks/token_counts.py FOLDER...

A folder holds `NAME.request.json` beside `NAME.response.json` or `NAME.sse`, at any depth. Requests whose conversation
is partly at the server are left out.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any

from gpt5_messages import SSEDecoder
from gpt5_payloads import count_tokens


sys.path.insert(0, str(Path(__file__).parents[2] / "plugins" / "openai_gpt5_responses"))
import model_adapter


_AT_THE_SERVER = ("previous_response_id", "conversation", "prompt")
_ITEM_KINDS = {
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
}
_KNOWN = {"message", "reasoning", *_ITEM_KINDS}


def main(folders: list[str]) -> None:
    """Print the table."""
    found: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for folder in folders:
        for request, response in _iter_pairs(Path(folder)):
            if (recorded := _recorded(response)) and not any(map(request.get, _AT_THE_SERVER)):
                kind = _kind(request)
                found[kind].append((_counted(request, response), recorded))
    sys.stdout.write(
        "| input | requests | within 3 tokens or 3 % | median error | largest error |\n|---|---|---|---|---|\n"
    )
    for kind, pairs in sorted(found.items(), key=lambda row: -len(row[1])):
        shares = sorted(abs(ours - theirs) / theirs for ours, theirs in pairs)
        near = sum(abs(ours - theirs) <= max(3, 0.03 * theirs) for ours, theirs in pairs)
        most = max(pairs, key=lambda pair: abs(pair[0] - pair[1]) / pair[1])
        row = (kind, len(pairs), near, f"{median(shares):.1%}", f"{most[0]:,} for {most[1]:,}")
        sys.stdout.write(f"| {' | '.join(map(str, row))} |\n")


def _iter_pairs(folder: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for path in sorted(folder.rglob("*.request.json")):
        base = str(path).removesuffix(".request.json")
        whole, stream = Path(f"{base}.response.json"), Path(f"{base}.sse")
        if whole.is_file():
            yield json.loads(path.read_bytes()), json.loads(whole.read_bytes())
        elif stream.is_file():
            events = SSEDecoder().feed(stream.read_bytes() + b"\n\n")
            bodies = [event.get("response") or {} for event in events]
            yield (
                json.loads(path.read_bytes()),
                next((b for b in reversed(bodies) if b.get("usage")), {}),
            )


def _recorded(response: Mapping[str, Any]) -> int:
    usage: Mapping[str, Any] = response.get("usage") or {}
    is_response = response.get("object") in (None, "response", "response.input_tokens")
    count = response.get("input_tokens") or usage.get("input_tokens")
    return count if is_response and isinstance(count, int) else 0


def _items(request: Mapping[str, Any]) -> list[dict[str, Any]]:
    given = request.get("input") or []
    return [{"role": "user", "content": given}] if isinstance(given, str) else given


def _counted(request: Mapping[str, Any], response: Mapping[str, Any]) -> int:
    return count_tokens(
        _items(request),
        request.get("tools") or (),
        model=response.get("model") or request.get("model") or "",
        count=model_adapter.text_counter(),
        instructions=request.get("instructions"),
        text_format=(request.get("text") or {}).get("format"),
    )


def _kind(request: Mapping[str, Any]) -> str:
    """Return what a request has that is hardest to count."""
    items, tools = _items(request), request.get("tools") or []
    written = json.dumps(items)
    kinds = {item.get("type", "message") for item in items}
    urls = written.count('"image_url"') - written.count('"image_url": "data:')
    hardest = {
        "pro mode": (request.get("reasoning") or {}).get("mode") == "pro",
        "hosted tools, and what they did": bool(kinds - _KNOWN)
        or any(tool.get("type") not in ("function", "custom") for tool in tools),
        "PDFs and other files": '"input_file"' in written,
        "images by URL or id": '"input_image"' in written
        and (urls > 0 or '"image_url"' not in written),
        "images of known size": '"input_image"' in written,
        "encrypted reasoning": '"encrypted_content"' in written,
        "a schema for the answer": bool(
            ((request.get("text") or {}).get("format") or {}).get("schema")
        ),
        "function calls and results": bool(kinds & _ITEM_KINDS),
        "functions": bool(tools),
    }
    return next((kind for kind, has_it in hardest.items() if has_it), "plain text")


if __name__ == "__main__":
    main(sys.argv[1:])
