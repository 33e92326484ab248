"""Time the decoding of one stream against the official SDK's typed iteration: `PYTHONPATH=tools uv run --all-packages python -m benchmarks.decoding`.

Both read the same bytes from the same HTTP client, whose transport answers from memory, in turns within one process.
"""

import json
import statistics
import time
from collections.abc import Callable, Iterator

import httpx2
import openai

from gpt5_messages import BlockDelta, SSEDecoder, StreamDecoder


DELTAS = 5_000
REPETITIONS = 7
PIECE_BYTES = 4_096
_WORD = "word "


def main() -> None:
    """Measure both in turns and print medians and the ratio."""
    client = _client(_stream())
    readers: dict[str, Callable[[openai.OpenAI], str]] = {
        "ours": _read_ours,
        "official": _read_official,
    }
    times: dict[str, list[float]] = {name: [] for name in readers}
    for _ in range(REPETITIONS):
        for name, read in readers.items():
            times[name].append(_time(read, client))
    ours, official = (statistics.median(times[name]) for name in readers)
    print("| decoding of text | microseconds of CPU per delta |\n|---|---:|")  # noqa: T201 - the result
    print(f"| gpt5-messages | {ours:.1f} |\n| official SDK, typed | {official:.1f} |")  # noqa: T201 - the result
    print(f"\nratio {ours / official:.2f}; medians of {REPETITIONS} turns of {DELTAS} deltas")  # noqa: T201 - the result


def _time(read: Callable[[openai.OpenAI], str], client: openai.OpenAI) -> float:
    started = time.process_time()
    text = read(client)
    spent = time.process_time() - started
    if text != _WORD * DELTAS:
        raise SystemExit("a reader lost text; its time would mean nothing")
    return spent / DELTAS * 1e6


def _read_ours(client: openai.OpenAI) -> str:
    frames, decoder, texts = SSEDecoder(), StreamDecoder(), list[str]()
    with client.responses.with_streaming_response.create(
        model="m", input="x", stream=True
    ) as response:
        for data in response.iter_bytes():
            for event in frames.feed(data):
                texts += [
                    found.text for found in decoder.feed(event) if isinstance(found, BlockDelta)
                ]
    return "".join(texts)


def _read_official(client: openai.OpenAI) -> str:
    events = client.responses.create(model="m", input="x", stream=True)
    return "".join(event.delta for event in events if event.type == "response.output_text.delta")


def _client(stream: bytes) -> openai.OpenAI:
    def answer(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(
            200, headers={"content-type": "text/event-stream"}, content=_pieces(stream)
        )

    transport = httpx2.MockTransport(answer)
    return openai.OpenAI(api_key="k", http_client=httpx2.Client(transport=transport))


def _pieces(stream: bytes) -> Iterator[bytes]:
    for start in range(0, len(stream), PIECE_BYTES):
        yield stream[start : start + PIECE_BYTES]


def _stream() -> bytes:
    """Build a stream as OpenAI sends it, obfuscation included."""
    item = {
        "id": "msg_1",
        "type": "message",
        "status": "in_progress",
        "role": "assistant",
        "content": [],
    }
    part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
    position = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    delta = {
        "type": "response.output_text.delta",
        **position,
        "delta": _WORD,
        "logprobs": [],
        "obfuscation": "k3Jx9QpLmN2a",
    }
    done = {**item, "status": "completed", "content": [{**part, "text": _WORD * DELTAS}]}
    response = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "status": "completed",
        "output": [done],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    events = [
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.content_part.added", **position, "part": part},
        *([delta] * DELTAS),
        {"type": "response.output_item.done", "output_index": 0, "item": done},
        {"type": "response.completed", "response": response},
    ]
    frames = (
        f"event: {event['type']}\ndata: {json.dumps({**event, 'sequence_number': number})}\n\n"
        for number, event in enumerate(events)
    )
    return "".join(frames).encode()


if __name__ == "__main__":
    main()
