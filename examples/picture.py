"""A question about pictures and documents, answered as it streams: `OPENAI_API_KEY=... python picture.py "What is this?" chart.png report.pdf`.

With `gpt5-responses` installed. `OPENAI_BASE_URL` may name another server.
"""

import mimetypes
import sys
from pathlib import Path
from typing import Any

from gpt5_messages import BlockDelta
from gpt5_responses import ModelConfig, Request, ResponsesClient


def read(path: Path) -> dict[str, Any]:
    """Read a file as a part of a message."""
    media_type = mimetypes.guess_type(path)[0] or "application/octet-stream"
    kind = "image" if media_type.startswith("image/") else "file"
    return {"type": kind, "data": path.read_bytes(), "mime_type": media_type, "filename": path.name}


question, *paths = sys.argv[1:]
config = ModelConfig.from_env()
content = [question, *(read(Path(path)) for path in paths)]
request = Request(messages=[{"role": "user", "content": content}], effort="low")
with ResponsesClient(config).stream(request) as stream:
    for event in stream:
        if isinstance(event, BlockDelta) and event.content == "text":
            print(event.text, end="", flush=True)
print()
